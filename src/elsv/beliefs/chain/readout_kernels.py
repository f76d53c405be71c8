r"""What is read from a chain's messages: quantiles, joint draws, and weighted joint points.

Messages are known at the nodes as integrals of polynomials, which are inverted as such inside a panel.

Given the mean of one arm, the arms above and below it are independent. So points of up to three arms are a
Gauss rule for the marginal of the middle one, and for each of its points x one rule for the arm above on
[x, 1] and one for the arm below on [0, x], all other arms integrated out.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsv._base.jit import borrowing, helper, kernel, merged
from elsv._base.typing import FloatArray, IntArray
from elsv.beliefs.chain import Placed
from elsv.beliefs.chain.grid_kernels import Grid, carry, edge_at, first_from, gauss_rule, make_grid
from elsv.beliefs.chain.messages_kernels import (
    BARYCENTRIC,
    NODES,
    POINTS,
    WEIGHTS,
    Messages,
    Panels,
    integrate,
    marginal,
    probability,
    solve,
)

STEEP = 1e-3  # part of itself down to which a message falls within a panel, for its ratios to be no use


@helper
def interpolate(left: float, values: FloatArray, t: float) -> float:
    """Return at t in [-1, 1] the polynomial with the value `left` at -1 and `values` at the nodes."""
    if t == -1.0:
        return left
    factor = BARYCENTRIC[0] / (t + 1)
    top, bottom = factor * left, factor
    for k in range(POINTS):
        if t == NODES[k]:
            return float(values[k])
        factor = BARYCENTRIC[k + 1] / (t - NODES[k])
        top += factor * values[k]
        bottom += factor
    return float(top / bottom)


@helper
def invert(left: float, values: FloatArray, right: float, target: float) -> float:
    """Return t where the increasing polynomial of `interpolate` is `target` (Illinois false position)."""
    a, at_a, b, at_b = -1.0, left, 1.0, right
    for k in range(POINTS):
        if values[k] <= target:
            a, at_a = NODES[k], values[k]
        else:
            b, at_b = NODES[k], values[k]
            break
    at_a -= target
    at_b -= target
    if at_a >= 0:
        return a
    side = 0
    t = a
    for _ in range(40):
        if at_b <= at_a:
            break
        t = (a * at_b - b * at_a) / (at_b - at_a)
        value = interpolate(left, values, t) - target
        if abs(value) <= 1e-15 * target or b - a < 1e-14:
            break
        if value > 0:
            b, at_b = t, value
            if side == 1:
                at_a *= 0.5
            side = 1
        else:
            a, at_a = t, value
            if side == -1:
                at_b *= 0.5
            side = -1
    return min(max(t, a), b)


@borrowing
def _left_value(panels: Panels, messages: Messages, i: int, p: int) -> float:
    """Return L of arm i at the left edge of panel p, relative to the right edge."""
    if p == panels.first[i]:
        return 0.0
    row = panels.start[i] + p
    return math.exp(messages.lower_log[row - 1] - messages.lower_log[row])


@helper
def draw_chain(panels: Panels, messages: Messages, uniform: FloatArray, out: FloatArray) -> None:
    """Set one joint draw: θ_1 = L_1⁻¹(u L_1(∞)), then θ_i = L_i⁻¹(u L_i(θ_{i-1}))."""
    edges = panels.edges
    y, p = np.inf, 0
    for i in range(len(out)):
        target = uniform[i]
        if i == 0 or y >= edges[panels.last[i]]:
            p = panels.last[i] - 1
            left = _left_value(panels, messages, i, p)
        else:
            while p > panels.first[i] and edges[p] > y:
                p -= 1
            left = _left_value(panels, messages, i, p)
            t = 2 * (y - edges[p]) / (edges[p + 1] - edges[p]) - 1
            target *= interpolate(left, messages.lower[panels.start[i] + p], t)
        while target < left and p > panels.first[i]:
            target /= left
            p -= 1
            left = _left_value(panels, messages, i, p)
        t = invert(left, messages.lower[panels.start[i] + p], 1.0, target)
        y = min(y, edges[p] + 0.5 * (t + 1) * (edges[p + 1] - edges[p]))
        out[i] = probability(y)


@kernel
def batch_draw(placed: Placed, uniform: FloatArray, out: FloatArray) -> None:
    """Set joint draws ``[B, M, N]`` from uniform numbers ``[B, M, N]``, or the same for all states."""
    for s in range(len(out)):
        panels, messages, _ = solve(placed, s)
        numbers = uniform[s if len(uniform) > 1 else 0]
        for m in range(len(numbers)):
            draw_chain(panels, messages, numbers[m], out[s, m])


@borrowing
def _sum_of(values: FloatArray, row: int) -> float:
    """Return the sum of a row."""
    total = 0.0
    for k in range(POINTS):
        total += values[row, k]
    return total


@merged
def _quantile(panels: Panels, i: int, level: float, probabilities: FloatArray) -> float:
    """Return arm i's quantile from its probabilities at the nodes."""
    total = 0.0
    for p in range(panels.first[i], panels.last[i]):
        total += _sum_of(probabilities, p)
    remaining = level * total
    p = panels.first[i]
    inside = _sum_of(probabilities, p)
    while remaining > inside and p + 1 < panels.last[i]:
        remaining -= inside
        p += 1
        inside = _sum_of(probabilities, p)
    density, cumulative = np.empty(POINTS), np.empty(POINTS)
    for k in range(POINTS):
        density[k] = probabilities[p, k] / WEIGHTS[k]
    integrate(density, 2.0, cumulative)
    t = invert(0.0, cumulative, inside, remaining)
    return probability(panels.edges[p] + 0.5 * (t + 1) * (panels.edges[p + 1] - panels.edges[p]))


