"""The rules of `Plan`: how far it searches, among which arms, and when many pulls of one arm decide.

All forms of the policy use them: a single decision, batches and whole layers. Scores have the arms last. A
gain is measured against committing at once, whose worth is known for each segment.

With a long way to go, many pulls of one arm are weighed first. Where they gain nothing, all is settled and
the best arm is pulled. So a search may take longer where they do: it goes farther ahead by steps that grow,
since what is done far ahead need not be decided pull by pull.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.lattice.small import depth_within, singles, steps_within
from elsv.segments import Segments

EFFORT = 1 << 16
POINTS = 768
MOST_CANDIDATES = 3
MOST_OF_SEGMENTS = 6  # candidates of all segments together, where there are several
DEEPEST = 40  # pulls that a search looks ahead
FAR = 3  # how many times as many states are expanded with a long way to go
FARTHEST = 51  # pulls that such a search looks ahead: up to there points of the belief are exact to 3e-7
PATIENCE = 3  # how many times as many pulls of a single arm are weighed
LONG_PATIENCE = 6  # the same with a long way to go
LONG_WAY = 5  # how many times as many pulls must be left for a long way to go
MOST_FREE = 10  # independent arms that are all searched
TRUSTED = 10  # they are with at most min(d, this) times d pulls left
STALLED = 1e-6  # gain over committing at once, relative to it, that is as good as none
WORTHWHILE = 1e-4  # such a gain that makes many pulls of one arm worth it where a search gains none
WORTHWHILE_IN_SEGMENTS = 1e-3  # the same with several segments
SETTLED = 3e-5  # such a gain of many pulls of one arm up to which, with a long way to go, nothing is searched
ALIKE = 3.0  # standard deviations within which an arm may still turn out to be the best


def candidate_count(segments: Segments) -> int:
    """Return among how many arms a search chooses, if there are so many: one of each segment, and more."""
    most = MOST_CANDIDATES if segments.count == 1 else max(MOST_OF_SEGMENTS, segments.count + 1)
    return min(len(segments.of_arm), most)


def states_of(segments: Segments, effort: int) -> int:
    """Return how many states a search expands: with more candidates it is points that count."""
    return effort if segments.count == 1 else max(1, effort // 8)


def points_of(segments: Segments, points: int) -> int:
    """Return how many points it asks for: 512 of 768, for evenly spread ones come in powers of two."""
    return points if segments.count == 1 else max(1, 2 * points // 3)


def undecided(segments: Segments, worth: FloatArray, spread: FloatArray) -> AnyArray:
    """Return in which of the states ``[B]`` `ALIKE` standard deviations lift another arm to the best."""
    found = np.zeros(len(worth), dtype=bool)
    for arms in segments.places:
        own = worth[:, arms]
        hopeful = own + ALIKE * spread[:, arms] >= own.max(axis=1, keepdims=True)
        found |= hopeful.sum(axis=1) > 1
    return found


def candidates(segments: Segments, worth: FloatArray, gain: FloatArray, count: int) -> IntArray:
    """Return `count` arms ``[B, C]`` in their order: the best of each segment, and those that gain most."""
    score, rows = gain.copy(), np.arange(len(worth))
    for arms in segments.groups:
        own = np.array(arms)
        score[rows, own[worth[:, own].argmax(axis=1)]] = np.inf
    return np.sort(np.argsort(-score, axis=1, kind="stable")[:, :count], axis=1)


def unsettled(segments: Segments, stops: FloatArray, committed: FloatArray) -> AnyArray:
    """Return where ``[...]`` many pulls of an arm ``[..., N]`` gain over `committed` ``[..., G]``."""
    if segments.count > 1:
        return np.ones(stops.shape[:-1], dtype=bool)
    return np.asarray(stops.max(axis=-1) - committed[..., 0] > SETTLED * committed[..., 0])


def prefer(segments: Segments, ahead: FloatArray, stops: FloatArray, committed: FloatArray) -> FloatArray:
    """Return `stops` ``[..., N]`` for a segment where `ahead` gains nothing over `committed` and they do."""
    out, least = ahead.copy(), WORTHWHILE if segments.count == 1 else WORTHWHILE_IN_SEGMENTS
    for g, arms in enumerate(segments.places):
        sure = committed[..., g]
        stalled = ahead[..., arms].max(axis=-1) - sure <= STALLED * sure
        worthwhile = stops[..., arms].max(axis=-1) - sure > least * sure
        out[..., arms] = np.where((stalled & worthwhile)[..., None], stops[..., arms], ahead[..., arms])
    return out


@dataclass(frozen=True)
class Way:
    """How a search goes ahead, in pulls of one arm, and how many of one are weighed first."""

    steps: tuple[int, ...]
    stops: int = 0  # none: there is no long way to go

    @property
    def depth(self) -> int:
        """How many pulls it looks ahead."""
        return sum(self.steps)


@lru_cache(maxsize=1 << 12)
def way_ahead(arms: int, states: int, left: int | None, far: int = FAR, segments: int = 1) -> Way:
    """Return the way that so many states allow; `far` times as many if it is long, by steps that grow.

    Such a step is a row of pulls of one arm, which takes customers of one segment.
    """
    depth = depth_of(arms, states, left)
    if not is_long_way(depth, left):
        return Way(singles(depth))
    if segments > 1:
        return Way(singles(depth), most_stops(depth, left))
    most = FARTHEST if left is None else min(left, FARTHEST)
    return Way(steps_within(arms, far * states, most), most_stops(depth, left, LONG_PATIENCE))


def most_stops(depth: int, left: int | None, patience: int = PATIENCE) -> int:
    """Return how many pulls of one arm are weighed besides a search of this depth."""
    return patience * depth if left is None else min(patience * depth, left)


def depth_of(arms: int, states: int, left: int | None) -> int:
    """Return how many pulls of `arms` arms so many states allow to look ahead; at least 1."""
    return depth_within(arms, states, DEEPEST if left is None else min(left, DEEPEST))


def searches_free(arms: int, states: int, left: int) -> bool:
    """Return whether a search of independent arms is nearer the optimum than their index.

    By exact evaluation (docs/planning.md): 3, 5, 10, 20 pulls ahead are, up to about 20, 40, 130, 300 pulls.
    """
    depth = depth_of(arms, states, left)
    return arms <= MOST_FREE and left <= min(depth, TRUSTED) * depth


def is_long_way(depth: int, left: int | None) -> bool:
    """Return whether many more pulls are left than a search of this depth sees."""
    return left is None or left > LONG_WAY * depth
