r"""The problem: arms, what they pay, what is known of them in advance, and what is maximised.

Arm i pays :math:`r_i > 0` with unknown probability :math:`\mu_i` and 0 otherwise. The prior is
independent :math:`\mathrm{Beta}(\alpha^0_i, \beta^0_i)` under a structure of the means, such as an order,
when there is one. The objective is the sum of ``horizon`` rewards, or the discounted sum with ``discount``.
"""

from __future__ import annotations

import inspect
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.files import unreadable, write_atomically, write_text
from elsv._base.html import block, note, shortened, table
from elsv._base.numbers import numbers, shown
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.beliefs import Belief
from elsv.beliefs.base import Order
from elsv.errors import CorruptFileError, InvalidInputError, unknown_name
from elsv.segments import Segments, Stated
from elsv.structure import Offers, PartialOrder, Structure, structure_of
from elsv.structure.base import from_dict, on
from elsv.structure.drawn import SampleDraws, digest, draws_as, in_short
from elsv.structure.product import Product, check_order_of_lists
from elsv.structure.rankings import is_number

_MOST_ROWS = 20  # of arms that a notebook shows
EXPECT = "expect"  # a table of a problem's file that `elsv prior` turns into rows
MOST_PULLS = 10**15  # beyond, a float no longer tells one pull from the next
_REMEDY = "give the path of a TOML file with lines such as rewards = [0.8, 0.9, 1.0] and horizon = 50"


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    r"""A Bernoulli bandit with rewards, a Beta prior and what is known of the means (paper §2.1, §5.2).

    Parameters
    ----------
    rewards
        :math:`r_i > 0`, what arm i pays on success. Default 1 for every arm of `prior`.
    order
        ``"decreasing"`` for :math:`\mu_1 \ge \dots \ge \mu_N`, ``"increasing"`` for the reverse: the short
        form of the two commonest structures. With segments that have the same options it holds within each.
    horizon
        Number of pulls T whose rewards are summed.
    discount
        :math:`\gamma \in (0, 1)`, instead of a horizon.
    prior
        Rows :math:`(\alpha^0_i, \beta^0_i)`, positive reals. Default (1, 1), the uniform distribution. They
        are what is believed before the structure is taken into account; under an order the means differ.
    names
        Labels for people; default ``arm 1`` … ``arm N``.
    structure
        What is known of the means, a statement of `elsv.structure` or one of your own; default: nothing.
    segments
        Who may come. With shares, ``{"mobile": 0.5, "desktop": 0.5}``, or names alone, ``["mobile",
        "desktop"]``, every segment has the same options: rewards, names and prior are theirs, and each
        option for each segment becomes an arm, ``option × segment``. Otherwise each segment has a list of
        arms, by name or number from 1: ``{"new": [1, 2], "returning": [3, 4]}`` or ``[[1, 2], [3, 4]]``.
        Every arm is in one. Default: every arm is for everyone.
    segment_shares
        With which probability a customer is of each segment, if that is known.
    segment_prior
        Dirichlet counts of the shares if they are to be learnt from who comes; default 1 for each.
    across
        Ranks segments with the same options, such as ``"mobile, desktop"``: with the same option later ones
        succeed at least as often.

    Examples
    --------
    >>> Problem(rewards=[0.8, 0.9, 1.0], order="decreasing", horizon=50).arms
    3
    >>> two = Problem(rewards=[1.0, 2.0], order="decreasing", horizon=50, segments=["mobile", "desktop"])
    >>> two.names
    ('arm 1 × mobile', 'arm 2 × mobile', 'arm 1 × desktop', 'arm 2 × desktop')
    """

    rewards: FloatArray  # [N]
    structure: Structure
    horizon: int | None
    discount: float | None
    prior: FloatArray = field(repr=False)  # [N, 2]
    names: tuple[str, ...] = field(repr=False)
    segments: Segments  # one of all arms where none are stated

    def __init__(
        self,
        rewards: ArrayLike | None = None,
        order: Order | None = None,
        horizon: int | None = None,
        discount: float | None = None,
        prior: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        structure: Structure | Mapping[str, Any] | None = None,
        segments: Segments | Stated | None = None,
        segment_shares: Sequence[float] | Mapping[str, float] | None = None,
        segment_prior: Sequence[float] | Mapping[str, float] | None = None,
        across: str | Sequence[str] | None = None,
    ) -> None:
        if rewards is None and prior is None:
            raise InvalidInputError("rewards or prior must say how many arms there are; give rewards=[1, 1]")
        table = None if prior is None else _numbers("prior", prior, 2)
        payoff = np.ones(len(cast(FloatArray, table))) if rewards is None else _numbers("rewards", rewards, 1)
        product = Product.of(segments, across)
        if product is not None and len(payoff):
            options = _numbered(len(payoff)) if names is None else _labels(names)
            count = len(options)
            payoff = product.repeated("rewards", payoff, count)
            table = None if table is None else product.repeated("prior", table, count)
            pairs, order = product.pairs(order, structure, count), None
            structure = PartialOrder(tuple(pairs)) if pairs else None
            names, segments = product.arms(options), product.segments(count)
            if product.shares is not None:
                if segment_shares is not None:
                    raise InvalidInputError(
                        f"give the shares once, got them in segments and segment_shares={segment_shares!r}"
                    )
                segment_shares = product.shares
        arms = len(payoff)
        if arms == 0:
            raise InvalidInputError("rewards must name at least one arm, got none")
        table = np.ones((arms, 2)) if table is None else table
        if table.shape != (arms, 2):
            raise InvalidInputError(
                f"prior must have one row [alpha, beta] for each of the {arms} arms, got shape {table.shape}"
            )
        _all_positive("rewards", payoff)
        _all_positive("prior", table)
        if order is not None and structure is not None:
            raise InvalidInputError(f"give either order or structure, got order={order!r} and {structure!r}")
        labels = _numbered(arms) if names is None else _labels(names)
        if len(labels) != arms:
            raise InvalidInputError(
                f"names must have one entry for each of the {arms} arms, got {len(labels)}"
            )
        if len(set(labels)) != arms:
            raise InvalidInputError(f"names must differ from one another, got {list(labels)}")
        who = Segments.of(segments, labels, segment_shares, segment_prior)
        check_order_of_lists(order, structure, who.count)
        payoff.flags.writeable = False
        table.flags.writeable = False
        goal = _objective(horizon, discount)
        known = on(structure_of(order if structure is None else structure), Offers(labels, payoff, table))
        for one, value in zip(fields(self), (payoff, known, *goal, table, labels, who), strict=True):
            object.__setattr__(self, one.name, value)

    @property
    def arms(self) -> int:
        """N, the number of arms."""
        return len(self.rewards)

    @property
    def steps(self) -> int:
        """T, or an error for a problem with a discount: exact answers need a horizon."""
        if self.horizon is None:
            raise InvalidInputError(
                f"exact solutions need a horizon, got discount={self.discount}; "
                f"give horizon=T, such as {round(1 / (1 - (self.discount or 0)))} (1/(1 - discount))"
            )
        return self.horizon

    @property
    def order(self) -> Order | None:
        """The short form of the structure, where it has one."""
        try:
            with draws_as(in_short):
                known = self.structure.to_dict()
        except InvalidInputError:  # of statements that no file holds, such as two grids
            return None
        if set(known) == {"order"} and isinstance(known["order"], str):
            return cast(Order, known["order"])
        return None

    @cached_property
    def belief(self) -> Belief:
        """The exact belief under the structure; one object for one problem."""
        return self.structure.belief()

    @property
    def scale(self) -> float:
        """The largest reward, which the tie rule and tolerances are relative to."""
        return float(self.rewards.max())

    def with_horizon(self, horizon: int) -> Problem:
        """Return the same problem with another horizon, instead of its own or of its discount."""
        return replace(self, horizon=horizon, discount=None)

    def with_prior(
        self,
        prior: ArrayLike | Mapping[str, ArrayLike] | Sequence[ArrayLike | None],
        structure: Structure | None = None,
        factor: float | None = None,
    ) -> Problem:
        """Return the same problem with other prior rows, and with another structure if one is given.

        Parameters
        ----------
        prior
            Rows in the order of the arms, or by name. An arm whose row is None or left out takes its rate
            from its neighbours, given the structure (`elsv.prior.untried`).
        structure
            Instead of the problem's own.
        factor
            Odds of such an arm are within this factor of its neighbour's for each step between them, with
            95 % probability; default: 2, or 3 where nothing is known of an order.

        Examples
        --------
        >>> from elsv import State
        >>> shop = Problem([20, 18, 16], order="increasing", horizon=500, names=["none", "5 %", "10 %"])
        >>> known = shop.with_prior({"none": (30, 770), "5 %": (40, 560)})
        >>> known.belief.mean(State.initial(known)).round(3).tolist()
        [0.037, 0.067, 0.089]
        """
        rows, known = self._rows(prior)
        new = replace(self, prior=rows, structure=structure or self.structure)
        if known.all():
            return new
        from elsv.prior.untried import from_neighbours, neutral

        return from_neighbours(neutral(new, known), known, factor)[0]

    def _rows(self, given: Any) -> tuple[Any, AnyArray]:
        """Return rows for `Problem`, uniform where none are given, and of which arms some are ``[N]``."""
        if isinstance(given, Mapping):
            for name in given:
                if name not in self.names:
                    raise unknown_name("arm", str(name), self.names)
            given = [given.get(name) for name in self.names]
        if isinstance(given, np.ndarray) or not isinstance(given, Sequence):
            return given, np.ones(self.arms, dtype=bool)
        known = np.array([row is not None for row in given])
        if not known.any():
            raise InvalidInputError("prior must have a row [alpha, beta] for at least one arm, got none")
        return [(1.0, 1.0) if row is None else row for row in given], known

    def __repr__(self) -> str:
        with draws_as(in_short):
            shown = self.to_dict()
        if (self.prior == 1).all():
            del shown["prior"]
        if self.names == _numbered(self.arms):
            del shown["names"]
        return f"Problem({', '.join(f'{key}={value!r}' for key, value in shown.items())})"

    def _repr_html_(self) -> str:
        """Return what is known and what is maximised, and the arms, for notebooks."""
        goal = f"horizon {self.horizon:,}" if self.horizon is not None else f"discount {self.discount:g}"
        rows = [
            [name, f"{reward:g}", f"{alpha:g}", f"{beta:g}"]
            for name, reward, (alpha, beta) in zip(self.names, self.rewards, self.prior, strict=True)
        ]
        few, cut = shortened(rows, _MOST_ROWS)
        more = [note(f"{len(few) - 1} of {self.arms} arms")] if cut else []
        title = f"Problem: {self.arms} {'arm' if self.arms == 1 else 'arms'}, {goal}"
        known = note(f"Known of the means: {self.structure.describe()}")
        if who := self.segments.describe(self.names):
            more.append(note(f"Segments: {who}"))
        return block(title, known, table(["arm", "reward", "prior α", "prior β"], few), *more)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and _compared(self) == _compared(other)

    def __hash__(self) -> int:
        return hash((self.rewards.tobytes(), self.prior.tobytes(), self.horizon, self.discount))

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values under the keys of the TOML file."""
        values: dict[str, Any] = {"rewards": self.rewards.tolist()}
        known = self.structure.to_dict()
        if self.order is not None and self.segments.count == 1:
            values |= known
        elif known:
            values["structure"] = known
        for key in ("horizon", "discount"):
            if getattr(self, key) is not None:
                values[key] = getattr(self, key)
        values["prior"] = self.prior.tolist()
        values["names"] = list(self.names)
        return values | self.segments.to_dict()

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Problem:
        """Build a problem from the keys of the TOML file; an unknown key is an error."""
        for key in values:
            if key == EXPECT:
                raise InvalidInputError(
                    f"[{EXPECT}] is not yet a prior; make rows of it: "
                    "elsv prior --problem PROBLEM.toml --out NEW.toml"
                )
            if key not in _KEYS:
                raise unknown_name("key", key, _KEYS)
        return cls(**values)

    @classmethod
    def from_stored(cls, values: Mapping[str, Any]) -> Problem:
        """Build a problem from what `to_dict` wrote; older versions wrote order beside lists of arms."""
        stored = dict(values)
        if "order" in stored and "segments" in stored:
            stored["structure"] = {"order": stored.pop("order")}
        return cls.from_dict(stored)

    @classmethod
    def load(cls, path: str | Path) -> Problem:
        """Read a TOML file: rewards, order or structure, horizon or discount, prior, names, segments."""
        return cls.load_expecting(path, "")[0]

    @classmethod
    def load_expecting(cls, path: str | Path, aside: str = EXPECT) -> tuple[Problem, dict[str, Any]]:
        """Read a TOML file and its table ``[expect]``, which `elsv.prior` turns into rows; {} without."""
        try:
            values = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise unreadable(f"problem file {path}", error, _REMEDY) from error
        except (ValueError, RecursionError) as error:  # not TOML, not text, too many digits or brackets
            raise CorruptFileError(f"{path} is not a TOML file: {error}; {_REMEDY}") from error
        try:
            taken = values.pop(aside, {})
            if not isinstance(taken, dict):
                raise InvalidInputError(
                    f'[{aside}] must be a table such as "10 % off" = "3-8%", got {taken!r}'
                )
            if isinstance(values.get("structure"), dict):
                values["structure"] = from_dict(values["structure"], folder=Path(path).parent)
            return cls.from_dict(values), taken
        except InvalidInputError as error:
            raise InvalidInputError(f"{path}: {error}") from error

    def save(self, path: str | Path) -> None:
        """Write the problem as TOML, atomically; `load` gives an equal problem back.

        Draws of `elsv.structure.samples` go into a file beside it, such as ``shop.draws.npy``, unless they
        come from one that is there already.
        """
        text, draws = self.files(path)
        for name, statement in draws.items():
            write_atomically(Path(path).parent / name, partial(np.save, arr=statement.draws))
        write_text(path, text)

    def files(self, path: str | Path) -> tuple[str, dict[str, SampleDraws]]:
        """Return the text that `save` writes to `path`, and what it writes beside it, by file name."""
        given, draws = Path(path), dict[str, SampleDraws]()

        def keep(statement: SampleDraws) -> str:
            if statement.path is not None and Path(statement.path).parent == given.absolute().parent:
                return Path(statement.path).name
            for name, known in draws.items():
                if digest(known) == digest(statement):
                    return name
            name = f"{given.stem}.draws{len(draws) + 1 if draws else ''}.npy"
            draws[name] = statement
            return name

        with draws_as(keep):
            return self.to_toml(), draws

    def to_toml(self) -> str:
        """Return the problem as TOML."""
        return "".join(f"{key} = {_toml(value)}\n" for key, value in self.to_dict().items())


_KEYS = tuple(inspect.signature(Problem).parameters)  # of a problem's file


def _numbered(arms: int) -> tuple[str, ...]:
    return tuple(f"arm {i + 1}" for i in range(arms))


def belief_of(problem: Problem) -> Belief:
    """Return the exact belief under the problem's structure, such as a chain or independent arms."""
    return problem.belief