@kernel
def batch_read(placed: Placed, levels: FloatArray, log_weight: FloatArray, out: FloatArray) -> None:
    """Set log W ``[B]`` and in `out` ``[B, rows, N]`` means, variances and the quantiles at all `levels`.

    Only what there are rows for is read; with none the downward messages alone are sent.
    """
    rows = out.shape[1]
    for s in range(len(out)):
        panels, messages, log_weight[s] = solve(placed, s)
        probabilities = np.empty(panels.y.shape)
        for i in range(out.shape[2] if rows > 0 else 0):
            total, first = marginal(i, log_weight[s], panels, messages, probabilities)
            mean = first / total
            out[s, 0, i] = mean
            if rows > 1:
                second = 0.0
                for p in range(panels.first[i], panels.last[i]):
                    for k in range(POINTS):
                        second += probabilities[p, k] * (panels.x[p, k] - mean) ** 2
                out[s, 1, i] = second / total
            for k in range(rows - 2):
                out[s, 2 + k, i] = _quantile(panels, i, levels[k], probabilities)


@merged
def reaches(grid: Grid, middle: int, other: int, at: FloatArray) -> FloatArray:
    """Return the measure of arm `other` at all nodes given that arm `middle` is at each of the logits `at`.

    ``[J, G]``, not scaled. The arms between the two are integrated out, and those beyond `other` too.
    """
    nodes, above = len(grid.x), other < middle
    table, spare = np.empty((nodes, len(at))), np.empty((nodes, len(at)))
    begin = np.empty(len(at), np.int64)
    for j in range(len(at)):
        begin[j] = edge_at(grid.edges, len(grid.edges), at[j]) * POINTS
    for g in range(nodes):
        for j in range(len(at)):
            table[g, j] = 1.0 if (g >= begin[j]) == above else 0.0
    step = -1 if above else 1
    for i in range(middle + step, other, step):
        carry(grid.density[i], table, len(at), grid.half, not above, spare)
        table, spare = spare, table
    beyond = grid.upper[other] if above else grid.lower[other + 1]
    own, out = np.empty(nodes), np.empty((len(at), nodes))
    for g in range(nodes):
        own[g] = grid.weights[g] * grid.density[other, g] * beyond[g]
    for j in range(len(at)):
        for g in range(nodes):
            out[j, g] = table[g, j] * own[g]
    return out


