r"""Weighted joint points of a chain: all arms from uniform numbers, or a few arms by nested Gauss rules.

Given the mean of one arm, the arms above and below it are independent. So points of up to three arms are a
Gauss rule for the marginal of the middle one, and for each of its points x one rule for the arm above on
[x, 1] and one for the arm below on [0, x], all other arms integrated out.
"""

from __future__ import annotations

import math

import numpy as np

from elsv._jit import kernel
from elsv._typing import FloatArray, IntArray
from elsv.beliefs._chain_grid_kernels import Grid, carry, edge_at, make_grid, node_weights
from elsv.beliefs._chain_kernels import Room, new_room, solve
from elsv.beliefs._chain_messages_kernels import POINTS
from elsv.beliefs._chain_readout_kernels import draw_chain
from elsv.beliefs._gauss_kernels import gauss_rule


@kernel
def batch_points(
    alpha: FloatArray, beta: FloatArray, nats: float, cut: float, uniform: FloatArray, out: FloatArray
) -> None:
    """Set joint points ``[B, M, N]`` for every state from the same uniform numbers ``[M, N]``."""
    room = new_room(alpha.shape[1])
    for s in range(len(alpha)):
        panels, messages, _ = solve(alpha[s], beta[s], -np.inf, np.inf, nats, cut, room)
        for m in range(len(uniform)):
            draw_chain(panels, messages, uniform[m], out[s, m])


@kernel
def reaches(grid: Grid, middle: int, other: int, at: FloatArray) -> FloatArray:
    """Return the measure of arm `other` at all nodes given that arm `middle` is at each of the logits `at`.

    ``[G, J]``, not scaled. The arms between the two are integrated out, and those beyond `other` too.
    """
    nodes, above = len(grid.x), other < middle
    table, spare = np.zeros((nodes, len(at))), np.empty((nodes, len(at)))
    for j in range(len(at)):
        edge = edge_at(grid.edges, at[j]) * POINTS
        if above:
            table[edge:, j] = 1.0
        else:
            table[:edge, j] = 1.0
    step = -1 if above else 1
    for i in range(middle + step, other, step):
        carry(grid.density[i], table, len(at), grid.half, not above, spare)
        table, spare = spare, table
    beyond = grid.upper[other] if above else grid.lower[other + 1]
    own = node_weights(grid.half) * grid.density[other] * beyond
    for g in range(nodes):
        for j in range(len(at)):
            table[g, j] *= own[g]
    return table


@kernel
def nested_points(
    alpha: FloatArray,
    beta: FloatArray,
    arms: IntArray,
    outer: int,
    inner: int,
    nats: float,
    cut: float,
    room: Room,
    theta: FloatArray,
    weight: FloatArray,
) -> None:
    """Set points ``[M, len(arms)]`` of up to three arms and their weights ``[M]``, for one state."""
    middle = arms[len(arms) // 2]
    grid = make_grid(alpha, beta, 2.0 * outer, nats, cut, room, np.empty(0))
    x, share = np.empty(outer), np.empty(outer)
    marginal = node_weights(grid.half) * grid.density[middle] * grid.upper[middle] * grid.lower[middle + 1]
    gauss_rule(grid.x, marginal, x, share)
    at = np.empty(outer)
    for j in range(outer):
        at[j] = min(max(logit(x[j]), grid.edges[0]), grid.edges[-1])
    if len(arms) == 1:
        theta[:, 0] = x
        weight[:] = share
        return
    grid = make_grid(alpha, beta, 2.0 * inner, nats, cut, room, at)
    sides = len(arms) - 1
    nodes, shares = np.empty((sides, outer, inner)), np.empty((sides, outer, inner))
    for side in range(sides):
        table = reaches(grid, middle, arms[0] if side == 0 else arms[2], at)
        for j in range(outer):
            if gauss_rule(grid.x, table[:, j], nodes[side, j], shares[side, j]) == 0.0:
                nodes[side, j] = x[j]
                shares[side, j] = 1.0 / inner
    m = 0
    for j in range(outer):
        for k in range(inner):
            if sides == 1:
                theta[m, 0] = nodes[0, j, k]
                theta[m, 1] = x[j]
                weight[m] = share[j] * shares[0, j, k]
                m += 1
                continue
            for l in range(inner):
                theta[m, 0] = nodes[0, j, k]
                theta[m, 1] = x[j]
                theta[m, 2] = nodes[1, j, l]
                weight[m] = share[j] * shares[0, j, k] * shares[1, j, l]
                m += 1


@kernel
def logit(x: float) -> float:
    """Return log(x/(1 - x)), infinite outside (0, 1)."""
    if x <= 0.0:
        return -np.inf
    return np.inf if x >= 1.0 else math.log(x) - math.log1p(-x)


@kernel
def batch_nested_points(
    alpha: FloatArray,
    beta: FloatArray,
    arms: IntArray,
    outer: int,
    inner: int,
    nats: float,
    cut: float,
    theta: FloatArray,
    weight: FloatArray,
) -> None:
    """Set points ``[B, M, A]`` of the arms ``[B, A]`` and their weights ``[B, M]``."""
    room = new_room(alpha.shape[1])
    for s in range(len(alpha)):
        nested_points(alpha[s], beta[s], arms[s], outer, inner, nats, cut, room, theta[s], weight[s])
