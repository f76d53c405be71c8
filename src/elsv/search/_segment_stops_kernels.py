r"""Compiled search where customers come from segments: one arm for many customers of its segment.

Its pulls come one in :math:`1/q_g` customers; those of other segments get their best arm meanwhile. As in
`elsv.search._stops_kernels`, :math:`W p_l` after s successes in m pulls is a sum over points of the arm.
"""

from __future__ import annotations

import numpy as np

from elsv._base.jit import helper, kernel
from elsv._base.typing import FloatArray, IntArray
from elsv.search._points_kernels import TOGETHER, add_points, fill_powers


@kernel
def search_stops_segments(
    theta: FloatArray,
    weight: FloatArray,
    rewards: FloatArray,
    segment: IntArray,
    coming: FloatArray,
    left: float,
    discount: float,
    most: int,
    q: FloatArray,
) -> None:
    """Set q ``[B, N]`` given that an arm's segment has come: up to `most` pulls, commit when that is better.

    `segment` ``[N]`` is that of each arm, `coming` ``[B, G, G]`` the chances of all after one has come. All
    else is as for `search_stops`.
    """
    instances, sets, points, arms = theta.shape
    whole = -(-points // TOGETHER) * TOGETHER
    factor, gains = np.zeros((whole, most + 1)), np.zeros((arms + 1, whole))
    won, lost = np.empty(most + 1), np.empty(most + 1)
    wins, room = np.empty((arms + 1, most + 1)), np.empty((3, most + 1))
    best = np.empty((coming.shape[1], most + 1))
    for n in range(instances):
        for arm in range(arms):
            own = arm if sets > 1 else 0
            share = coming[n, segment[arm], segment[arm]]
            reach = most
            if discount == 1.0:
                reach = min(most, 1 + int((left - 1.0) * share))
            for k in range(points):
                fill_powers(theta[n, own, k, arm], won[: reach + 1], lost[: reach + 1])
                for j in range(reach + 1):
                    factor[k, j] = weight[n, own, k] * won[j] * lost[reach - j]
                if arm == 0 or sets > 1:
                    for i in range(arms):
                        gains[i, k] = rewards[i] * theta[n, own, k, i]
                    gains[arms, k] = 1.0
            wins[:] = 0.0
            for k in range(0, whole, TOGETHER):
                for i in range(arms + 1):
                    add_points(gains[i, k:], factor[k:], reach + 1, wins[i])
            q[n, arm] = stop_when_better(
                arm, reach, left, discount, segment, coming[n, segment[arm]], wins, best, room
            )


@helper
def stop_when_better(
    arm: int,
    most: int,
    left: float,
    discount: float,
    segment: IntArray,
    chance: FloatArray,
    wins: FloatArray,
    best: FloatArray,
    room: FloatArray,
) -> float:
    """Return the worth of at least one pull of `arm`, for a customer who has come.

    `wins` ``[N + 1, pulls + 1]`` is W r p of every arm after the last pull, by successes, and W.
    """
    arms, own = wins.shape[0] - 1, segment[arm]
    worth, typical, here = room[0], room[1], room[2]
    each = 1.0 / chance[own]  # customers for each pull but the first
    during, later = each, 1.0
    if discount != 1.0:
        later = discount**each
        during = (1.0 - later) / (1.0 - discount)
    for made in range(most, -1, -1):
        best[:, : made + 1] = 0.0
        for i in range(arms + 1):
            line = wins[i]
            if made < most:
                for j in range(made + 1):
                    line[j] += line[j + 1]
            if i < arms:
                top = best[segment[i]]
                for j in range(made + 1):
                    top[j] = max(top[j], line[j])
        line = wins[arm]
        for j in range(made + 1):
            typical[j] = 0.0
            for g in range(len(chance)):
                typical[j] += chance[g] * best[g, j]
            here[j] = typical[j] + chance[own] * (line[j] - best[own, j])
        if made == 0:
            # What the others learn is committed to after the one customer who is here.
            return float((line[0] + discount * (worth[0] + worth[1])) / wins[arms, 0])
        after = left - 1.0 - (made - 1) * each if discount == 1.0 else left
        for j in range(made + 1):
            committed = after * typical[j]
            if made == most:
                worth[j] = committed
            else:
                worth[j] = max(committed, during * here[j] + later * (worth[j] + worth[j + 1]))
    return 0.0
