"""Statements that rank or bound the arms: orders, grids, a peak, bounds, gaps (paper §5.2, and past it).

Each statement has a class, a function that makes one, and a key in the table of a file. It comes to `Facts`
about given arms, and these give the belief.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.numbers import shown, whole
from elsv._base.typing import AnyArray
from elsv.beliefs import Belief, Chain, Rejection
from elsv.beliefs.base import Order, check_order
from elsv.errors import InvalidInputError, unknown_name
from elsv.structure.base import METHOD, Ruled, register
from elsv.structure.facts import Facts, Offers, Outline, Scale, facts_of, steps
from elsv.structure.product import in_words

Arm = str | int
_MOST_SAID = 8  # sentences
_MOST_LISTED = 8  # names; of more the first and their number are told


@dataclass(frozen=True)
class Ranking(Ruled):
    """A statement that comes to facts about arms; `on` says which arms."""

    key: ClassVar[str] = ""

    @abstractmethod
    def _value(self) -> Any:
        """Return the plain value under `key`."""

    @abstractmethod
    def describe(self) -> str:
        """Say in words what is assumed."""

    def to_dict(self) -> dict[str, Any]:
        """Return the statement under its key."""
        return {self.key: self._value(), **({} if self.method == "auto" else {METHOD: self.method})}

    def holds(self, means: ArrayLike) -> AnyArray:
        """Return of means ``[..., N]`` whether they are possible, shape ``[...]``."""
        given = np.asarray(means, dtype=np.float64)
        arms = range(given.shape[-1])
        unnamed = Offers(tuple(f"arm {k + 1}" for k in arms), np.ones(len(arms)), np.ones((len(arms), 2)))
        return self.facts(self.offers or unnamed).holds(given)

    def belief(self) -> Belief:
        """Return the belief under the statement."""
        offers = self._told(f"under this statement needs its arms ({self.describe()})")
        return self.facts(offers).belief(offers, self.method)

    def _name(self, arm: Arm) -> str:
        if self.offers is not None:
            return self.offers.names[self.offers.number(arm)]
        return f"arm {arm}" if isinstance(arm, int) else arm

    def _numbered(self, pair: Sequence[Any]) -> list[Any]:
        """Return a pair of arms and what follows it, by number from 1 once the arms are known."""
        known = self.offers
        return [*pair] if known is None else [*(known.number(arm) + 1 for arm in pair[:2]), *pair[2:]]


def _listed(names: Sequence[str]) -> str:
    """Return names with commas and a final *and*; of many the first few and the number of others."""
    if len(names) > _MOST_LISTED:
        names = [*names[: _MOST_LISTED - 2], f"{len(names) - _MOST_LISTED + 2} others"]
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


@dataclass(frozen=True)
class Monotone(Ranking):
    r"""The means fall, :math:`\mu_1 \ge \dots \ge \mu_N`, or rise (paper §5.2)."""

    order: Order
    key: ClassVar[str] = "order"

    def __post_init__(self) -> None:
        check_order(self.order)

    def facts(self, offers: Offers) -> Facts:
        """Return the order of these arms."""
        return facts_of(offers, order=steps(self.order, offers.arms))

    def _value(self) -> Any:
        return self.order

    def describe(self) -> str:
        """Say in words what is assumed."""
        way, other = ("decrease", "least") if self.order == "decreasing" else ("increase", "most")
        return f"the means {way}: each arm succeeds at {other} as often as the next"

    def belief(self) -> Belief:
        """Return the exact belief of a chain, or the one that `by` asks for."""
        return Chain(self.order) if self.method in ("auto", "exact") else super().belief()

    def rejection(self, **counts: Any) -> Belief:
        """Return the paper's own belief, which draws and keeps what is in order (Algorithm 4)."""
        return Rejection(self.order, **counts)


@dataclass(frozen=True)
class PartialOrder(Ranking):
    """Some arms are at least as good as others: pairs, the larger one first."""

    pairs: tuple[tuple[Arm, Arm], ...]
    key: ClassVar[str] = "order"

    def facts(self, offers: Offers) -> Facts:
        """Return the order of these arms."""
        return facts_of(offers, order=tuple((offers.number(a), offers.number(b)) for a, b in self.pairs))

    def _value(self) -> Any:
        return list(map(self._numbered, self.pairs))

    def describe(self) -> str:
        """Say in words what is assumed."""
        if self.offers is not None:
            told = in_words(self.offers.names, self.facts(self.offers).order)
            if told is not None:
                return told
        smaller: dict[str, list[str]] = {}
        for a, b in self.pairs:
            smaller.setdefault(self._name(a), []).append(self._name(b))
        larger: dict[tuple[str, ...], list[str]] = {}
        for name, others in smaller.items():
            larger.setdefault(tuple(dict.fromkeys(others)), []).append(name)
        said = []
        for than, names in larger.items():
            verb = "is" if len(names) == 1 else "are each"
            said.append(f"{_listed(names)} {verb} at least as good as {_listed(than)}")
        if len(said) > _MOST_SAID + 1:
            said[_MOST_SAID:] = [f"and {len(said) - _MOST_SAID} further statements"]
        return "; ".join(said) or "no arm is known to be better than another"


