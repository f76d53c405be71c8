r"""What is read off inside a panel: joint draws and quantiles.

The messages are known at the nodes as integrals of polynomials, which are inverted as such.
"""

from __future__ import annotations

import math

import numpy as np

from elsv._base.jit import borrowing, helper, kernel, merged
from elsv._base.typing import FloatArray
from elsv.beliefs.chain.batch_kernels import new_room, solve
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
    upper_message,
)
from elsv.beliefs.chain.panels import Placed


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


@helper
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
def batch_draw(
    alpha: FloatArray, beta: FloatArray, placed: Placed, uniform: FloatArray, out: FloatArray
) -> None:
    """Set one joint draw ``[B, N]`` for every state from uniform numbers ``[B, N]``."""
    room = new_room(placed)
    for s in range(len(alpha)):
        panels, messages, _ = solve(alpha, beta, placed, s, room)
        draw_chain(panels, messages, uniform[s], out[s])


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
def batch_marginals(
    alpha: FloatArray,
    beta: FloatArray,
    placed: Placed,
    levels: FloatArray,
    mean: FloatArray,
    quantile: FloatArray,
) -> None:
    """Set the mean ``[B, N]`` and the quantiles at all `levels` ``[B, levels, N]`` of every arm."""
    room = new_room(placed)
    probabilities = np.empty(room.y.shape)
    for s in range(len(alpha)):
        panels, messages, log_weight = solve(alpha, beta, placed, s, room)
        for i in range(alpha.shape[1]):
            if i > 0:
                upper_message(i - 1, 0, panels, messages)
            marginal(i, log_weight, panels, messages, probabilities)
            total, first = 0.0, 0.0
            for p in range(panels.first[i], panels.last[i]):
                for k in range(POINTS):
                    total += probabilities[p, k]
                    first += probabilities[p, k] * panels.x[p, k]
            mean[s, i] = first / total
            for k in range(len(levels)):
                quantile[s, k, i] = _quantile(panels, i, levels[k], probabilities)
