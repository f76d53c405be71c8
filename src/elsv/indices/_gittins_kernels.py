r"""Kernels of the Gittins indices: one sweep of backward induction, and the search for all indices.

For a known arm that pays :math:`\lambda`, let :math:`x = m - \lambda` be what a pull earns beyond it,
:math:`V = \max(0, D)` the value of the right to go on pulling and :math:`A_n` the annuity of the pulls left
after n (:math:`1/(1-\gamma)` for ever, :math:`(1-\gamma^k)/(1-\gamma)` or k for k pulls). Since x is a
martingale, the *excess* :math:`e = V - xA` over never stopping obeys

.. math:: e_n = \max(-x A_n,\; \gamma E e_{n+1}), \qquad D_n = x A_n + \gamma E e_{n+1},

and its slope :math:`g = de/d\lambda` is :math:`A_n` where one stops and :math:`\gamma E g_{n+1}` where one
goes on. A sweep needs only a band of states at each level: with b(n) the fewest successes for which going on
is best, :math:`b(n) \in \{b(n+1) - 1, b(n+1)\}` (stay on a winner, quit only after a failure), and above b
the excess dies out geometrically. The index is the root of D, which is convex, decreasing and piecewise
linear in :math:`\lambda`, so that tangents bound the root below and chords above.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsv._base.jit import borrowing, helper, inlined, kernel
from elsv._base.typing import FloatArray, IntArray

LONE = 0.125  # expected successes, or failures, below which one outcome decides


class Ground(NamedTuple):
    """What all sweeps from one prior share, by level or by successes."""

    discount: float
    base: float  # alpha + beta of the prior
    annuity: FloatArray  # [end + 1], by level
    cut: FloatArray  # [end + 1], the excess below which the band ends
    counts: FloatArray  # [end + 2], the prior's alpha plus successes


@helper
def decay_rate(lam: float, discount: float) -> tuple[float, float]:
    r"""Return :math:`\theta` and :math:`d\theta/d\lambda`: the excess falls as :math:`e^{-\theta}` per cell.

    Far out one pull moves :math:`z = s - \lambda n` by :math:`1-\lambda` or :math:`-\lambda`, and
    :math:`1 = \gamma[\lambda e^{-\theta(1-\lambda)} + (1-\lambda) e^{\theta\lambda}]`, convex in theta.
    """
    ceiling = -math.log(discount * (1.0 - lam)) / lam
    theta = min(ceiling, math.sqrt(2.0 * (1.0 - discount) / (discount * lam * (1.0 - lam))))
    for _ in range(60):
        success, failure = math.exp(-theta * (1.0 - lam)), math.exp(theta * lam)
        gap = discount * (lam * success + (1.0 - lam) * failure) - 1.0
        slope = discount * lam * (1.0 - lam) * (failure - success)
        step = gap / slope
        theta = min(ceiling, theta - step)
        if abs(step) <= 1e-13 * theta:
            break
    success, failure = math.exp(-theta * (1.0 - lam)), math.exp(theta * lam)
    by_lam = discount * (success * (1.0 + lam * theta) + failure * ((1.0 - lam) * theta - 1.0))
    slope = discount * lam * (1.0 - lam) * (failure - success)
    return theta, -by_lam / slope


@helper
def last_level(
    lam: float, ground: Ground, spread: float, excess: FloatArray, slopes: FloatArray
) -> tuple[int, int]:
    r"""Fill the band of the last level of a sweep; return its boundary and its highest cell.

    With no pulls left the excess is 0, and nearly so where lambda is so near 0 or 1 that hardly any cell
    lies on its side of the boundary, which is no diffusion. Otherwise its free boundary problem at
    :math:`y = kx`, :math:`k = \theta N`, :math:`\varepsilon = \gamma A/N`,
    :math:`F_{yy} - F + \varepsilon(y F_y - F - \varepsilon F_\varepsilon) = 0` with :math:`F = -y`,
    :math:`F_y = -1` at the boundary, gives :math:`e = (A/k) F` with, for :math:`u = y + 1`,

    .. math:: \log F = -u - \tfrac{\varepsilon}{4}(u^2 + u)
              + \tfrac{\varepsilon^2}{32}(6u^2 + 11u + 1) + O(\varepsilon^3).
    """
    counts, end = ground.counts, ground.annuity.shape[0] - 1
    total, annuity, cut = ground.base + end, ground.annuity[end], spread * ground.cut[end]
    if annuity == 0.0 or lam * (1.0 - lam) * total < LONE:
        boundary = min(max(math.ceil(lam * total - counts[0]), 0), end + 1)
        return boundary, boundary - 1  # one stops at once or never: no cells
    theta, theta_slope = decay_rate(lam, ground.discount)
    k, k_slope = theta * total, theta_slope * total
    epsilon = ground.discount * annuity / total
    boundary = math.ceil((lam + (0.25 * epsilon - 1.0) / k) * total - counts[0])
    boundary = min(max(boundary, 0), end + 1)
    s = boundary
    while s <= end:
        x = counts[s] / total - lam
        u = k * x + 1.0
        first, second = 0.25 * epsilon, epsilon * epsilon / 32.0
        shape = math.exp(-u - first * (u * u + u) + second * (6.0 * u * u + 11.0 * u + 1.0))
        shape_slope = shape * (-1.0 - first * (2.0 * u + 1.0) + second * (12.0 * u + 11.0))
        if annuity / k * shape < cut:
            break
        excess[s] = annuity / k * shape
        slopes[s] = annuity * (k_slope / k * (x * shape_slope - shape / k) - shape_slope)
        s += 1
    return boundary, s - 1


@borrowing
def expect(
    excess: FloatArray,
    slopes: FloatArray,
    counts: FloatArray,
    start: int,
    stop: int,
    discount: float,
    total: float,
) -> None:
    r"""Replace e and g of cells start … stop-1 by :math:`\gamma E e'` and :math:`\gamma E g'`, in place."""
    scale = discount / total
    for s in range(np.uint64(start), np.uint64(stop)):
        chance = scale * counts[s]
        excess[s] = discount * excess[s] + chance * (excess[s + np.uint64(1)] - excess[s])
        slopes[s] = discount * slopes[s] + chance * (slopes[s + np.uint64(1)] - slopes[s])


@inlined
def record(records: FloatArray, row: int, lam: float, advantage: float, slope: float) -> None:
    """Keep (lambda, D, D') if it is nearer to the root than what the state has on that side."""
    if advantage >= 0.0:
        if lam > records[row, 0]:
            records[row, 0], records[row, 1], records[row, 2] = lam, advantage, slope
    elif lam < records[row, 3]:
        records[row, 3], records[row, 4], records[row, 5] = lam, advantage, slope


@helper
def sweep(
    lam: float,
    lowest: int,
    first: int,
    levels: int,
    ground: Ground,
    excess: FloatArray,
    slopes: FloatArray,
    records: FloatArray,
) -> None:
    """Go from the last level down to `lowest` for one lambda; record D beside the boundary.

    `excess` and `slopes` are by successes ``[end + 2]``. The band is followed until the excess is below the
    cut, and further where lambda is extreme and cells are coarse. `records` ``[states, 6]`` belongs to the
    states of levels first … levels-1.
    """
    discount, base, annuity, cut, counts = ground
    end = annuity.shape[0] - 1
    spread = 4.0 * lam * (1.0 - lam)
    excess[:] = 0.0
    slopes[:] = 0.0
    boundary, top = last_level(lam, ground, spread, excess, slopes)
    offset = first * (first + 1) // 2
    n = end - 1
    while n >= lowest and boundary <= n + 1:
        total = base + n
        below = boundary - 1
        if below >= 0:
            excess[below] = (lam - counts[below] / (total + 1.0)) * annuity[n + 1]
            slopes[below] = annuity[n + 1]
        start = max(below, 0)
        top = max(min(top, n), start)
        expect(excess, slopes, counts, start, top + 1, discount, total)
        advantage = (counts[start] / total - lam) * annuity[n] + excess[start]
        if below >= 0 and advantage >= 0.0:
            boundary = below
        while top > boundary and excess[top] < spread * cut[n]:
            excess[top] = 0.0
            slopes[top] = 0.0
            top -= 1
        if n < levels:
            row = n * (n + 1) // 2 - offset
            record(records, row + start, lam, advantage, slopes[start] - annuity[n])
            if boundary == below and below > 0:
                record(records, row + below - 1, lam, counts[below - 1] / total - lam, -1.0)
            elif boundary > start and boundary <= n:
                advantage = (counts[boundary] / total - lam) * annuity[n] + excess[boundary]
                record(records, row + boundary, lam, advantage, slopes[boundary] - annuity[n])
        n -= 1
    for level in range(min(n, levels - 1), lowest - 1, -1):
        row = level * (level + 1) // 2 - offset
        record(records, row + level, lam, counts[level] / (base + level) - lam, -1.0)


@kernel
def start_records(records: FloatArray, first: int, levels: int, ground: Ground) -> None:
    """Write what is known before any sweep: D and D' at lambda = 0 (never stop) and at 1 (stop at once)."""
    row = 0
    for n in range(first, levels):
        for s in range(n + 1):
            mean, annuity = ground.counts[s] / (ground.base + n), ground.annuity[n]
            records[row, 0], records[row, 1], records[row, 2] = 0.0, mean * annuity, -annuity
            records[row, 3], records[row, 4], records[row, 5] = 1.0, mean - 1.0, -1.0
            row += 1


@inlined
def bracket(records: FloatArray, row: int) -> tuple[float, float]:
    """Return the bounds on the root of D from the tangents at both records and the chord between them."""
    left, left_value, left_slope = records[row, 0], records[row, 1], records[row, 2]
    right, right_value, right_slope = records[row, 3], records[row, 4], records[row, 5]
    lower = max(left - left_value / left_slope, right - right_value / right_slope)
    upper = left + (right - left) * left_value / (left_value - right_value)
    return lower, max(lower, upper)


@kernel
def solve_state(width: float, ground: Ground) -> tuple[float, float]:
    """Return bounds, at most `width` apart, on the index of the prior's own state."""
    records = np.empty((1, 6))
    excess, slopes = np.empty(ground.counts.shape[0]), np.empty(ground.counts.shape[0])
    start_records(records, 0, 1, ground)
    lower, upper = bracket(records, 0)
    while upper - lower > width:
        lam = 0.5 * (lower + upper)
        if not lower < lam < upper:
            break
        sweep(lam, 0, 0, 1, ground, excess, slopes, records)
        lower, upper = bracket(records, 0)
    return lower, upper


@kernel
def sweep_all(
    points: FloatArray, lowest: IntArray, first: int, levels: int, ground: Ground, records: FloatArray
) -> None:
    """Sweep every lambda of `points` down to its own lowest level."""
    excess, slopes = np.empty(ground.counts.shape[0]), np.empty(ground.counts.shape[0])
    for i in range(points.shape[0]):
        sweep(points[i], lowest[i], first, levels, ground, excess, slopes, records)


@kernel
def unresolved(records: FloatArray, width: float) -> IntArray:
    """Return the rows whose bounds are more than `width` apart."""
    wide = np.zeros(records.shape[0], np.bool_)
    for row in range(records.shape[0]):
        lower, upper = bracket(records, row)
        wide[row] = upper - lower > width
    return np.flatnonzero(wide)


@kernel
def gather(
    swept: FloatArray,
    width: float,
    first: int,
    levels: int,
    records: FloatArray,
    table: FloatArray,
    total: FloatArray,
    count: FloatArray,
    lowest: IntArray,
) -> None:
    """Write the middle of every bracket to `table`, and add up those of unresolved states.

    `records` and `table` are those of the levels first … levels-1. For every interval between swept lambdas,
    `total` and `count` are the sum and the number of the middles in it, and `lowest` is their lowest level.
    """
    row = 0
    for n in range(first, levels):
        for _ in range(n + 1):
            lower, upper = bracket(records, row)
            table[row] = 0.5 * (lower + upper)
            if upper - lower > width:
                place = np.searchsorted(swept, table[row])
                total[place] += table[row]
                count[place] += 1.0
                lowest[place] = min(lowest[place], n)
            row += 1