@kernel
def batch_rule_points(
    placed: Placed, outer: int, inner: int, nats: float, arms: IntArray, theta: FloatArray, weight: FloatArray
) -> None:
    """Set points ``[B, M, A]`` of up to three arms ``[B, A]`` of every state, and weights ``[B, M]``.

    M is outer times inner to the A - 1. The arm below changes fastest, so that points that share the
    other two follow one another. With no arms, ``[B, 0]``, there are `outer` points of every arm by itself,
    with the means of all arms there: ``[B, N outer, N]``.
    """
    place, sides = arms.shape[1] // 2, arms.shape[1] - 1
    rules = placed.alpha.shape[1] if sides < 0 else 1
    at, x, share = np.empty((rules, outer)), np.empty((rules, outer)), np.empty((rules, outer))
    nodes, shares = np.empty((2, outer, inner)), np.empty((2, outer, inner))
    for s in range(len(theta)):
        for turn in range(2 if sides > 0 else 1):
            more, ends = 2.0 * (outer if turn == 0 else inner), at[0, : outer * turn]
            grid = make_grid(placed, s, more, nats, ends)
            if turn == 0:
                scale = scale_for(grid, placed.alpha[s], placed.beta[s])
                for k in range(rules):
                    arm = k if sides < 0 else arms[s, place]
                    total = gauss_rule(scale.nodes, marginal_of(grid, arm), at[k], share[k])
                    for j in range(outer):
                        if total == 0.0:  # nothing in doubles: the caller sees that there is no rule
                            at[k, j], share[k, j] = 0.0, np.nan
                        at[k, j] = read_scale(grid, scale, at[k, j])
                        x[k, j] = probability(at[k, j])
            else:
                for side in range(sides):
                    table = reaches(grid, arms[s, place], arms[s, 2 * side], at[0])
                    for j in range(outer):
                        if gauss_rule(grid.x, table[j], nodes[side, j], shares[side, j]) == 0.0:
                            for k in range(inner):
                                nodes[side, j, k] = x[0, j]
                                shares[side, j, k] = 1.0 / inner
            if sides < 0:
                for k in range(rules):
                    for j in range(outer):
                        theta[s, k * outer + j, k], weight[s, k * outer + j] = x[k, j], share[k, j]
                for down in (True, False):
                    fill_means(grid, down, at, theta[s])
        m = 0
        for j in range(outer if sides >= 0 else 0):
            for k in range(inner if sides > 0 else 1):
                for below in range(inner if sides > 1 else 1):
                    weight[s, m], theta[s, m, place] = share[0, j], x[0, j]
                    for side in range(sides):
                        other = below if side else k
                        weight[s, m] *= shares[side, j, other]
                        theta[s, m, 2 * side] = nodes[side, j, other]
                    m += 1


@merged
def marginal_of(grid: Grid, arm: int) -> FloatArray:
    """Return the probability of arm's mean at each of the nodes ``[G]``, not scaled."""
    out = np.empty(len(grid.x))
    for g in range(len(out)):
        out[g] = grid.weights[g] * grid.density[arm, g] * grid.upper[arm, g] * grid.lower[arm + 1, g]
    return out


class Scale(NamedTuple):
    """An increasing function t of x in which what is known of other arms is smooth."""

    nodes: FloatArray  # [G]
    edges: FloatArray  # [panels + 1]


