r"""Which arm is best, and how good it is: integrals over the largest :math:`v = \max_i r_i\mu_i`.

With :math:`F(c_1, \dots, c_N)` the probability that every :math:`\mu_j \le c_j`, arm i is best at v with
density :math:`\partial F/\partial c_i / r_i` at :math:`c_j = v/r_j`. The range of v is cut at the rewards,
where an arm's limit reaches 1. On a stretch :math:`(r, r')` the variable is
:math:`u = \log((v - r)/(r' - v))`, in which the ends are smooth, and a panel is no wider than any contender's
panel at :math:`v/r_j`.
"""

from __future__ import annotations

import math

import numpy as np

from elsv._jit import kernel
from elsv._typing import FloatArray
from elsv.beliefs._best_densities_kernels import Arms, chain_density, independent_density
from elsv.beliefs._chain_kernels import Room, new_room, place
from elsv.beliefs._chain_march_kernels import widest
from elsv.beliefs._chain_messages_kernels import (
    NODES,
    POINTS,
    WEIGHTS,
    fill_nodes,
    log_complement,
    lower_messages,
    new_messages,
    probability,
    stack_windows,
)


@kernel
def limits(arms: Arms, low: float, high: float, u: float, out: FloatArray) -> float:
    """Set the logits of v/r_j for v at u between the rewards `low` and `high`; return v."""
    share = probability(u)
    v = low + (high - low) * share
    log_v = math.log(v) if low > 0 else math.log(high) + u + log_complement(u)
    for j in range(len(out)):
        reward = arms.rewards[j]
        if reward < high:
            out[j] = np.inf
        elif reward == high:
            # r - v = (high - low)(1 - share), without cancellation
            out[j] = log_v - math.log(high - low) - log_complement(u)
        else:
            out[j] = log_v - math.log(reward - v)
    return v


@kernel
def _speed(arms: Arms, j: int, low: float, high: float, u: float, v: float) -> float:
    """Return d limit_j / du = (dv/du) / (v (1 - v/r_j)), without cancellation at the end of the stretch."""
    share = probability(u)
    if arms.rewards[j] == high:
        return share * high / v if low > 0 else 1.0
    return float((high - low) * share * probability(-u) * arms.rewards[j] / (v * (arms.rewards[j] - v)))


@kernel
def _span(edges: FloatArray, first: int, last: int, limit: float) -> float:
    """Return how far a limit may go on one panel: no further than an arm's own panels go."""
    if limit >= edges[last]:
        return np.inf
    if limit < edges[first]:
        return float(edges[first + 1] - limit)
    p = min(int(np.searchsorted(edges[: last + 1], limit, side="right")) - 1, last - 1)
    span = edges[p + 1] - edges[p]
    return float(min(span, edges[p + 2] - limit) if p + 1 < last else span)


@kernel
def _next_width(arms: Arms, low: float, high: float, u: float, limit: FloatArray, ahead: FloatArray) -> float:
    """Return the width of a panel from u that resolves every contender at its limit."""
    limits(arms, low, high, u, limit)
    width = widest(u)
    for j in range(len(limit)):
        if arms.contender[j] == 0 or limit[j] == np.inf:
            continue
        span = _span(arms.edges[j], arms.first[j], arms.last[j], limit[j])
        for _ in range(100):
            limits(arms, low, high, u + width, ahead)
            if ahead[j] - limit[j] <= span:
                break
            width *= 0.7
    return width


@kernel
def _stretch(arms: Arms, low: float, high: float, cut: float, limit: FloatArray) -> tuple[float, float]:
    """Return the range of u between two rewards outside of which no contender has probability."""
    start, end = -cut, cut
    if low == 0.0:
        start = np.inf
        for j in range(len(limit)):
            if arms.rewards[j] == high:
                start = min(start, arms.edges[j, arms.first[j]])
    for j in range(len(limit)):
        if arms.rewards[j] == high and arms.contender[j] > 0:
            end = max(end, arms.edges[j, arms.last[j]])
    # An arm that is surely above its window's left end leaves no weight to smaller v.
    for _ in range(200):
        limits(arms, low, high, start, limit)
        gap = 0.0
        for j in range(len(limit)):
            if limit[j] < arms.edges[j, arms.first[j]] and arms.contender[j] > 0:
                gap = max(gap, arms.edges[j, arms.first[j]] - limit[j])
        if gap < 1e-3 or start >= end:
            break
        start += max(0.5 * min(gap, 1.0), 1e-3) if low > 0 else gap
    return min(start, end), end


