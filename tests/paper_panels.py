"""Where the panels of the largest reward begin and end, with lists and sets."""

from __future__ import annotations

import math
from itertools import pairwise

_MARKERS = 8  # arms whose ranges are marked
_MARKS = (0.0, 1 / 3, 0.5, 2 / 3, 1.0)
_TURN = 0.0  # value of u from which on nodes may be placed in v
_MOST_EDGES = 4000

Range = tuple[
    float, float, float
]  # of an arm: its reward, and the logits between which it has its probability
Panel = tuple[float, float, float, bool]  # ends in u, the reward h, and whether nodes are placed in v


def lay_panels(
    ranges: list[Range], cuts: set[float], rough: set[float], floor: tuple[float, float], top: float
) -> list[Panel]:
    """Return panels of u = logit(v/h) from `floor` (a reward and the logit of v over it) up.

    They end at the rewards `cuts` and `top`. Near a cut nodes are placed in v, unless it is `rough`: an arm's
    density is no smooth function of v there.
    """
    marks = _marks(ranges)
    panels: list[Panel] = []
    for h in sorted(cuts | {top}):
        begin, end = _moved(*floor, h), max(high for reward, _, high in ranges if reward == h)
        if not begin < end:
            continue
        turn = end if h in rough else min(max(begin, _TURN), end)
        moved = sorted((_moved(reward, logit, h), reward) for reward, logit in marks)
        bent = _graded(begin, [u for u, _ in moved if begin < u < turn], turn) if begin < turn else [begin]
        straight = [turn, *(u for u, reward in moved if turn < u < end and reward != h), end]
        panels += [(a, b, h, False) for a, b in pairwise(bent)]
        panels += [(a, b, h, True) for a, b in pairwise(straight) if turn < end]
        floor = (h, end)
    return panels


def _marks(ranges: list[Range]) -> list[tuple[float, float]]:
    """Return rewards and logits of points between which no arm changes much.

    The arms that are likeliest to be best mark their ranges, except where another one's are finer.
    """
    arms = sorted(ranges, key=lambda one: -_log_reward(one[0], 0.5 * (one[1] + one[2])))[:_MARKERS]
    marks = []
    for j, (r, low, high) in enumerate(arms):
        for share in _MARKS:
            logit, width = low + share * (high - low), high - low
            for i, (r_i, low_i, high_i) in enumerate(arms):
                if i == j or not low_i < _moved(r, logit, r_i) < high_i:
                    continue
                if width * _speed(r, logit, r_i) > (high_i - low_i) * (1 + (1e-9 if i > j else -1e-9)):
                    break  # the other one's is finer
            else:
                marks.append((r, logit))
    return marks


def _graded(begin: float, marks: list[float], end: float) -> list[float]:
    """Return edges at the marks, and more where the poles at ±πi of the logistic function ask for it."""
    edges = [begin]
    for mark in [*marks, end]:
        gap = mark - edges[-1]
        if mark < end and gap < 1e-12 * (1 + abs(mark)):
            continue
        while gap > 1.3 * (widest := max(4.0, 0.6 * abs(edges[-1]))) and len(edges) < _MOST_EDGES:
            edges.append(edges[-1] + widest)
            gap = mark - edges[-1]
        edges.append(mark)
    return edges


def _log_reward(reward: float, logit: float) -> float:
    """Return log v where the logit of v/`reward` is `logit`."""
    return math.log(reward) + min(logit, 0.0) - math.log1p(math.exp(-abs(logit)))


def _moved(reward: float, logit: float, other: float) -> float:
    """Return the logit of v/`other` where that of v/`reward` is `logit`; infinite above `other`."""
    if reward == other:
        return logit
    small = math.exp(-abs(logit))
    gap = (other - reward) + reward * (small if logit > 0 else 1.0) / (1 + small)
    if gap <= 0:
        return math.inf
    return math.log(reward / gap) + min(logit, 0.0) - math.log1p(small)


def _speed(reward: float, logit: float, other: float) -> float:
    """Return how fast the logit of v/`other` changes with that of v/`reward`, below both."""
    if reward == other:
        return 1.0
    small = math.exp(-abs(logit))
    rest = (small if logit > 0 else 1.0) / (1 + small)
    return rest * other / ((other - reward) + reward * rest)
