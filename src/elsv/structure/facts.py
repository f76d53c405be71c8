"""What a statement says of given arms, as far as it ranks or bounds them, and the belief under that.

The belief is exact where that is possible, else by draws.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np

from elsv._base.typing import AnyArray, FloatArray
from elsv.beliefs import Belief, Gibbs, Kept
from elsv.beliefs.filtered import LEAST, Condition
from elsv.beliefs.ladder.belief import exact_belief
from elsv.beliefs.ladder.ranking import Pairs, TooWideError, closure, covers
from elsv.errors import InvalidInputError
from elsv.state import State
from elsv.structure.base import Offers, Structure, ability

Scale = Literal["mean", "reward"]
Limits = tuple[tuple[float, float], ...]
Method = Literal["auto", "exact", "keep", "gibbs"]
METHODS: tuple[str, ...] = get_args(Method)


@dataclass(frozen=True)
class Facts:
    """Pairs, a peak and bounds of some arms; arms from 0."""

    names: tuple[str, ...]
    rewards: tuple[float, ...]
    order: Pairs = ()
    unimodal: bool = False
    scale: Scale = "mean"  # of what order and peak are
    bounds: Limits | None = None
    gaps: tuple[tuple[int, int, float], ...] = ()  # (a, b, least): mean a is at least that much above mean b

    @property
    def ranks(self) -> bool:
        """Whether there is an order or a peak."""
        return bool(self.order) or self.unimodal

    @property
    def single_peak(self) -> bool:
        r"""Whether :math:`r_i\mu_i` is known to rise, in the arms' numbering, to one arm and fall on."""
        equal = min(self.rewards) == max(self.rewards)
        if self.unimodal and (self.scale == "reward" or equal):
            return True
        better = self.worth_order()
        steps = [(k, k + 1) for k in range(len(self.names) - 1)]
        if not all(better[a, b] or better[b, a] for a, b in steps):
            return False
        rises = [bool(better[b, a]) for a, b in steps]
        return rises == sorted(rises, reverse=True)

    def worth_order(self) -> AnyArray:
        r"""Return ``[N, N]``, whether arm a is known to have an :math:`r_i\mu_i` at least that of arm b."""
        above = closure(len(self.names), self.order)
        if self.scale == "reward":
            return above
        rewards = np.array(self.rewards)
        return above & (rewards[:, None] >= rewards)

    def joined(self, other: Facts) -> Facts:
        """Return both together; their orders must be on one scale."""
        scale = self.scale if self.ranks else other.scale
        return replace(
            self,
            order=tuple(dict.fromkeys((*self.order, *other.order))),
            unimodal=self.unimodal or other.unimodal,
            scale=scale,
            bounds=_narrower(self.bounds, other.bounds),
            gaps=tuple(dict.fromkeys((*self.gaps, *other.gaps))),
        )

    def holds(self, means: FloatArray) -> AnyArray:
        """Return of means ``[..., N]`` whether they are possible, ``[...]``."""
        given = np.asarray(means, dtype=np.float64)
        worth = given * np.array(self.rewards) if self.scale == "reward" else given
        good = np.ones(given.shape[:-1], dtype=bool)
        for a, b in self.order:
            good &= worth[..., a] >= worth[..., b]
        if self.unimodal:
            left = np.maximum.accumulate(worth, axis=-1)
            right = np.maximum.accumulate(worth[..., ::-1], axis=-1)[..., ::-1]
            good &= (worth >= np.minimum(left, right)).all(axis=-1)
        if self.bounds is not None:
            low, high = np.array(self.bounds).T
            good &= ((given >= low) & (given <= high)).all(axis=-1)
        for a, b, least in self.gaps:
            good &= given[..., a] >= given[..., b] + least
        return np.asarray(good)

    def checked(self) -> Facts:
        """Return itself if means are possible; else an error names the arms that clash."""
        above = closure(len(self.names), self.order, self.names)
        limits = self.bounds or ((0.0, 1.0),) * len(self.names)
        for name, (low, high) in zip(self.names, limits, strict=True):
            if not low < high:
                raise InvalidInputError(
                    f"the bounds of {name} leave nothing: at least {low:g} and at most {high:g}"
                )
        unit = np.array(self.rewards) if self.scale == "reward" else np.ones(len(self.names))
        low, high = np.array(limits).T * unit
        apart = low[:, None] >= high  # arm a is never below arm b
        for a, b in np.argwhere(above & apart.T):
            raise InvalidInputError(
                f"{self.names[a]} must be at least as good as {self.names[b]}, but its bounds end at "
                f"{limits[a][1]:g} and those of {self.names[b]} begin at {limits[b][0]:g}"
            )
        self._check_gaps(limits)
        if self.unimodal:
            self._check_peak(above | apart)
        return self

    def _check_gaps(self, limits: Limits) -> None:
        """Refuse differences that add up to more than bounds leave."""
        least = np.full((len(self.names),) * 2, -np.inf)
        for a, b in self.order if self.gaps else ():
            least[a, b] = 0.0
        for a, b, gap in self.gaps:
            least[a, b] = max(least[a, b], gap)
        for k in range(len(self.names)):
            least = np.maximum(least, least[:, k : k + 1] + least[k])
        for a, b in np.argwhere(least > 0):
            room = limits[a][1] - limits[b][0]
            if room <= least[a, b]:
                raise InvalidInputError(
                    f"{self.names[a]} must be at least {least[a, b]:g} above {self.names[b]}, "
                    f"but their bounds leave {max(room, 0):g} at most"
                )

    def _check_peak(self, above: AnyArray) -> None:
        """Refuse an order that no means with a single peak have.

        If arm i is above arm j, then so is j above every arm on its other side: all that follows from the
        order must not contradict it.
        """
        known, arms = above.copy(), len(self.names)
        found = True
        while found:
            found = False
            for i, j in np.argwhere(known):
                for k in range(j + 1, arms) if i < j else range(j):
                    if known[k, j]:
                        raise InvalidInputError(
                            f"{self.names[j]} lies between {self.names[i]} and {self.names[k]}, which are "
                            "both at least as good: there is no single peak"
                        )
                    if not known[j, k]:
                        known[j, k] = found = True
            for k in range(arms):
                known |= known[:, k : k + 1] & known[k]
            if known.diagonal().any():
                clash = ", ".join(self.names[k] for k in np.flatnonzero(known.diagonal()))
                raise InvalidInputError(f"no means with a single peak agree with the order of {clash}")


