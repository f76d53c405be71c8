r"""Compiled search: pull one arm many times, commit as soon as that is better.

Given the mean of the pulled arm, its outcomes say nothing of the other arms. So with weighted points x of
that arm and the means of all arms there, :math:`W p_l` after s successes in m pulls is a sum over the points
with :math:`x^s (1-x)^{m-s}`.

An arm of segment g is pulled for one in :math:`1/q_g` customers. Those of other segments get their best arm
meanwhile. With one segment every customer is one of its own.
"""

from __future__ import annotations

import numpy as np

from elsv._base.jit import helper, kernel
from elsv._base.typing import FloatArray, IntArray
from elsv.search._points_kernels import TOGETHER, add_points, fill_powers


@kernel
def search_stops(
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

    `theta` ``[B, S, K, N]`` and `weight` ``[B, S, K]`` are points of each arm, or for S = 1 the same points
    for all. `segment` ``[N]`` is that of each arm, `coming` ``[B, G, G]`` the chances of all segments after
    one has come; `left` counts the pulls, or the discounted pulls, that remain at the root.
    """
    instances, sets, points, arms = theta.shape
    whole = -(-points // TOGETHER) * TOGETHER
    factor, gains = np.zeros((whole, most + 1)), np.zeros((arms + 1, whole))
    won, lost = np.empty(most + 1), np.empty(most + 1)
    wins, room = np.empty((arms + 1, most + 1)), np.zeros((2, most + 1))
    best = np.empty((coming.shape[1], most + 1))
    for n in range(instances):
        for arm in range(arms):
            own = arm if sets > 1 else 0
            chance = coming[n, segment[arm]]
            pulls = most  # no more than customers of the segment are to be expected
            if discount == 1.0:
                pulls = min(most, 1 + int((left - 1.0) * chance[segment[arm]]))
            for k in range(points):
                fill_powers(theta[n, own, k, arm], won[: pulls + 1], lost[: pulls + 1])
                for j in range(pulls + 1):
                    factor[k, j] = weight[n, own, k] * won[j] * lost[pulls - j]
                if arm == 0 or sets > 1:
                    for i in range(arms):
                        gains[i, k] = rewards[i] * theta[n, own, k, i]
                    gains[arms, k] = 1.0
            wins[:] = 0.0
            for k in range(0, whole, TOGETHER):
                for i in range(arms + 1):
                    add_points(gains[i, k:], factor[k:], pulls + 1, wins[i])
            q[n, arm] = stop_when_better(arm, pulls, left, discount, segment, chance, wins, best, room)


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
    worth, others, share = room[0], room[1], chance[own]
    each = 1.0 / share  # customers for each pull but the first
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
        others[: made + 1] = 0.0
        for g in range(len(chance)):
            if g != own:
                for j in range(made + 1):
                    others[j] += chance[g] * best[g, j]
        line, top = wins[arm], best[own]
        if made == 0:
            # What the others learn is committed to after the one customer who is here.
            return float((line[0] + discount * (worth[0] + worth[1])) / wins[arms, 0])
        after = left - 1.0 - (made - 1) * each if discount == 1.0 else left
        if made == most:
            for j in range(made + 1):
                worth[j] = after * (others[j] + share * top[j])
            continue
        for j in range(made + 1):
            committed = after * (others[j] + share * top[j])
            worth[j] = max(
                committed, during * (others[j] + share * line[j]) + later * (worth[j] + worth[j + 1])
            )
    return 0.0
