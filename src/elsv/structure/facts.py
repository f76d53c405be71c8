"""What statements say of given arms, as far as they rank or bound them, and the belief under that.

The belief is exact where that is possible, else by draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, TypeVar, cast, get_args

import numpy as np

from elsv._base.numbers import shown
from elsv._base.typing import AnyArray, FloatArray
from elsv.beliefs import Belief, Gibbs, Kept, Ladder
from elsv.beliefs.base import Order
from elsv.beliefs.filtered import LEAST, Condition
from elsv.beliefs.ladder.ranking import Pairs, TooWideError, closure, covers
from elsv.errors import InvalidInputError
from elsv.state import State

Scale = Literal["mean", "reward"]
T = TypeVar("T")
Method = Literal["auto", "exact", "keep", "gibbs"]
METHODS: tuple[str, ...] = get_args(Method)


def number_of_arm(who: str, arm: object, names: Sequence[str]) -> int:
    """Return the number from 0 of an arm given by name or number from 1; errors begin with `who`."""
    if isinstance(arm, str) and arm in names:
        return names.index(arm)
    if isinstance(arm, int | np.integer) and not isinstance(arm, bool) and 1 <= arm <= len(names):
        return int(arm) - 1
    raise InvalidInputError(
        f"{who} must name arms of the problem, by name ({', '.join(map(repr, names))}) or "
        f"number from 1 to {len(names)}, got {shown(arm)}"
    )


@dataclass(frozen=True, eq=False)
class Offers:
    """The arms that a statement is about."""

    names: tuple[str, ...]
    rewards: FloatArray  # [N]
    prior: FloatArray  # [N, 2]

    @property
    def arms(self) -> int:
        """N, the number of arms."""
        return len(self.names)

    def number(self, arm: object) -> int:
        """Return the number from 0 of an arm that is given by its name or its number from 1."""
        return number_of_arm("a statement", arm, self.names)


def steps(order: Order, arms: int) -> Pairs:
    """Return an order of all arms as pairs of neighbours, the larger first."""
    falling = tuple((k, k + 1) for k in range(arms - 1))
    return falling if order == "decreasing" else tuple((b, a) for a, b in falling)


def ability(structure: object, name: str, *given: Any, otherwise: T) -> T:
    """Return what the method `name` of a structure answers, or `otherwise` where it has none."""
    own = getattr(structure, name, None)
    return otherwise if own is None else cast(T, own(*given))


def ranking_of(structure: object) -> Facts | None:
    """Return the order, peak and bounds that a structure says certainly hold, or None if it says none."""
    return ability(structure, "ranking", otherwise=None)


def prices_of(structure: object) -> tuple[float, ...] | None:
    """Return the place of each arm on the curve that a structure speaks of, or None."""
    found = getattr(structure, "prices", None)
    return None if found is None else tuple(float(price) for price in found)


def outline_of(structure: object) -> Outline:
    """Return what a picture of a structure shows: its own outline, or nothing."""
    return ability(structure, "outline", otherwise=Outline())


@dataclass(frozen=True)
class Outline:
    """What a picture of a statement shows; arms from 0. Without an outline it shows the means alone."""

    pairs: Pairs = ()  # (larger, smaller), only those that no third arm lies between
    grid: tuple[int, int] | None = None  # rows and columns, where the arms form them row by row
    peak: bool = False  # whether the arms, in their numbering, rise to one of them and fall from there
    scale: Scale = "mean"  # of order and peak: the means, or reward times mean
    parts: tuple[tuple[float, str, Outline], ...] = ()  # of a mixture: probability, words and outline

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, arms from 1."""
        values: dict[str, Any] = {"pairs": [[a + 1, b + 1] for a, b in self.pairs], "scale": self.scale}
        if self.grid is not None:
            values["grid"] = list(self.grid)
        if self.peak:
            values["peak"] = True
        if self.parts:
            values["parts"] = [
                {"probability": share, "assumed": words, **part.to_dict()}
                for share, words, part in self.parts
            ]
        return values