def same_task(first: Problem, second: Problem) -> bool:
    """Return whether two problems differ in the names of their arms at most."""
    return {**_compared(first), "names": None} == {**_compared(second), "names": None}


def _compared(problem: Problem) -> dict[str, Any]:
    """Return plain values; the same draws are the same prior, wherever they are kept."""
    with draws_as(digest):
        return problem.to_dict()


def _objective(horizon: object, discount: object) -> tuple[int | None, float | None]:
    if (horizon is None) == (discount is None):
        given = "neither" if horizon is None else "both"
        raise InvalidInputError(f"give either a horizon or a discount, got {given}; for example horizon=200")
    if horizon is not None:
        if isinstance(horizon, bool) or not isinstance(horizon, int | np.integer) or horizon < 1:
            raise InvalidInputError(
                f"horizon must be a whole number of pulls, at least 1, got {shown(horizon)}"
            )
        if horizon > MOST_PULLS:
            raise InvalidInputError(
                f"horizon must be at most {MOST_PULLS:,} pulls, got {shown(horizon)}; "
                "give a discount for a problem without an end"
            )
        return int(horizon), None
    return None, check_discount(discount)


def check_discount(discount: object) -> float:
    """Return `discount` as a float if it lies strictly between 0 and 1."""
    if not is_number(discount):
        raise InvalidInputError(f"discount must be a number between 0 and 1, got {shown(discount)}")
    if not 0 < discount < 1:
        raise InvalidInputError(
            f"discount must lie strictly between 0 and 1, got {shown(discount)}; try 0.99"
        )
    return float(discount)