@kernel
def integrate_best(
    arms: Arms,
    count: int,
    log_weight: float,
    masses: FloatArray,
    cut: float,
    room: Room,
    chance: FloatArray,
) -> float:
    """Set P(arm is best) ``[N]``; return E[max]. No `masses` means a chain on panels that arms share."""
    size = len(chance)
    limit, ahead, density = np.empty(size), np.empty(size), np.empty(size)
    chance[:] = 0.0
    largest, low = 0.0, 0.0
    for high in np.unique(arms.rewards[arms.contender > 0]):
        u, end = _stretch(arms, low, high, cut, limit)
        while u < end:
            width = min(_next_width(arms, low, high, u, limit, ahead), end - u)
            for k in range(POINTS):
                at = u + 0.5 * width * (1 + NODES[k])
                v = limits(arms, low, high, at, limit)
                if len(masses) > 0:
                    independent_density(arms, masses, limit, density)
                else:
                    chain_density(arms, count, limit, log_weight, room, density)
                for j in range(size):
                    if density[j] > 0:
                        weight = density[j] * 0.5 * width * WEIGHTS[k] * _speed(arms, j, low, high, at, v)
                        chance[j] += weight
                        largest += v * weight
            u += width
        low = high
    total = chance.sum()
    chance /= total
    return float(largest / total)


@kernel
def best_of_chain(
    alpha: FloatArray,
    beta: FloatArray,
    rewards: FloatArray,
    nats: float,
    cut: float,
    chance: FloatArray,
    largest: FloatArray,
) -> None:
    """Set P(arm is best) ``[B, N]`` and E[max] ``[B]`` under an order that decreases with i."""
    size = alpha.shape[1]
    room = new_room(size)
    contender = np.zeros(size)
    record = 0.0
    for i in range(size):
        if rewards[i] > record:
            contender[i], record = 1.0, rewards[i]
    for s in range(len(alpha)):
        panels, count = place(alpha[s], beta[s], -np.inf, np.inf, nats, cut, room)
        fill_nodes(panels, count)
        rows = stack_windows(panels)
        log_weight = lower_messages(alpha[s], beta[s], panels, new_messages(rows, count))
        edges = np.empty((size, count + 1))
        edges[:] = panels.edges[: count + 1]
        arms = Arms(alpha[s], beta[s], rewards, contender, edges, panels.first.copy(), panels.last.copy())
        largest[s] = integrate_best(arms, count, log_weight, np.empty((0, 0)), cut, room, chance[s])


@kernel
def best_of_independent(
    alpha: FloatArray,
    beta: FloatArray,
    rewards: FloatArray,
    nats: float,
    cut: float,
    chance: FloatArray,
    largest: FloatArray,
) -> None:
    """Set P(arm is best) ``[B, N]`` and E[max] ``[B]`` for independent arms."""
    size = alpha.shape[1]
    room = new_room(1)
    longest = len(room.panels.edges)
    for s in range(len(alpha)):
        edges, masses = np.empty((size, longest)), np.zeros((size, longest))
        first, last = np.zeros(size, np.int64), np.zeros(size, np.int64)
        for i in range(size):
            one = slice(i, i + 1)
            panels, count = place(alpha[s, one], beta[s, one], -np.inf, np.inf, nats, cut, room)
            fill_nodes(panels, count)
            stack_windows(panels)
            log_weight = lower_messages(alpha[s, one], beta[s, one], panels, room.messages)
            last[i] = count
            edges[i, : count + 1] = panels.edges[: count + 1]
            before = 0.0
            for p in range(count):
                now = math.exp(room.messages.lower_log[p] - log_weight)
                masses[i, p], before = now - before, now
            masses[i, -1] = log_weight
        arms = Arms(alpha[s], beta[s], rewards, np.ones(size), edges, first, last)
        largest[s] = integrate_best(arms, 0, 0.0, masses, cut, room, chance[s])