@dataclass(frozen=True)
class Facts:
    """What is known of some arms, from 0: order, peak, bounds, and conditions that only draws can meet."""

    names: tuple[str, ...]
    rewards: tuple[float, ...]
    order: Pairs = ()
    unimodal: bool = False
    scale: Scale = "mean"  # of order and peak
    bounds: tuple[tuple[float, float], ...] | None = None
    gaps: tuple[tuple[int, int, float], ...] = ()  # (a, b, least): mean a is at least that much above mean b
    conditions: tuple[Condition, ...] = field(default=(), repr=False)  # on the means, beside all that
    drawn: Any = field(default=None, repr=False)  # a structure that brings a prior of its own

    @property
    def arms(self) -> int:
        """N, the number of arms."""
        return len(self.names)

    @property
    def ranks(self) -> bool:
        """Whether there is an order or a peak."""
        return bool(self.order) or self.unimodal

    @property
    def unit(self) -> tuple[float, ...] | None:
        """What a mean is multiplied by before order and peak are read; None: nothing."""
        return self.rewards if self.scale == "reward" else None

    @property
    def limits(self) -> FloatArray:
        """The least and the largest mean of each arm, ``[2, N]``."""
        return np.array(self.bounds or ((0.0, 1.0),) * self.arms).T

    @property
    def single_peak(self) -> bool:
        r"""Whether :math:`r_i\mu_i` is known to rise, in the arms' numbering, to one arm and fall on."""
        equal = min(self.rewards) == max(self.rewards)
        if self.unimodal and (self.scale == "reward" or equal):
            return True
        better, rewards = closure(self.arms, self.order), np.array(self.rewards)
        if self.scale == "mean":
            better = better & (rewards[:, None] >= rewards)
        rises, falls = better.diagonal(-1), better.diagonal(1)
        return bool((rises | falls).all() and (rises[:-1] >= rises[1:]).all())

    def joined(self, other: Facts) -> Facts:
        """Return both together. An order on another scale becomes a condition."""
        if self.drawn is not None and other.drawn is not None:
            raise InvalidInputError(
                "only one of several statements can be a prior of its own, got both: "
                f"{self.drawn.describe()}; {other.drawn.describe()}"
            )
        if self.ranks and other.ranks and self.scale != other.scale:
            return replace(self, conditions=(*self.conditions, other.holds))
        bounds = self.bounds or other.bounds
        if self.bounds and other.bounds:
            pairs = zip(self.bounds, other.bounds, strict=True)
            bounds = tuple((max(a, c), min(b, d)) for (a, b), (c, d) in pairs)
        return replace(
            self,
            order=tuple(dict.fromkeys((*self.order, *other.order))),
            unimodal=self.unimodal or other.unimodal,
            scale=self.scale if self.ranks else other.scale,
            bounds=bounds,
            gaps=tuple(dict.fromkeys((*self.gaps, *other.gaps))),
            conditions=(*self.conditions, *other.conditions),
            drawn=other.drawn if self.drawn is None else self.drawn,
        )

    def certain(self) -> Facts:
        """Return these facts and those of the own prior, if both are on one scale."""
        own = ranking_of(self.drawn)
        if own is None or (self.ranks and own.scale != self.scale):
            return self
        return self.joined(own)

    def holds(self, means: FloatArray) -> AnyArray:
        """Return of means ``[..., N]`` whether they agree with order, peak, bounds and gaps, ``[...]``."""
        given = np.asarray(means, dtype=np.float64)
        worth = given if self.unit is None else given * np.array(self.unit)
        good = np.ones(given.shape[:-1], dtype=bool)
        for a, b in self.order:
            good &= worth[..., a] >= worth[..., b]
        if self.unimodal:
            left = np.maximum.accumulate(worth, axis=-1)
            right = np.maximum.accumulate(worth[..., ::-1], axis=-1)[..., ::-1]
            good &= (worth >= np.minimum(left, right)).all(axis=-1)
        if self.bounds is not None:
            low, high = self.limits
            good &= ((given >= low) & (given <= high)).all(axis=-1)
        for a, b, least in self.gaps:
            good &= given[..., a] >= given[..., b] + least
        return np.asarray(good)

    def meets(self, means: FloatArray) -> AnyArray:
        """Return of means ``[..., N]`` whether they meet all conditions, ``[...]``."""
        return all_hold(self.conditions, means)

    def outline(self) -> Outline:
        """Return what a picture shows."""
        if self.drawn is not None and not self.ranks:
            return outline_of(self.drawn)
        return Outline(covers(closure(self.arms, self.order)), peak=self.unimodal, scale=self.scale)

    def belief(self, offers: Offers, method: Method = "auto") -> Belief:
        """Return the belief by ``"exact"``, ``"keep"``, ``"gibbs"``, or ``"auto"``: the first that works."""
        whole = replace(self, conditions=(*self.conditions, self.holds))
        plain = replace(self, conditions=(), drawn=None) == facts_of(offers)
        drawn = whole if self.gaps or not (self.drawn is None or plain) else self
        if self.drawn is not None:
            base: Belief = self.drawn.belief()
        elif method == "keep":
            # The order, too, is left to the draws: bounds alone can be met exactly by independent arms.
            return Kept(self._exact(()), whole.meets, offers.prior)
        elif method == "gibbs":
            if self.unimodal or drawn.conditions:
                raise InvalidInputError(
                    "the method gibbs is for orders and bounds; leave it out for a peak, a gap or a condition"
                )
            return self._gibbs()
        else:
            try:
                base = self._exact(self.order)
            except TooWideError:
                if method == "exact":
                    raise
                base = self._forest(offers.prior)
        return Kept(base, drawn.meets, offers.prior) if drawn.conditions else base

    def _exact(self, order: Pairs) -> Belief:
        """Return the belief by quadrature; an error where a ladder would be too wide."""
        unimodal = self.unimodal and self.arms > 2 and (bool(order) or not self.order)
        return Ladder(self.arms, order, unimodal, self.bounds, self.unit).quickest()

    def _gibbs(self) -> Gibbs:
        return Gibbs(self.arms, self.order, self.bounds, self.unit)

    def _forest(self, prior: FloatArray) -> Belief:
        """Return draws of a part of a wide order, kept where the rest holds, and Gibbs where few are."""
        part, gibbs = self._exact(_spanning(self.arms, self.order)), self._gibbs()
        kept = Kept(part, self.holds, prior, otherwise=gibbs)
        return kept if float(kept.acceptance(State(prior[:, 0], prior[:, 1]))) >= LEAST else gibbs

    def check(self) -> None:
        """Raise an error that names the arms that clash, if no means are possible."""
        above = closure(self.arms, self.order, self.names)
        low, high = self.limits
        for name, least, greatest in zip(self.names, low, high, strict=True):
            if not least < greatest:
                raise InvalidInputError(
                    f"the bounds of {name} leave nothing: at least {least:g} and at most {greatest:g}"
                )
        unit = 1.0 if self.unit is None else np.array(self.unit)
        apart = (low * unit)[:, None] >= high * unit  # arm a is never below arm b
        for a, b in np.argwhere(above & apart.T):
            raise InvalidInputError(
                f"{self.names[a]} must be at least as good as {self.names[b]}, but its bounds end at "
                f"{high[a]:g} and those of {self.names[b]} begin at {low[b]:g}"
            )
        if self.gaps:
            self._check_gaps(low, high)
        if self.unimodal:
            self._check_peak(above | apart)

    def _check_gaps(self, low: FloatArray, high: FloatArray) -> None:
        """Refuse differences that add up to more than bounds leave."""
        least = np.full((self.arms, self.arms), -np.inf)
        for a, b, gap in (*((a, b, 0.0) for a, b in self.order), *self.gaps):
            least[a, b] = max(least[a, b], gap)
        for k in range(self.arms):
            least = np.maximum(least, least[:, k : k + 1] + least[k])
        for a, b in np.argwhere(least > 0):
            room = high[a] - low[b]
            if room <= least[a, b]:
                raise InvalidInputError(
                    f"{self.names[a]} must be at least {least[a, b]:g} above {self.names[b]}, "
                    f"but their bounds leave {max(room, 0):g} at most"
                )

    def _check_peak(self, above: AnyArray) -> None:
        """Refuse an order that no means with a single peak have.

        If arm i is above arm j, then so is j above every arm on its other side. All that follows from the
        order must not contradict it.
        """
        known, found = above.copy(), True
        while found:
            found = False
            for i, j in np.argwhere(known):
                beyond = np.arange(j + 1, self.arms) if i < j else np.arange(j)
                for k in beyond[known[beyond, j]]:
                    raise InvalidInputError(
                        f"{self.names[j]} lies between {self.names[i]} and {self.names[k]}, which are "
                        "both at least as good: there is no single peak"
                    )
                found |= not known[j, beyond].all()
                known[j, beyond] = True
            for k in range(self.arms):
                known |= known[:, k : k + 1] & known[k]
            if known.diagonal().any():
                clash = ", ".join(self.names[k] for k in np.flatnonzero(known.diagonal()))
                raise InvalidInputError(f"no means with a single peak agree with the order of {clash}")


def facts_of(offers: Offers, **known: Any) -> Facts:
    """Return what is `known` of these arms, as facts."""
    return Facts(offers.names, tuple(offers.rewards.tolist()), **known)


def all_hold(conditions: Iterable[Condition], means: FloatArray) -> AnyArray:
    """Return of means ``[..., N]`` whether all conditions hold, ``[...]``."""
    good = np.ones(np.shape(means)[:-1], dtype=bool)
    for condition in conditions:
        good &= np.asarray(condition(means), dtype=bool)
    return good


@lru_cache(maxsize=64)
def _spanning(arms: int, order: Pairs) -> Pairs:
    """Return a spanning forest of the cover relation: pairs that form no circle in any direction."""
    group, chosen = np.arange(arms), []
    for a, b in covers(closure(arms, order)):
        if group[a] != group[b]:
            group[group == group[a]] = group[b]
            chosen.append((a, b))
    return tuple(chosen)