def facts_of(offers: Offers, **known: Any) -> Facts:
    """Return what is `known` of these arms, as facts."""
    return Facts(offers.names, tuple(offers.rewards.tolist()), **known)


def ranking_of(structure: object) -> Facts | None:
    """Return the order, peak and bounds that a structure says certainly hold, or None if it says none."""
    found: Facts | None = ability(structure, "ranking")
    return found


def prices_of(structure: object) -> tuple[float, ...] | None:
    """Return the place of each arm on the curve that a structure speaks of, or None."""
    found = getattr(structure, "prices", None)
    return None if found is None else tuple(float(price) for price in found)


def _narrower(first: Limits | None, second: Limits | None) -> Limits | None:
    if first is None or second is None:
        return first or second
    return tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(first, second, strict=True))


def check_limits(names: Iterable[str], limits: Limits) -> Limits:
    """Return bounds if each leaves something."""
    for name, (low, high) in zip(names, limits, strict=True):
        if not 0 <= low < high <= 1:
            raise InvalidInputError(
                f"bounds must have 0 <= least < largest <= 1, got {low:g} and {high:g} for {name}"
            )
    return limits


@dataclass(frozen=True)
class Outline:
    """What can be drawn of a statement; arms from 0. One without an outline is shown by its means alone."""

    pairs: Pairs = ()  # (larger, smaller), only those that no third arm lies between
    grid: tuple[int, int] | None = None  # rows and columns, where the arms form them row by row
    peak: bool = False  # whether the arms, in their numbering, rise to one of them and fall from there
    scale: Scale = "mean"  # of what order and peak are: the means, or reward times mean
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


