r"""Panels for few arms, placed from left to right in one march.

With :math:`d_j(y) = \log f_j(y) - \max \log f_j`, arm i's log-density is at most, up to a constant,

.. math:: M_i = d_i + \sum_{j > i,\, y < \mathrm{mode}_j} d_j + \sum_{j < i,\, y > \mathrm{mode}_j} d_j,

which is concave. The arm matters where M is within ``cut`` nats of its maximum, and there a panel may span
no more than ``nats`` of it. What the bound leaves out (the number of ways to be in order) grows with the
number of arms, so the caller checks that the densities have died out at the ends of the windows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsv._base.jit import helper, kernel, merged
from elsv._base.typing import FloatArray
from elsv.beliefs.chain import Placed
from elsv.beliefs.chain.messages_kernels import log_complement, probability

WIDEST = 4.0
USUAL = 7.0  # nats for which panels of that width are narrow enough
POLES = 0.63  # power of the nats at which they cost what the nats do
CONFLICT = 8.0  # nats between the data and the order that the march is trusted with


@helper
def left_end(a: float, b: float, peak: float, fall: float) -> float:
    """Return a logit on the left where log f is at least `fall` below its peak, and little more."""
    left, right = (peak - fall) / a, math.log(a / b)
    y = left
    for _ in range(12):
        height = max(peak - a * y - (a + b) * log_complement(y), 0.0)
        if height < fall:
            right = y
        else:
            left = y
            if height < fall + 1:
                break
        rising = a - (a + b) * probability(y)
        # In the root of the fall, which is nearly linear about the peak, Newton needs a step or two.
        step = 2 * math.sqrt(height) * (math.sqrt(height) - math.sqrt(fall + 0.5))
        y = y + step / rising if rising > 0 and step < rising * (right - y) else 0.5 * (left + right)
        if y <= left:
            y = 0.5 * (left + right)
    return left


@helper
def widest(y: float) -> float:
    """Return the largest width of a panel from y that the poles at ±πi of the logistic function allow."""
    return max(WIDEST, 0.6 * abs(y))


@helper
def finer(nats: float) -> float:
    """Return the share of that width for rules finer than the usual one, whatever the nats of a panel."""
    return float(min(1.0, (nats / USUAL) ** POLES))


class Bound(NamedTuple):
    """M of every arm at one logit, and the slopes that limit a panel."""

    height: FloatArray  # [N], d
    bound: FloatArray  # [N], M
    slope: FloatArray  # [N], dM/dy
    steepness: FloatArray  # [N], sum of the absolute slopes of the terms of M


@helper
def new_bound(arms: int) -> Bound:
    """Return room for `arms` arms."""
    return Bound(np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms))


@helper
def evaluate(alpha: FloatArray, beta: FloatArray, peak: FloatArray, y: float, out: Bound) -> float:
    """Fill `out` at the logit y; return x."""
    arms = len(alpha)
    complement = log_complement(y)
    x = probability(y)
    below, rate = 0.0, 0.0
    for i in range(arms - 1, -1, -1):
        n = alpha[i] + beta[i]
        height = min(alpha[i] * y + n * complement - peak[i], 0.0)
        slope = alpha[i] - n * x
        out.height[i] = height
        out.bound[i] = height + below
        out.slope[i] = slope + rate
        out.steepness[i] = abs(slope) + rate
        if slope > 0:
            below += height
            rate += slope
    above, rate = 0.0, 0.0
    for i in range(arms):
        out.bound[i] += above
        out.slope[i] += rate
        out.steepness[i] -= rate
        slope = alpha[i] - (alpha[i] + beta[i]) * x
        if slope < 0:
            above += out.height[i]
            rate += slope
    return x


@merged
def _candidate(
    n: FloatArray, y: float, x: float, here: Bound, threshold: FloatArray, begin: FloatArray, nats: float
) -> float:
    """Return the width of a panel from y as the slopes at y suggest it, or 0 when every arm is done."""
    width = 0.0
    for i in range(len(n)):
        if y < begin[i] - 1e-9 * (1 + abs(y)):
            limit = begin[i] - y
        elif here.bound[i] < threshold[i]:
            if here.slope[i] <= 0:
                continue
            limit = (threshold[i] - here.bound[i] + nats) / here.slope[i]
        else:
            curvature = n[i] * x * (1 - x)
            rate = here.steepness[i]
            limit = 2 * nats / (rate + math.sqrt(rate * rate + 2 * curvature * nats))
        width = limit if width == 0.0 else min(width, limit)
    return width


@merged
def _span(n: FloatArray, threshold: FloatArray, cut: float, bend: float, here: Bound, there: Bound) -> float:
    """Return the largest number of nats that an arm covers between two edges, above its threshold.

    `bend` is an eighth of the squared width times the larger x(1 - x) of the edges; times n it is what the
    arm falls from a peak in the middle, and what it rises off the real line where the quadrature feels it.
    """
    worst = 0.0
    for i in range(len(threshold)):
        left, right = max(here.bound[i], threshold[i]), max(there.bound[i], threshold[i])
        if max(left, right) > threshold[i]:
            worst = max(worst, n[i] * bend)
        if here.slope[i] > 0 and there.slope[i] < 0:
            worst = max(worst, threshold[i] + cut - min(left, right))
        else:
            worst = max(worst, abs(left - right))
    return worst


@merged
def march(placed: Placed, s: int, nats: float, cut: float) -> int:
    """Place panels of a state; return how many, or -1 if they are not reliable or there is no room."""
    alpha, beta = placed.alpha[s], placed.beta[s]
    edges, first, last = placed.edges[s], placed.first[s], placed.last[s]
    arms = len(alpha)
    n, peak, mode = np.empty(arms), np.empty(arms), np.empty(arms)
    threshold, begin = np.empty(arms), np.empty(arms)
    here, there = new_bound(arms), new_bound(arms)
    for i in range(arms):
        n[i], threshold[i] = alpha[i] + beta[i], -np.inf
        mode[i] = math.log(alpha[i] / beta[i])
        peak[i] = alpha[i] * mode[i] + (alpha[i] + beta[i]) * log_complement(mode[i])
    for j in range(arms):
        evaluate(alpha, beta, peak, mode[j], here)
        for i in range(arms):
            threshold[i] = max(threshold[i], here.bound[i])
    y = np.inf
    for i in range(arms):
        if threshold[i] < -CONFLICT:
            return -1
        threshold[i] -= cut
        begin[i] = left_end(alpha[i], beta[i], peak[i], -threshold[i])
        y = min(y, begin[i])
        first[i] = -1
    count, limit = 0, finer(nats)
    x = evaluate(alpha, beta, peak, y, here)
    edges[0] = y
    while True:
        width = _candidate(n, y, x, here, threshold, begin, nats)
        if width == 0.0:
            break
        if count + 1 >= len(edges):
            return -1
        width = min(width, limit * widest(y))
        while True:
            edge = y + width
            after = evaluate(alpha, beta, peak, edge, there)
            bend = width * width / 8 * max(x * (1 - x), after * (1 - after))
            if _span(n, threshold, cut, bend, here, there) <= nats or width < 1e-12 * (1 + abs(y)):
                break
            width *= 0.6
        for i in range(arms):
            if here.bound[i] >= threshold[i] or there.bound[i] >= threshold[i]:
                if first[i] < 0:
                    first[i] = count
                last[i] = count + 1
        count += 1
        edges[count] = edge
        y, x = edge, after
        here, there = there, here
    for i in range(arms):
        if first[i] < 0:
            return -1
    return count


@kernel
def march_all(placed: Placed, nats: float, cut: float) -> bool:
    """Place the panels of every state; return whether there are panels for all of them."""
    every = True
    for s in range(len(placed.alpha)):
        placed.panels[s] = march(placed, s, nats, cut)
        every = every and placed.panels[s] > 0
    return every