def _numbers(name: str, values: ArrayLike, dimensions: int) -> FloatArray:
    """Copy `values` into a float array of the given number of dimensions, or say what is wrong."""
    array = numbers(name, values)
    if array.ndim != dimensions:
        raise InvalidInputError(f"{name} must have {dimensions} dimension(s), got shape {array.shape}")
    return array


def _labels(names: object) -> tuple[str, ...]:
    """Return the names of the arms as a tuple; one text is not taken for a name for each of its letters."""
    if isinstance(names, str | bytes | Mapping) or not isinstance(names, Iterable):
        raise InvalidInputError(f'names must be a list such as ["a", "b"], got {shown(names)}')
    labels = tuple(names)
    for label in labels:
        if not isinstance(label, str | int | float | np.generic):
            raise InvalidInputError(f"names must be text, got {shown(label)}")
    return tuple(map(str, labels))


def distinct_priors(problem: Problem) -> tuple[list[int], IntArray]:
    """Return an arm of each distinct prior, and for every arm which of these has its prior: ``[N]``."""
    _, members, group = np.unique(problem.prior, axis=0, return_index=True, return_inverse=True)
    return [int(i) for i in members], group.reshape(-1).astype(np.int64)


def _all_positive(name: str, array: FloatArray) -> None:
    bad = ~(np.isfinite(array) & (array > 0))
    if bad.any():
        where = tuple(int(k) for k in np.argwhere(bad)[0])
        raise InvalidInputError(f"{name} must be positive, got {array[where]:g} for arm {where[0] + 1}")


def _toml(value: Any) -> str:
    if isinstance(value, np.generic | np.ndarray):
        return _toml(value.tolist())
    if isinstance(value, str | bool):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_toml(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    return str(value)
