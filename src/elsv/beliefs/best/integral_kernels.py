"""Which arms can have the largest reward, its panels to begin with, and what the densities there come to."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsv._base.jit import helper, kernel, merged
from elsv._base.typing import AnyArray, FloatArray, IntArray

SAFETY = 0.02  # measured: what the square of the last coefficients is at most, against the error of a rule
_SMOOTH = 4.0  # powers of a distance that a rule takes for smooth
_ROOM = 256  # panels to begin with that there is room for at first
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


class Field(NamedTuple):
    """The arms that can be best, and the panels to begin with."""

    alive: IntArray  # [C], their numbers
    unit: float  # the largest reward
    rewards: FloatArray  # [C], relative to that
    high: FloatArray  # [C], logits below which nearly all of an arm's probability lies
    cut: AnyArray  # [C], whether an arm has a cut of its own at its reward
    panels: FloatArray  # [4, P + 1], as `lay_panels` sets them
    limit: FloatArray  # [P + 1, C], logits of the arms at the ends of panels; empty if there are none


class Spans(NamedTuple):
    """Panels of u."""

    left: FloatArray  # [P]
    right: FloatArray  # [P]
    reward: FloatArray  # [P], h
    before: FloatArray  # [P], G at the left end
    after: FloatArray  # [P], G at the right end
    straight: AnyArray  # [P], true where nodes are placed in v and not in u


class Rule(NamedTuple):
    """Gauss–Legendre nodes on a panel, and how exactly the largest reward is to be known."""

    nodes: FloatArray  # [K]
    weights: FloatArray  # [K]
    last: FloatArray  # [2, K], the last two Legendre coefficients of what the nodes show
    tolerance: float  # error that is aimed for
    enough: float  # error of all panels together at which none is refined any more
    budget: float  # probability of panels that are left out at once


@kernel
def spread(
    spans: Spans, t: FloatArray, rewards: FloatArray, cut: AnyArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return, for t in [-1, 1] on every panel, v and the logits of v/r_j and their derivatives by t.

    Shapes are ``[P K]`` and ``[P K, C]``. An arm that has a cut of its own at r_j lies below any larger v.
    """
    left, right, reward, points = spans.left, spans.right, spans.reward, len(t)
    v = np.empty(len(left) * points)
    limit, rate = np.empty((len(v), len(rewards))), np.empty((len(v), len(rewards)))
    for p in range(len(left)):
        half, h = 0.5 * (right[p] - left[p]), reward[p]
        far, near = 1 / (1 + math.exp(min(left[p], 700.0))), 1 / (1 + math.exp(min(right[p], 700.0)))
        for k in range(points):
            n = p * points + k
            if spans.straight[p]:
                rest = 0.5 * ((far + near) + (near - far) * t[k])  # 1 - v/h
                u = math.log1p(-rest) - math.log(rest)
                per_t = 0.5 * (far - near) / (rest * (1 - rest))
            else:
                u, per_t = 0.5 * (left[p] + right[p]) + half * t[k], half
            small = math.exp(-abs(u))
            rest = (small if u > 0 else 1.0) / (1 + small)
            log_share = min(u, 0.0) - math.log1p(small)
            v[n] = h * math.exp(log_share)
            for j in range(len(rewards)):
                gap = 0.0 if cut[j] and rewards[j] < h else (rewards[j] - h) + h * rest
                if rewards[j] == h:
                    limit[n, j], rate[n, j] = u, per_t
                elif gap > 0:
                    limit[n, j] = math.log(h / gap) + log_share
                    rate[n, j] = per_t * rest * rewards[j] / gap
                else:
                    limit[n, j], rate[n, j] = np.inf, 0.0
    return v, limit, rate