@dataclass(frozen=True)
class Grid(Ranking):
    """Arms in rows and columns, row by row; means fall along both."""

    rows: int
    columns: int
    key: ClassVar[str] = "grid"

    def __post_init__(self) -> None:
        whole("rows", self.rows)
        whole("columns", self.columns)

    def facts(self, offers: Offers) -> Facts:
        """Return the order of these arms."""
        if self.rows * self.columns != offers.arms:
            raise InvalidInputError(
                f"a grid of {self.rows} rows and {self.columns} columns has {self.rows * self.columns} arms, "
                f"the problem has {offers.arms}"
            )
        arms, last = range(offers.arms), self.columns - 1
        beside = [(k, k + 1) for k in arms if k % self.columns != last]
        below = [(k, k + self.columns) for k in arms[: -self.columns]]
        return facts_of(offers, order=(*beside, *below))

    def _value(self) -> Any:
        return [self.rows, self.columns]

    def describe(self) -> str:
        """Say in words what is assumed."""
        return f"the arms form {self.rows} rows and {self.columns} columns, and means fall along both"

    def outline(self) -> Outline:
        """Return what a picture shows: rows and columns."""
        return replace(super().outline(), grid=(self.rows, self.columns))


@dataclass(frozen=True)
class Unimodal(Ranking):
    """Means, or expected rewards, rise to one arm and fall from there."""

    scale: Scale = "mean"
    key: ClassVar[str] = "unimodal"

    def __post_init__(self) -> None:
        if self.scale not in ("mean", "reward"):
            raise unknown_name("scale", str(self.scale), ("mean", "reward"))

    def facts(self, offers: Offers) -> Facts:
        """Return that there is a peak."""
        return facts_of(offers, unimodal=True, scale=self.scale)

    def _value(self) -> Any:
        return True if self.scale == "mean" else self.scale

    def describe(self) -> str:
        """Say in words what is assumed."""
        what = "the means" if self.scale == "mean" else "the expected rewards"
        return f"{what} have a single peak: they rise to one arm and fall from there"


@dataclass(frozen=True)
class Bounds(Ranking):
    """Means between two numbers, arm by arm."""

    limits: tuple[tuple[float, float] | None, ...]
    key: ClassVar[str] = "bounds"

    def __post_init__(self) -> None:
        for k, pair in enumerate(self.limits, 1):
            if pair is not None and not 0 <= pair[0] < pair[1] <= 1:
                raise InvalidInputError(
                    f"bounds must have 0 <= least < largest <= 1, got {pair[0]:g} and {pair[1]:g} for arm {k}"
                )

    def facts(self, offers: Offers) -> Facts:
        """Return the bounds of these arms."""
        if len(self.limits) != offers.arms:
            raise InvalidInputError(
                f"bounds must have one entry for each of the {offers.arms} arms, got {len(self.limits)}; "
                "give None (in a file []) for an arm without"
            )
        return facts_of(offers, bounds=tuple(pair or (0.0, 1.0) for pair in self.limits))

    def _value(self) -> Any:
        return [list(pair or ()) for pair in self.limits]

    def describe(self) -> str:
        """Say in words what is assumed."""
        said = [
            f"{self._name(k + 1)} lies from {pair[0]:g} to {pair[1]:g}"
            for k, pair in enumerate(self.limits)
            if pair is not None
        ]
        return "; ".join(said) or "no arm is bounded"


@dataclass(frozen=True)
class Gaps(Ranking):
    """Some means are above others by a least difference."""

    gaps: tuple[tuple[Arm, Arm, float], ...]
    key: ClassVar[str] = "gaps"

    def facts(self, offers: Offers) -> Facts:
        """Return the differences, and the order that follows from them."""
        known = tuple((offers.number(a), offers.number(b), least) for a, b, least in self.gaps)
        return facts_of(offers, order=tuple((a, b) for a, b, _ in known), gaps=known)

    def _value(self) -> Any:
        return list(map(self._numbered, self.gaps))

    def describe(self) -> str:
        """Say in words what is assumed."""
        return "; ".join(
            f"{self._name(a)} is at least {least:g} above {self._name(b)}" for a, b, least in self.gaps
        )


