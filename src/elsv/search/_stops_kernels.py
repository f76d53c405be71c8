r"""Compiled search: pull one arm many times, commit as soon as that is better.

Given the mean of the arm that is pulled, the others are not learnt of. So with weighted points x of that arm
and the means of all arms there, :math:`W p_l` after s successes in m pulls is a sum over the points with
:math:`x^s (1-x)^{m-s}`.
"""

from __future__ import annotations

import numpy as np

from elsv._base.jit import helper, kernel
from elsv._base.typing import FloatArray
from elsv.search._points_kernels import TOGETHER, add_points, fill_powers


@kernel
def search_stops(
    theta: FloatArray,
    weight: FloatArray,
    rewards: FloatArray,
    left: float,
    discount: float,
    most: int,
    q: FloatArray,
) -> None:
    """Set q ``[B, N]``: pull one arm up to `most` times, commit as soon as that is better.

    `theta` ``[B, S, K, N]`` and `weight` ``[B, S, K]`` are points of each arm, or for S = 1 the same points
    for all; `left` counts the pulls, or the discounted pulls, that remain at the root.
    """
    instances, sets, points, arms = theta.shape
    whole = -(-points // TOGETHER) * TOGETHER
    factor, gains = np.zeros((whole, most + 1)), np.zeros((arms + 1, whole))
    won, lost = np.empty(most + 1), np.empty(most + 1)
    wins, room = np.empty((arms + 1, most + 1)), np.empty((2, most + 1))
    for n in range(instances):
        for arm in range(arms):
            own = arm if sets > 1 else 0
            for k in range(points):
                fill_powers(theta[n, own, k, arm], won, lost)
                for j in range(most + 1):
                    factor[k, j] = weight[n, own, k] * won[j] * lost[most - j]
                if arm == 0 or sets > 1:
                    for i in range(arms):
                        gains[i, k] = rewards[i] * theta[n, own, k, i]
                    gains[arms, k] = 1.0
            wins[:] = 0.0
            for k in range(0, whole, TOGETHER):
                for i in range(arms + 1):
                    add_points(gains[i, k:], factor[k:], most + 1, wins[i])
            q[n, arm] = stop_when_better(arm, left, discount, wins, room)


@helper
def stop_when_better(arm: int, left: float, discount: float, wins: FloatArray, room: FloatArray) -> float:
    """Return the worth of at least one pull of `arm`.

    `wins` ``[N + 1, pulls + 1]`` is W r p of every arm after the last pull, by successes, and W.
    """
    arms, most = wins.shape[0] - 1, wins.shape[1] - 1
    worth, best = room[0], room[1]
    for made in range(most, -1, -1):
        after = left - made if discount == 1.0 else left
        best[:] = 0.0
        for i in range(arms + 1):
            line = wins[i]
            if made < most:
                for j in range(made + 1):
                    line[j] += line[j + 1]
            if i < arms:
                for j in range(made + 1):
                    best[j] = max(best[j], line[j])
        if made == most:
            for j in range(made + 1):
                worth[j] = after * best[j]
            continue
        line = wins[arm]
        for j in range(made + 1):
            worth[j] = line[j] + discount * (worth[j] + worth[j + 1])
            if made > 0:
                worth[j] = max(worth[j], after * best[j])
    return float(worth[0] / wins[arms, 0])