@merged
def scale_for(grid: Grid, alpha: FloatArray, beta: FloatArray) -> Scale:
    r"""Return :math:`t = \int_0^x z^{a-1} (1-z)^{b-1} dz` with a and b the smallest counts, at most 1.

    The means of other arms given x go with :math:`x^\alpha` near 0. For counts from 1 up t is x.
    """
    a, b = 1.0, 1.0
    for i in range(len(alpha)):
        a, b = min(a, alpha[i]), min(b, beta[i])
    panels = len(grid.half)
    nodes, edges = np.empty(len(grid.x)), np.empty(panels + 1)
    values = np.empty(POINTS)
    edges[0] = 0.0
    for p in range(panels):
        for k in range(POINTS):
            g = p * POINTS + k
            values[k] = grid.x[g] ** a * grid.rest[g] ** b
        here = nodes[p * POINTS : (p + 1) * POINTS]
        edges[p + 1] = edges[p] + integrate(values, 2 * grid.half[p], here)
        for k in range(POINTS):
            here[k] += edges[p]
    return Scale(nodes, edges)


@merged
def read_scale(grid: Grid, scale: Scale, t: float) -> float:
    """Return the logit at which the scale is t, inside the grid."""
    p = min(max(first_from(scale.edges, len(scale.edges), t) - 1, 0), len(grid.half) - 1)
    left, right = scale.edges[p], scale.edges[p + 1]
    place = invert(left, scale.nodes[p * POINTS : (p + 1) * POINTS], right, min(max(t, left), right))
    return float(grid.edges[p] + (place + 1) * grid.half[p])


@merged
def read_means(grid: Grid, y: float, side: FloatArray, table: FloatArray, out: FloatArray) -> None:
    """Set `out` to what columns of `table` are relative to `side` at the logit y, by its panel's nodes.

    The ratios are smoother, so they are what is interpolated. But where `side` falls steeply its last nodes
    in the panel are little more than rounding: there both are interpolated, and then divided.
    """
    p = min(max(first_from(grid.edges, len(grid.edges), y) - 1, 0), len(grid.half) - 1)
    t = (y - grid.edges[p]) / grid.half[p] - 1
    least, most = np.inf, 0.0
    for k in range(POINTS):
        least, most = min(least, side[p * POINTS + k]), max(most, side[p * POINTS + k])
    steep = least <= STEEP * most
    total = 0.0
    for i in range(len(out)):
        out[i] = 0.0
    for k in range(POINTS):
        g = p * POINTS + k
        away = t - NODES[k] if abs(t - NODES[k]) > 1e-14 else 1e-14
        # The weights of interpolation at the nodes alone: BARYCENTRIC has the left end as well.
        factor, line = BARYCENTRIC[k + 1] * (NODES[k] + 1) / away, table[g]
        total += factor * side[g] if steep else factor
        scale = factor if steep else factor / side[g]
        for i in range(len(out)):
            out[i] += scale * line[i]
    scale = 1 / total if total != 0.0 else 0.0
    for i in range(len(out)):
        out[i] *= scale


@merged
def fill_means(grid: Grid, down: bool, at: FloatArray, theta: FloatArray) -> None:
    """Set means ``[N K, N]`` of the arms above (`down`) or below each, given it at its logits ``[N, K]``."""
    arms, size = at.shape
    nodes = len(grid.x)
    table, spare, found = np.empty((nodes, arms)), np.empty((nodes, arms)), np.empty(arms)
    # Column k is the message with the mean of the k-th arm that was passed, from the top or the bottom.
    for passed in range(arms):
        arm = passed if down else arms - 1 - passed
        side = grid.upper[arm] if down else grid.lower[arm + 1]
        for k in range(size):
            read_means(grid, at[arm, k], side, table, found[:passed])
            here, row = theta[arm * size + k, arm], theta[arm * size + k]
            low, high = (here, 1.0) if down else (0.0, here)
            for i in range(passed):
                row[i if down else arms - 1 - i] = min(max(found[i], low), high)
        for g in range(nodes):
            table[g, passed] = side[g] * grid.x[g]
        carry(grid.density[arm], table, passed + 1, grid.half, down, spare)
        table, spare = spare, table
