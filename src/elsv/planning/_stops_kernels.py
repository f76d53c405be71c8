r"""Compiled search for ordered arms: pull one arm many times, commit as soon as that is better.

Given :math:`\mu_c = x` the other arms do not learn from pulls of c, so with the density of c and
:math:`E[\mu_l \mid \mu_c = x]` at the nodes, :math:`W p_l` after s successes in m pulls is a sum over
nodes with :math:`x^s (1-x)^{m-s}`.
"""

from __future__ import annotations

import numpy as np

from elsv._jit import kernel
from elsv._typing import FloatArray
from elsv.beliefs._chain_kernels import new_room
from elsv.beliefs._chain_grid_kernels import Grid, carry, make_grid, node_weights


@kernel
def joint_means(grid: Grid) -> FloatArray:
    r"""Return the density of each arm c times :math:`E[\mu_l \mid \mu_c = x]`, ``[N, G, N]``."""
    arms, nodes = grid.density.shape
    out = np.empty((arms, nodes, arms))
    at = node_weights(grid.half)
    table, spare = np.empty((nodes, arms)), np.empty((nodes, arms))
    for down in (True, False):
        # Column k is the message with x at the k-th arm that was passed, from the top or the bottom.
        for passed in range(arms):
            i = passed if down else arms - 1 - passed
            this_side = grid.upper[i] if down else grid.lower[i + 1]
            that_side = grid.lower[i + 1] if down else grid.upper[i]
            for g in range(nodes):
                here = at[g] * grid.density[i, g] * that_side[g]
                for k in range(passed):
                    out[i, g, k if down else arms - 1 - k] = here * table[g, k]
                out[i, g, i] = here * this_side[g] * grid.x[g]
            for g in range(nodes):
                table[g, passed] = this_side[g] * grid.x[g]
            carry(grid.density[i], table, passed + 1, grid.half, down, spare)
            table, spare = spare, table
    return out


@kernel
def search_stops(
    alpha: FloatArray,
    beta: FloatArray,
    rewards: FloatArray,
    left: float,
    discount: float,
    nats: float,
    cut: float,
    most: int,
    q: FloatArray,
) -> None:
    """Set q ``[B, N]``: pull one arm up to `most` times, commit as soon as that is better.

    `left` counts the pulls, or the discounted pulls, that remain at the root.
    """
    instances, arms = alpha.shape
    room = new_room(arms)
    weight, worth, wins = np.empty(most + 1), np.empty(most + 1), np.empty((most + 1, arms))
    for n in range(instances):
        grid = make_grid(alpha[n], beta[n], float(most), nats, cut, room, np.empty(0))
        means = joint_means(grid)
        at = node_weights(grid.half)
        for arm in range(arms):
            density = at * grid.density[arm] * grid.upper[arm] * grid.lower[arm + 1]
            _after_pulls(grid, density, means[arm], most, weight, wins)
            wins *= rewards
            q[n, arm] = _stop_when_better(arm, left, discount, weight, wins, worth)


@kernel
def _after_pulls(
    grid: Grid, density: FloatArray, means: FloatArray, most: int, weight: FloatArray, wins: FloatArray
) -> None:
    """Set W and W p_l after j successes in `most` pulls, for every j."""
    weight[:] = 0.0
    wins[:] = 0.0
    lost = np.ones(most + 1)
    for g in range(len(density)):
        if density[g] == 0.0:
            continue
        for k in range(most):
            lost[k + 1] = lost[k] * grid.rest[g]
        won = 1.0
        for j in range(most + 1):
            factor = won * lost[most - j]
            weight[j] += factor * density[g]
            for i in range(means.shape[1]):
                wins[j, i] += factor * means[g, i]
            won *= grid.x[g]


@kernel
def _stop_when_better(
    arm: int, left: float, discount: float, weight: FloatArray, wins: FloatArray, worth: FloatArray
) -> float:
    """Return the worth of at least one pull of `arm`; `wins` is W r p of all arms after the last pull."""
    most = len(weight) - 1
    after = left - most if discount == 1.0 else left
    for j in range(most + 1):
        worth[j] = after * wins[j].max()
    for made in range(most - 1, -1, -1):
        after = left - made if discount == 1.0 else left
        for j in range(made + 1):
            weight[j] += weight[j + 1]
            wins[j] += wins[j + 1]
            worth[j] = wins[j, arm] + discount * (worth[j] + worth[j + 1])
            if made > 0:
                worth[j] = max(worth[j], after * wins[j].max())
    return float(worth[0] / weight[0])
