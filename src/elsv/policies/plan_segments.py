r"""What `Plan` does where customers come from segments.

The search averages over who comes (`elsv.search.segment_search`); its candidates are the best arm of every
segment and those most worth many pulls. With a long way to go it also weighs one arm for many customers of
its segment. Independent arms tell nothing of one another: every segment is a problem of its own with the
customers that it may expect, :math:`1 + (R - 1) q_g` of the R that are left, and where a search is too short
the finite-horizon Gittins index decides; for a discount the Gittins index, the discount from one customer of
the segment to the next being :math:`q_g\gamma/(1 - (1 - q_g)\gamma)`.
"""

from __future__ import annotations

import numpy as np

from elsv._base.typing import FloatArray, IntArray
from elsv.indices.base import Index, Setting
from elsv.indices.finite_gittins import FiniteGittins
from elsv.indices.gittins import Gittins
from elsv.policies.plan_rules import (
    STALLED,
    depth_of,
    is_long_way,
    most_stops,
    searches_free,
    undecided_in_groups,
)
from elsv.problem import Problem
from elsv.search.segment_search import SegmentSearch
from elsv.segments import Segments
from elsv.state import State

MOST_CANDIDATES = 6  # of all segments together
WORTHWHILE = 1e-3  # gain over committing that makes many pulls of one arm worth it where a search gains none


def states_in_segments(effort: int) -> int:
    """Return how many states a search expands: with more arms to pull it is points that count."""
    return max(1, effort // 8)


def points_in_segments(points: int) -> int:
    """Return how many points are asked for: 512 of 768, for evenly spread ones come in powers of two."""
    return max(1, 2 * points // 3)


def free_in_segments(problem: Problem, state: State, left: float) -> FloatArray:
    """Return reward times index ``[B, N]`` of independent arms, each by the customers of its own segment."""
    segments, setting = _segments(problem), Setting.of(problem)
    q, coming = np.empty(state.alpha.shape), segments.chances_in(state, problem)
    at_first = segments.chances(np.zeros(problem.arms))
    for g, arms in enumerate(segments.groups):
        own = np.array(arms)
        if problem.discount is not None:
            share, gamma = float(at_first[g]), problem.discount
            index: Index = Gittins(share * gamma / (1.0 - (1.0 - share) * gamma))
            q[:, own] = index(state.alpha, state.beta, 1, setting)[:, own]
            continue
        expected = np.rint(1.0 + (left - 1.0) * coming[:, g]).astype(np.int64)
        for customers in np.unique(expected):
            rows = np.flatnonzero(expected == customers)
            step = problem.steps - int(customers) + 1
            found = FiniteGittins()(state.alpha[rows], state.beta[rows], step, setting)
            q[np.ix_(rows, own)] = found[:, own]
    return problem.rewards * q


def searches_free_segments(problem: Problem, effort: int, left: float) -> bool:
    """Return whether a search of independent arms in segments is nearer the optimum than their indices."""
    few = problem.horizon is not None and problem.arms <= MOST_CANDIDATES
    return few and searches_free(problem.arms, states_in_segments(effort), round(left))


def plan_in_segments(
    search: SegmentSearch,
    states: int,
    state: State,
    left: float,
    mean: FloatArray,
    variance: FloatArray,
) -> FloatArray:
    """Return q ``[B, N]`` of roots ``[B, N]``, each arm given that its segment has come.

    The search expands up to so many `states`; `left` customers are left with the one who is here; `mean` and
    `variance` ``[B, N]`` are those of the belief.
    """
    problem, segments = search.problem, search.segments
    worth, coming = problem.rewards * mean, search.coming(state)
    committed = search.committed(worth, coming, left)
    best = np.stack([worth[:, list(arms)].max(axis=1) for arms in segments.groups], axis=1)
    # A pull from which nothing is learnt: the search can only find more.
    q = np.asarray(worth + (committed - best)[:, segments.of_arm])
    here = np.flatnonzero(undecided_in_groups(worth, problem.rewards * np.sqrt(variance), segments.groups))
    if len(here):
        roots = State.trusted(state.alpha[here], state.beta[here])
        q[here] = _searched(search, states, roots, worth[here], q[here], committed[here], left)
    return q


def _searched(
    search: SegmentSearch,
    states: int,
    roots: State,
    worth: FloatArray,
    q: FloatArray,
    committed: FloatArray,
    left: float,
) -> FloatArray:
    """Return q with what a search finds for the candidates."""
    problem, segments = search.problem, search.segments
    count = min(problem.arms, max(MOST_CANDIDATES, segments.count + 1))
    pulls = None if problem.horizon is None else round(left)
    depth = depth_of(count, states, pulls)
    chosen: IntArray = np.broadcast_to(np.arange(problem.arms), q.shape)
    long_way = is_long_way(depth, pulls)
    stops = q
    if problem.arms > count or long_way:
        stops = search.stops(roots, worth, most_stops(depth, pulls), left)
    if problem.arms > count:
        chosen = _candidates(segments, worth, stops - committed[:, segments.of_arm], count)
    q = q.copy()
    np.put_along_axis(q, chosen, search.ahead(roots, worth, chosen, depth, left), axis=1)
    return _preferred(segments, q, stops, committed) if long_way else q


def _segments(problem: Problem) -> Segments:
    return problem.segments


def _candidates(segments: Segments, worth: FloatArray, gain: FloatArray, count: int) -> IntArray:
    """Return `count` arms ``[B, C]`` in their order: the best of each segment, and those that gain most."""
    score = gain.copy()
    for arms in segments.groups:
        own = np.array(arms)
        score[np.arange(len(worth)), own[worth[:, own].argmax(axis=1)]] = np.inf
    return np.sort(np.argsort(-score, axis=1, kind="stable")[:, :count], axis=1)


def _preferred(segments: Segments, ahead: FloatArray, stops: FloatArray, committed: FloatArray) -> FloatArray:
    """Return `stops` ``[B, N]`` for a segment where `ahead` gains nothing over committing and it does."""
    out = ahead.copy()
    for g, arms in enumerate(segments.groups):
        own, sure = list(arms), committed[:, g]
        stalled = ahead[:, own].max(axis=1) - sure <= STALLED * sure
        worthwhile = stops[:, own].max(axis=1) - sure > WORTHWHILE * sure
        out[:, own] = np.where((stalled & worthwhile)[:, None], stops[:, own], ahead[:, own])
    return out