def outline_of(structure: Structure) -> Outline:
    """Return what can be drawn of a structure: its own outline, or nothing."""
    found: Outline = ability(structure, "outline", otherwise=Outline())
    return found


def outline_of_facts(facts: Facts, grid: tuple[int, int] | None = None) -> Outline:
    """Return what can be drawn of an order, a peak and bounds."""
    pairs = covers(closure(len(facts.names), facts.order))
    return Outline(pairs, grid, facts.unimodal, facts.scale)


@dataclass(frozen=True)
class All:
    """A condition that several conditions hold."""

    parts: tuple[Condition, ...]

    def __call__(self, means: FloatArray) -> AnyArray:
        """Return of means ``[..., N]`` whether all hold."""
        good = np.ones(np.shape(means)[:-1], dtype=bool)
        for part in self.parts:
            good &= np.asarray(part(means), dtype=bool)
        return good


def belief_of_facts(
    facts: Facts, prior: FloatArray, method: Method = "auto", conditions: tuple[Condition, ...] = ()
) -> Belief:
    """Return the belief under facts and further `conditions`, from the counts `prior` ``[N, 2]``.

    `method` is ``"exact"``, ``"keep"``, ``"gibbs"``, or ``"auto"``: the first of them that works.
    """
    if facts.gaps:
        conditions = (*conditions, facts.holds)
    if method == "keep":
        # The order, too, is left to the draws: bounds alone can be met exactly by independent arms.
        return Kept(_exact(facts, order=()), All((*conditions, facts.holds)), prior)
    if method == "gibbs":
        if facts.unimodal or conditions:
            raise InvalidInputError(
                "the method gibbs is for orders and bounds; leave it out for a peak, a gap or a condition"
            )
        return Gibbs(len(facts.names), facts.order, facts.bounds, _unit(facts))
    try:
        base: Belief = _exact(facts, facts.order)
    except TooWideError:
        if method == "exact":
            raise
        base = _forest(facts, prior)
    return Kept(base, All(conditions), prior) if conditions else base


def _exact(facts: Facts, order: Pairs) -> Belief:
    """Return the belief by quadrature; an error where a ladder would be too wide."""
    arms = len(facts.names)
    unimodal = facts.unimodal and arms > 2 and (bool(order) or not facts.order)
    return exact_belief(arms, order, unimodal, facts.bounds, _unit(facts))


def _unit(facts: Facts) -> tuple[float, ...] | None:
    return facts.rewards if facts.scale == "reward" else None


def _forest(facts: Facts, prior: FloatArray) -> Belief:
    """Return draws of a part of a wide order that are kept where the rest holds, and Gibbs where few are."""
    arms = len(facts.names)
    chosen = _spanning(arms, facts.order)
    gibbs = Gibbs(arms, facts.order, facts.bounds, _unit(facts))
    kept = Kept(_exact(facts, chosen), facts.holds, prior, otherwise=gibbs)
    start = State(prior[:, 0], prior[:, 1])
    return kept if float(kept.acceptance(start)) >= LEAST else gibbs


@lru_cache(maxsize=64)
def _spanning(arms: int, order: Pairs) -> Pairs:
    """Return pairs of the order without a circle, disregarding direction: a forest of its cover relation."""
    group = list(range(arms))

    def root(k: int) -> int:
        while group[k] != k:
            k = group[k]
        return k

    chosen = []
    for a, b in covers(closure(arms, order)):
        if root(a) != root(b):
            group[root(a)] = root(b)
            chosen.append((a, b))
    return tuple(chosen)