@kernel
def collect(
    density: FloatArray, rate: FloatArray, v: FloatArray, spans: Spans, rule: Rule
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return every panel's part of P(best) ``[P, C]`` and of E[max] ``[P]``, and its error ``[P]``.

    `density` and `rate` are ``[P K, C]``.
    """
    weights, last = rule.weights, rule.last
    size, points, count = density.shape[1], len(weights), len(spans.left)
    chance, worth, error = np.zeros((count, size)), np.zeros(count), np.zeros(count)
    for p in range(count):
        mass = spans.after[p] - spans.before[p]  # what G grows by
        mass = 0.0 if mass < 0 else mass
        total, rough = 0.0, 0.0
        for j in range(size):
            peak, first, second = 1e-300, 0.0, 0.0
            for k in range(points):
                n = p * points + k
                value = density[n, j] * rate[n, j]
                chance[p, j] += weights[k] * value
                worth[p] += weights[k] * value * v[n]
                first += last[0, k] * value
                second += last[1, k] * value
                peak = max(peak, value)
            total += chance[p, j]
            share = min(0.5 * (abs(first) + abs(second)) / peak, 1.0)
            rough += peak * share * share
        error[p] = max(abs(total - mass), SAFETY * rough)
        if total > 0:
            factor = mass / total
            worth[p] *= factor
            for j in range(size):
                chance[p, j] *= factor
    return chance, worth, error


@kernel
def beyond(values: FloatArray, budget: float) -> AnyArray:
    """Return which `values` remain when the smallest are left out that come to `budget` together."""
    rank, gap = np.arange(len(values)), len(values)
    while gap > 1:  # Shell's sort: NumPy's takes a second to compile
        gap = 1 if gap < 5 else 5 * gap // 11
        for k in range(gap, len(rank)):
            mine, place = rank[k], k
            while place >= gap and values[rank[place - gap]] > values[mine]:
                rank[place] = rank[place - gap]
                place -= gap
            rank[place] = mine
    out, total = np.empty(len(values), np.bool_), 0.0
    for k in range(len(rank)):
        total += values[rank[k]]
        out[rank[k]] = total > budget
    return out


@kernel
def open_field(rewards: FloatArray, low: FloatArray, high: FloatArray, power: FloatArray) -> Field:
    """Return who can be best and the panels to begin with.

    Nearly all of an arm's probability lies between the logits `low` and `high`. Near a mean of 1 its density
    is like 1 - x to the `power`, less one. All are ``[A]``.
    """
    unit = 0.0
    for reward in rewards:
        unit = max(unit, reward)
    relative, numbers = np.empty(len(rewards)), np.empty(len(rewards), np.int64)
    for j in range(len(rewards)):
        relative[j] = rewards[j] / unit
    count, floor, top = contend(relative, low, high, numbers)
    alive, cut, rough = np.empty(count, np.int64), np.empty(count, np.bool_), np.empty(count, np.bool_)
    pays, lowest, highest = np.empty(count), np.empty(count), np.empty(count)
    for c in range(count):
        j = numbers[c]
        alive[c], pays[c], lowest[c], highest[c] = j, relative[j], low[j], high[j]
        cut[c] = high[j] > NEAR_ONE and relative[j] < top
        rough[c] = power[j] != np.rint(power[j]) and power[j] < _SMOOTH
    start = relative[floor], low[floor], top
    panels = np.empty((4, _ROOM))
    used = lay_panels(pays, lowest, highest, cut, rough, *start, panels)
    if used >= _ROOM:
        panels = np.empty((4, used + 1))
        lay_panels(pays, lowest, highest, cut, rough, *start, panels)
    ends = used + 1 if used else 0
    own = np.empty((4, used + 1))
    for k in range(used + 1):
        for row in range(4):
            own[row, k] = panels[row, k]
    # A panel begins where the one before it ends, if in another u.
    u, h = own[0][:ends], own[2][:ends]
    limit = spread(Spans(u, u, h, u, u, np.zeros(ends, np.bool_)), np.zeros(1), pays, cut)[1]
    return Field(alive, unit, pays, highest, cut, own, limit)


@kernel
def first_nodes(
    field: Field, below: FloatArray, rule: Rule
) -> tuple[Spans, FloatArray, FloatArray, FloatArray]:
    """Return the panels to begin with that matter, and what `spread` gives at their nodes.

    `below` is G at the ends of all panels, ``[P + 1]``.
    """
    mass, count = np.empty(max(len(below) - 1, 0)), 0
    for p in range(len(mass)):
        mass[p] = below[p + 1] - below[p]
    chosen = beyond(mass, rule.budget)
    for one in chosen:
        count += one
    left, right, reward = np.empty(count), np.empty(count), np.empty(count)
    before, after, straight = np.empty(count), np.empty(count), np.empty(count, np.bool_)
    k = 0
    for p in range(len(chosen)):
        if chosen[p]:
            left[k], right[k], reward[k] = field.panels[0, p], field.panels[1, p], field.panels[2, p]
            before[k], after[k], straight[k] = below[p], below[p + 1], field.panels[3, p] > 0
            k += 1
    spans = Spans(left, right, reward, before, after, straight)
    v, limit, rate = spread(spans, rule.nodes, field.rewards, field.cut)
    return spans, v, limit, rate