def decreasing() -> Monotone:
    """Return the statement that no arm succeeds more often than the one before it."""
    return Monotone("decreasing")


def increasing() -> Monotone:
    """Return the statement that no arm succeeds less often than the one before it."""
    return Monotone("increasing")


def order(pairs: Sequence[Sequence[Arm]]) -> PartialOrder:
    """Return the statement that the first arm of each pair is at least as good as the second.

    Parameters
    ----------
    pairs
        Arms by name or number from 1, such as ``[("gold", "silver"), ("gold", "basic")]``.
    """
    return PartialOrder(tuple(_pair(pair) for pair in _rows("order", pairs)))


def grid(rows: int, columns: int) -> Grid:
    """Return the statement that arms, row by row, have means that fall along rows and columns."""
    return Grid(rows, columns)


def unimodal(on: Scale = "mean") -> Unimodal:
    r"""Return the statement that there is a single peak.

    Parameters
    ----------
    on
        ``"mean"``, or ``"reward"`` for a peak of :math:`r_i\mu_i`.
    """
    return Unimodal(on)


def bounds(limits: Sequence[Sequence[float] | None]) -> Bounds:
    """Return the statement that means lie between two numbers.

    Parameters
    ----------
    limits
        For each arm the least and the largest mean, or None.
    """
    pairs = [() if pair is None else _rows("bounds", pair) for pair in _rows("bounds", limits)]
    for pair in pairs:
        if len(pair) not in (0, 2) or not all(map(is_number, pair)):
            raise InvalidInputError(f"bounds must be pairs such as [0, 0.4], or None, got {shown(pair)}")
    return Bounds(tuple((float(pair[0]), float(pair[1])) if len(pair) else None for pair in pairs))


def gap(larger: Arm, smaller: Arm, at_least: float) -> Gaps:
    """Return the statement that one mean is above another by a least difference.

    Parameters
    ----------
    larger, smaller
        Arms by name or number from 1.
    at_least
        The difference, from 0 to 1.
    """
    return gaps([(larger, smaller, at_least)])


def gaps(triples: Sequence[Sequence[Any]]) -> Gaps:
    """Return the statement of several differences, each ``(larger, smaller, least)``."""
    found = []
    for triple in _rows("gaps", triples):
        if len(_rows("gaps", triple)) != 3 or not is_number(triple[2]) or not 0 <= triple[2] < 1:
            raise InvalidInputError(
                'gaps must be triples such as ["a", "b", 0.05], the difference from 0 to 1, '
                f"got {shown(triple)}"
            )
        found.append((*_pair(triple[:2]), float(triple[2])))
    return Gaps(tuple(found))


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is one number; truth values are none."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _rows(name: str, given: object) -> Sequence[Any]:
    if isinstance(given, np.ndarray):
        return cast(Sequence[Any], given.tolist())
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InvalidInputError(f"{name} must be a list, got {shown(given)}")
    return given


def _pair(given: object) -> tuple[Arm, Arm]:
    pair = _rows("order", given)
    if len(pair) != 2 or not all(isinstance(arm, str | int | np.integer) for arm in pair):
        raise InvalidInputError(
            f'an order must be pairs of arms such as ["gold", "silver"] or [1, 2], got {shown(given)}'
        )
    if pair[0] == pair[1]:
        raise InvalidInputError(f"an arm cannot be ordered against itself, got {shown(given)}")
    first, second = (int(arm) if isinstance(arm, np.integer) else arm for arm in pair)
    return first, second


def _grid(value: Any) -> Grid:
    size = _rows("grid", value)
    if len(size) != 2:
        raise InvalidInputError(f"grid must be [rows, columns], got {shown(value)}")
    return Grid(*size)


def _unimodal(value: Any) -> Ranking:
    if value is not True and not isinstance(value, str):
        raise InvalidInputError(f'unimodal must be true or "reward", got {shown(value)}')
    return Unimodal("mean" if value is True else cast(Scale, value))


register("order", lambda value: Monotone(cast(Order, value)) if isinstance(value, str) else order(value))
register("grid", _grid)
register("unimodal", _unimodal)
register("bounds", bounds)
register("gaps", gaps)
