"""Statements that rank or bound the arms: orders, grids, a peak, bounds, gaps (paper §5.2, and past it)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.numbers import whole
from elsv._base.typing import AnyArray
from elsv.beliefs import Belief, Chain, Rejection
from elsv.beliefs.base import Order, check_order
from elsv.errors import InvalidInputError, unknown_name
from elsv.structure.base import Offers
from elsv.structure.facts import Facts, Scale, check_limits
from elsv.structure.outline import Outline
from elsv.structure.product import in_words
from elsv.structure.ranking import Arm, Ranking, facts_of, listed

_MOST_SAID = 8  # sentences


@dataclass(frozen=True)
class Monotone(Ranking):
    r"""The means fall, :math:`\mu_1 \ge \dots \ge \mu_N`, or rise (paper §5.2)."""

    order: Order
    key: ClassVar[str] = "order"

    def __post_init__(self) -> None:
        check_order(self.order)

    def facts(self, offers: Offers) -> Facts:
        """Return one pair after another."""
        falling = tuple((k, k + 1) for k in range(offers.arms - 1))
        return facts_of(
            offers, order=falling if self.order == "decreasing" else tuple((b, a) for a, b in falling)
        )

    def value(self) -> Any:
        """Return the direction."""
        return self.order

    def describe(self) -> str:
        """Say in words what is assumed."""
        way, other = ("decrease", "least") if self.order == "decreasing" else ("increase", "most")
        return f"the means {way}: each arm succeeds at {other} as often as the next"

    def holds(self, means: ArrayLike) -> AnyArray:
        """Return whether no mean is out of order."""
        steps = np.diff(np.asarray(means, dtype=np.float64), axis=-1)
        return np.asarray(((steps <= 0) if self.order == "decreasing" else (steps >= 0)).all(axis=-1))

    def belief(self) -> Belief:
        """Return the exact belief of a chain, or the one that `by` asks for."""
        if self.method in ("auto", "exact"):
            return Chain(self.order)
        return super().belief()

    def rejection(self, **counts: Any) -> Belief:
        """Return the paper's own belief, which draws and keeps what is in order (Algorithm 4)."""
        return Rejection(self.order, **counts)


@dataclass(frozen=True)
class PartialOrder(Ranking):
    """Some arms are at least as good as others: pairs, the larger one first."""

    pairs: tuple[tuple[Arm, Arm], ...]
    key: ClassVar[str] = "order"

    def facts(self, offers: Offers) -> Facts:
        """Return the pairs."""
        return facts_of(offers, order=tuple((offers.number(a), offers.number(b)) for a, b in self.pairs))

    def value(self) -> Any:
        """Return the pairs, by number once the arms are known."""
        if self.offers is None:
            return [list(pair) for pair in self.pairs]
        return [[self.offers.number(a) + 1, self.offers.number(b) + 1] for a, b in self.pairs]

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
        said = [
            f"{listed(names)} {'is' if len(names) == 1 else 'are each'} at least as good as {listed(others)}"
            for others, names in larger.items()
        ]
        more = [f"and {len(said) - _MOST_SAID} further statements"] if len(said) > _MOST_SAID + 1 else []
        kept = said[:_MOST_SAID] if more else said
        return "; ".join([*kept, *more]) or "no arm is known to be better than another"


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
        """Return the pairs of neighbours."""
        if self.rows * self.columns != offers.arms:
            raise InvalidInputError(
                f"a grid of {self.rows} rows and {self.columns} columns has {self.rows * self.columns} arms, "
                f"the problem has {offers.arms}"
            )
        at = np.arange(offers.arms).reshape(self.rows, self.columns)
        beside = np.stack([at[:, :-1], at[:, 1:]], axis=-1).reshape(-1, 2)
        under = np.stack([at[:-1], at[1:]], axis=-1).reshape(-1, 2)
        return facts_of(offers, order=tuple((int(a), int(b)) for a, b in np.concatenate([beside, under])))

    def value(self) -> Any:
        """Return rows and columns."""
        return [self.rows, self.columns]

    def describe(self) -> str:
        """Say in words what is assumed."""
        return f"the arms form {self.rows} rows and {self.columns} columns, and means fall along both"

    def outline(self) -> Outline:
        """Return what can be drawn of it: rows and columns."""
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
        """Return that there is one peak."""
        return facts_of(offers, unimodal=True, scale=self.scale)

    def value(self) -> Any:
        """Return true, or the scale."""
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

    def facts(self, offers: Offers) -> Facts:
        """Return the bounds."""
        if len(self.limits) != offers.arms:
            raise InvalidInputError(
                f"bounds must have one entry for each of the {offers.arms} arms, got {len(self.limits)}; "
                "give None (in a file []) for an arm without"
            )
        whole_range = tuple((0.0, 1.0) if pair is None else pair for pair in self.limits)
        return facts_of(offers, bounds=check_limits(offers.names, whole_range))

    def value(self) -> Any:
        """Return pairs, empty for an arm without."""
        return [[] if pair is None else list(pair) for pair in self.limits]

    def describe(self) -> str:
        """Say in words what is assumed."""
        said = [
            f"{self._name(k + 1)} lies from {pair[0]:g} to {pair[1]:g}"
            for k, pair in enumerate(self.limits)
            if pair is not None
        ]
        return "; ".join(said) if said else "no arm is bounded"


@dataclass(frozen=True)
class Gaps(Ranking):
    """Some means are above others by a least difference."""

    gaps: tuple[tuple[Arm, Arm, float], ...]
    key: ClassVar[str] = "gaps"

    def facts(self, offers: Offers) -> Facts:
        """Return the differences, and the order that follows from them."""
        known = tuple((offers.number(a), offers.number(b), least) for a, b, least in self.gaps)
        return facts_of(offers, order=tuple((a, b) for a, b, _ in known), gaps=known)

    def value(self) -> Any:
        """Return triples, by number once the arms are known."""
        if self.offers is None:
            return [list(triple) for triple in self.gaps]
        return [[self.offers.number(a) + 1, self.offers.number(b) + 1, d] for a, b, d in self.gaps]

    def describe(self) -> str:
        """Say in words what is assumed."""
        return "; ".join(
            f"{self._name(a)} is at least {least:g} above {self._name(b)}" for a, b, least in self.gaps
        )
