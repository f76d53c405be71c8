"""Which arms can have the largest reward, and where its panels begin and end before any is integrated."""

from __future__ import annotations

import math

import numpy as np

from elsv._base.jit import helper, kernel, merged
from elsv._base.typing import AnyArray, FloatArray, IntArray

NEAR_ONE = 5.0  # logit above which the end of an arm's range is a cut of its own
_MARKERS = 8  # arms whose ranges are marked
_MARKS = (0.0, 1 / 3, 0.5, 2 / 3, 1.0)
_TURN = 0.0  # value of u from which on nodes may be placed in v
_MOST_EDGES = 4000


@helper
def _log_reward(reward: float, logit: float) -> float:
    """Return log v where the logit of v/`reward` is `logit`."""
    return math.log(reward) + min(logit, 0.0) - math.log1p(math.exp(-abs(logit)))


@helper
def _moved(reward: float, logit: float, other: float) -> float:
    """Return the logit of v/`other` where that of v/`reward` is `logit`; infinite above `other`."""
    if reward == other:
        return logit
    small = math.exp(-abs(logit))
    gap = (other - reward) + reward * (small if logit > 0 else 1.0) / (1 + small)
    if gap <= 0:
        return np.inf
    return math.log(reward / gap) + min(logit, 0.0) - math.log1p(small)


@helper
def _speed(reward: float, logit: float, other: float) -> float:
    """Return how fast the logit of v/`other` changes with that of v/`reward`, below both."""
    if reward == other:
        return 1.0
    small = math.exp(-abs(logit))
    rest = (small if logit > 0 else 1.0) / (1 + small)
    return rest * other / ((other - reward) + reward * rest)


@merged
def contend(
    rewards: FloatArray, low: FloatArray, high: FloatArray, alive: IntArray
) -> tuple[int, int, float]:
    """Set the arms that can be best; return how many, which has the highest lower end, and where v ends."""
    floor, lowest, highest = 0, -np.inf, -np.inf
    for j in range(len(rewards)):
        down = _log_reward(rewards[j], low[j])
        if down > lowest:
            floor, lowest = j, down
        highest = max(highest, _log_reward(rewards[j], high[j]))
    top, count = 0.0, 0
    for j in range(len(rewards)):
        up = _log_reward(rewards[j], high[j])
        if up == highest:
            top = max(top, rewards[j])
        if up >= lowest:
            alive[count] = j
            count += 1
    return count, floor, top


@merged
def _mark(rewards: FloatArray, low: FloatArray, high: FloatArray, marks: FloatArray) -> int:
    """Set rewards and logits of points between which no arm changes much; return how many.

    The arms that are likeliest to be best mark their ranges, except where another one's are finer.
    """
    arms, worth = np.empty(len(rewards), np.int64), np.empty(len(rewards))
    for j in range(len(rewards)):
        mine, k = _log_reward(rewards[j], 0.5 * (low[j] + high[j])), j
        while k > 0 and worth[k - 1] < mine:
            arms[k], worth[k] = arms[k - 1], worth[k - 1]
            k -= 1
        arms[k], worth[k] = j, mine
    size, count = min(len(rewards), _MARKERS), 0
    for j in range(size):
        r, width = rewards[arms[j]], high[arms[j]] - low[arms[j]]
        for share in _MARKS:
            logit, coarse = low[arms[j]] + share * width, False
            for i in range(size):
                r_i, low_i, high_i = rewards[arms[i]], low[arms[i]], high[arms[i]]
                if i == j or not low_i < _moved(r, logit, r_i) < high_i:
                    continue
                slack = 1e-9 if i > j else -1e-9
                if width * _speed(r, logit, r_i) > (high_i - low_i) * (1 + slack):
                    coarse = True  # the other one's is finer
                    break
            if not coarse:
                marks[0, count], marks[1, count] = r, logit
                count += 1
    return count


@merged
def _move(marks: FloatArray, count: int, h: float, moved: FloatArray) -> None:
    """Set the logits of v/`h` at the marks, in their order, and whose marks they are."""
    for m in range(count):
        u, reward, k = _moved(marks[0, m], marks[1, m], h), marks[0, m], m
        while k > 0 and (moved[0, k - 1] > u or (moved[0, k - 1] == u and moved[1, k - 1] > reward)):
            moved[0, k], moved[1, k] = moved[0, k - 1], moved[1, k - 1]
            k -= 1
        moved[0, k], moved[1, k] = u, reward


@helper
def _add(panels: FloatArray, used: int, left: float, right: float, h: float, straight: float) -> int:
    """Set one more panel if there is room for it, and its right end behind it."""
    if used + 1 < panels.shape[1]:
        panels[0, used], panels[1, used], panels[2, used], panels[3, used] = left, right, h, straight
        panels[0, used + 1], panels[2, used + 1] = right, h
    return used + 1


@kernel
def lay_panels(
    rewards: FloatArray,
    low: FloatArray,
    high: FloatArray,
    cut: AnyArray,
    rough: AnyArray,
    floor_reward: float,
    floor: float,
    top: float,
    panels: FloatArray,
) -> int:
    """Set panels of u = logit(v/h) from `floor` (the logit of v over a reward) up; return how many.

    Rows of `panels` ``[4, room]`` are both ends in u, h, and whether nodes are placed in v; behind the last
    panel stand its right end and h. Only what there is room for is set.

    They end at the rewards that are `cut`, and at `top`. Near a cut nodes are placed in v, unless it is
    `rough`: an arm's density is no smooth function of v there. Before it there are edges at the marks, and
    more where the poles at ±πi of the logistic function ask for it.
    """
    marks = np.empty((2, _MARKERS * len(_MARKS)))
    moved = np.empty_like(marks)
    marked = _mark(rewards, low, high, marks)
    used, h = 0, 0.0
    while h < top:
        below, h = h, top
        for j in range(len(rewards)):
            if cut[j] and below < rewards[j] < h:
                h = rewards[j]
        begin, end, is_rough = _moved(floor_reward, floor, h), -np.inf, False
        for j in range(len(rewards)):
            if rewards[j] == h:
                end = max(end, high[j])
                is_rough = is_rough or rough[j]
        if not begin < end:
            continue
        turn = end if is_rough else min(max(begin, _TURN), end)
        _move(marks, marked, h, moved)
        edge, edges = begin, 1
        for m in range(marked + 1):
            if begin >= turn:
                break
            mark = moved[0, m] if m < marked else turn
            if m < marked and not begin < mark < turn:
                continue
            gap = mark - edge
            if mark < turn and gap < 1e-12 * (1 + abs(mark)):
                continue
            widest = max(4.0, 0.6 * abs(edge))
            while gap > 1.3 * widest and edges < _MOST_EDGES:
                used = _add(panels, used, edge, edge + widest, h, 0.0)
                edge += widest
                edges += 1
                gap, widest = mark - edge, max(4.0, 0.6 * abs(edge))
            used = _add(panels, used, edge, mark, h, 0.0)
            edge = mark
            edges += 1
        if turn < end:
            edge = turn
            for m in range(marked):
                if turn < moved[0, m] < end and moved[1, m] != h:
                    used = _add(panels, used, edge, moved[0, m], h, 1.0)
                    edge = moved[0, m]
            used = _add(panels, used, edge, end, h, 1.0)
        floor_reward, floor = h, end
    return used
