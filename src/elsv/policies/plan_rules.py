"""The rules of `Plan`: how far it searches, among which arms, and when many pulls of one arm decide.

With a long way to go, many pulls of one arm are weighed first. Where they gain nothing over committing at
once all is settled, and the best arm is pulled. So a search where they do may take longer: it goes farther
ahead by steps that grow, since what is done far ahead need not be decided pull by pull.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.lattice.small import depth_within, singles, steps_within

EFFORT = 1 << 16
POINTS = 768
MOST_CANDIDATES = 3
DEEPEST = 40  # pulls that a search looks ahead
FAR = 3  # how many times as many states are expanded with a long way to go
FARTHEST = 51  # pulls that such a search looks ahead: up to there points of the belief are exact to 3e-7
PATIENCE = 3  # how many times as many pulls of a single arm are weighed
LONG_PATIENCE = 6  # the same with a long way to go
LONG_WAY = 5  # how many times as many pulls must be left for a long way to go
KNOWN_WAY = 25  # how many times as many may be left for that to be worth its time: the optimum is known to 20
MOST_FREE = 10  # independent arms that are all searched
TRUSTED = 10  # they are with at most min(d, this) times d pulls left
STALLED = 1e-6  # gain over committing at once, relative to it, that is as good as none
WORTHWHILE = 1e-4  # such a gain that makes many pulls of one arm worth it where a search gains none
SETTLED = 3e-5  # such a gain of many pulls of one arm up to which, with a long way to go, nothing is searched
QUICK = 1e-4  # the same beyond the known way
ALIKE = 3.0  # standard deviations within which an arm may still turn out to be the best


def undecided(worth: FloatArray, spread: FloatArray) -> AnyArray:
    """Return in which of the states ``[B]`` `ALIKE` standard deviations lift another arm to the best."""
    hopeful = worth + ALIKE * spread >= worth.max(axis=1, keepdims=True)
    return np.asarray(hopeful.sum(axis=1) > 1)


def undecided_in_groups(worth: FloatArray, spread: FloatArray, groups: Sequence[Sequence[int]]) -> AnyArray:
    """Return the same ``[B]`` where the best arm of each group is looked for: whether any is undecided."""
    found = np.zeros(len(worth), dtype=bool)
    for arms in groups:
        found |= undecided(worth[:, list(arms)], spread[:, list(arms)])
    return found


def candidates(worth: FloatArray, stops: FloatArray, count: int) -> IntArray:
    """Return `count` arms ``[B, C]`` in their order: the best one, and those most worth many pulls."""
    score = stops.copy()
    score[np.arange(len(worth)), worth.argmax(axis=1)] = np.inf
    return np.sort(np.argsort(-score, axis=1, kind="stable")[:, :count], axis=1)


def unsettled(stops: FloatArray, committed: FloatArray, settled: float) -> AnyArray:
    """Return where many pulls of an arm ``[..., N]`` gain over `committed` ``[...]``: something to learn."""
    return np.asarray(stops.max(axis=-1) - committed > settled * committed)


def prefer(ahead: FloatArray, stops: FloatArray, committed: FloatArray) -> FloatArray:
    """Return `stops` ``[..., N]`` where `ahead` gains nothing over `committed` ``[...]`` and it does."""
    stalled = ahead.max(axis=-1) - committed <= STALLED * committed
    worthwhile = stops.max(axis=-1) - committed > WORTHWHILE * committed
    return np.where((stalled & worthwhile)[..., None], stops, ahead)


def depth_of(arms: int, effort: int, left: int | None) -> int:
    """Return how many pulls of `arms` arms the effort looks ahead; at least 1."""
    return depth_within(arms, effort, DEEPEST if left is None else min(left, DEEPEST))


def most_stops(depth: int, left: int | None, patience: int = PATIENCE) -> int:
    """Return how many pulls of one arm are weighed besides a search of this depth."""
    return patience * depth if left is None else min(patience * depth, left)


@dataclass(frozen=True)
class Way:
    """How a search of ordered arms goes ahead, in pulls of one arm, and how many of one are weighed first."""

    steps: tuple[int, ...]
    stops: int = 0  # none: there is no long way to go
    settled: float = 0.0  # gain of these up to which nothing is searched

    @property
    def depth(self) -> int:
        """How many pulls it looks ahead."""
        return sum(self.steps)


@lru_cache(maxsize=1 << 12)
def way_ahead(arms: int, effort: int, left: int | None, far: int = FAR) -> Way:
    """Return the way that the effort allows; `far` times as much if it is long, by steps that grow.

    Beyond what is known of the optimum a decision is quicker: there are many.
    """
    depth = depth_of(arms, effort, left)
    if not is_long_way(depth, left):
        return Way(singles(depth))
    most = FARTHEST if left is None else min(left, FARTHEST)
    if left is not None and left > KNOWN_WAY * depth:
        more = max(1, far // FAR)
        return Way(steps_within(arms, more * effort, most), most_stops(depth, left), QUICK)
    return Way(steps_within(arms, far * effort, most), most_stops(depth, left, LONG_PATIENCE), SETTLED)


def searches_free(arms: int, effort: int, left: int) -> bool:
    """Return whether a search of independent arms is nearer the optimum than their index.

    By exact evaluation (docs/planning.md): 3, 5, 10, 20 pulls ahead are, up to about 20, 40, 130, 300 pulls.
    """
    depth = depth_of(arms, effort, left)
    return arms <= MOST_FREE and left <= min(depth, TRUSTED) * depth


def is_long_way(depth: int, left: int | None) -> bool:
    """Return whether many more pulls are left than a search of this depth sees."""
    return left is None or left > LONG_WAY * depth
