"""The rules of `Plan`: how far it searches, among which arms, and when many pulls of one arm decide.

All forms of the policy use them: a single decision, batches and whole layers. Scores have the arms last. A
gain is measured against committing at once, whose worth is known for each segment.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.beliefs.base import Belief
from elsv.beliefs.points import most_points
from elsv.lattice.numbering import layer_size
from elsv.lattice.small import depth_within, singles, steps_within
from elsv.segments import Segments

EFFORT = 1 << 16
POINTS = 768
FAR = 3  # how many times as many states a search under a structure expands
FIRST = 40  # and how many times as many of these for the first decision, which is known beforehand
FARTHEST = 51  # pulls that it looks ahead: up to there points of the belief are exact to 3e-7
PATIENCE = 90  # pulls of one arm that are weighed: 45 lose 0.5 % at T = 290, 135 win 0.05 %
OUTWEIGH = 4.0  # how many times as much as a search they must gain to decide
MOST_CANDIDATES = 3  # four and five cost three times as much and won nothing that was seen
RECOVERED = 0.5  # part of a pull's cost that an arm must win back to be searched; 0.5 to 0.97 lose nothing
ALIKE = 3.0  # standard deviations within which an arm may still turn out to be the best
EQUAL = 1e-6  # part of what committing is worth that seven digits may be off by
LEAST_POINTS = 192  # of one of several searches that share points: Gauss rules of 7, 5 and 5
CLEAR = 2.0  # how many times as large as its error a lead must be, where points are draws
DRAWN = 6  # part of the states that is expanded on draws: they are no products, as the points of an order are
MOST_OF_SEGMENTS = 6  # candidates of all segments together, where there are several
DEEPEST = 40  # pulls that a search of independent arms, or of segments, looks ahead
LONG_WAY = 5  # with segments, how many times as many pulls must be left to weigh many pulls of one arm
LONG_PATIENCE = 3  # and how many times as many of them are weighed as are searched
WORTHWHILE = 1e-3  # and what they must find beyond the search, in parts of what committing is worth
MOST_FREE = 10  # independent arms that are all searched
TRUSTED = 10  # they are with at most min(d, this) times d pulls left
ENDLESS = 1 << 62  # pulls left with a discount
CROWDED = 8  # a search has this part of its states while too much is under way to be told apart


def candidate_count(segments: Segments) -> int:
    """Return among how many arms a search chooses, if there are so many: one of each segment, and more."""
    most = MOST_CANDIDATES if segments.count == 1 else max(MOST_OF_SEGMENTS, segments.count + 1)
    return min(len(segments.of_arm), most)


def states_of(segments: Segments, effort: int, belief: Belief | None = None) -> int:
    """Return how many states a search expands: with more candidates, or draws, it is points that count."""
    if segments.count > 1:
        return max(1, effort // 8)
    return effort if belief is None or most_points(belief) is None else max(1, effort // DRAWN)


def shared_points(points: int, searches: int) -> int:
    """Return how many points each of several searches asks for, which are averaged."""
    return max(points // searches, min(points, LEAST_POINTS))


def stands(segments: Segments, found: FloatArray, finer: FloatArray, committed: FloatArray) -> AnyArray:
    """Return where ``[B]`` scores ``[B, N]`` of half as many draws leave no doubt of the best arm.

    Its lead by the `finer` scores is twice as large as what the draws changed, or nothing is at stake.
    """
    sure, rows = np.ones(len(found), dtype=bool), np.arange(len(found))
    for g, arms in enumerate(segments.places):
        best = finer[:, arms].argmax(axis=1)
        behind, before = (q[:, arms] - q[:, arms][rows, best][:, None] for q in (finer, found))
        doubt = np.abs(behind - before)
        lead = np.where(np.arange(doubt.shape[1]) == best[:, None], np.inf, -behind)
        sure &= (lead > CLEAR * doubt).all(axis=1) | (doubt.max(axis=1) < EQUAL * committed[:, g])
    return sure


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


def unsettled(segments: Segments, stops: FloatArray, committed: FloatArray, worth: FloatArray) -> AnyArray:
    """Return where ``[...]`` many pulls of an arm win back a part of what one pull of it costs.

    `stops` and `worth`, the expected reward of a pull, are ``[..., N]``, `committed` is ``[..., G]``.
    """
    if segments.count > 1:
        return np.ones(stops.shape[:-1], dtype=bool)
    cost = worth.max(axis=-1, keepdims=True) - worth
    return np.asarray((stops - committed > -RECOVERED * cost + EQUAL * committed).any(axis=-1))


def prefer(segments: Segments, ahead: FloatArray, stops: FloatArray, committed: FloatArray) -> FloatArray:
    """Return `ahead` ``[..., N]``, or `stops` for a segment where they gain `OUTWEIGH` times as much."""
    out, least = ahead.copy(), EQUAL if segments.count == 1 else WORTHWHILE
    for g, arms in enumerate(segments.places):
        sure = committed[..., g]
        few, many = (np.maximum(q[..., arms].max(axis=-1) - sure, 0.0) for q in (ahead, stops))
        out[..., arms] = np.where(
            (many > OUTWEIGH * few + least * sure)[..., None], stops[..., arms], ahead[..., arms]
        )
    return out


@dataclass(frozen=True)
class Way:
    """How a search goes ahead, in pulls of one arm, and how many of one are weighed besides."""

    steps: tuple[int, ...]
    stops: int = 0  # none: the search sees all that is left

    @property
    def depth(self) -> int:
        """How many pulls it looks ahead."""
        return sum(self.steps)

    def states(self, arms: int) -> int:
        """Return how many states a search of so many arms goes through, one layer past its frontier too."""
        return sum(layer_size(arms, made) for made in (*accumulate(self.steps), self.depth + 1))


def way_ahead(arms: int, states: int, left: int, far: int = FAR, segments: int = 1) -> Way:
    """Return the way that `far` times so many states allow: as near the end as they reach.

    A step is a row of pulls of one arm, which takes customers of one segment: with several there are none.
    """
    if segments > 1:
        depth = depth_of(arms, states, left)
        return Way(singles(depth), min(left, LONG_PATIENCE * depth) if left > LONG_WAY * depth else 0)
    steps = steps_within(arms, far * states, max(1, min(left - 1, FARTHEST)))
    exact = sum(steps) >= left - 1 and max(steps) == 1
    return Way(steps, 0 if exact else min(left, PATIENCE))


def depth_of(arms: int, states: int, left: int) -> int:
    """Return how many pulls of `arms` arms so many states allow to look ahead; at least 1."""
    return depth_within(arms, states, min(left, DEEPEST))


def searches_free(arms: int, states: int, left: int) -> bool:
    """Return whether a search of independent arms is nearer the optimum than their index.

    By exact evaluation (docs/planning.md): 3, 5, 10, 20 pulls ahead are, up to about 20, 40, 130, 300 pulls.
    """
    depth = depth_of(arms, states, left)
    return arms <= MOST_FREE and left <= min(depth, TRUSTED) * depth
