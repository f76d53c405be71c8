"""Compiled backups over the merged tree."""

from __future__ import annotations

import numpy as np

from elsv._base.jit import kernel
from elsv._base.typing import FloatArray, IntArray


@kernel
def back_up(
    mean: FloatArray,
    frontier: FloatArray,
    successors: IntArray,
    rewards: FloatArray,
    discount: float,
    of_arm: IntArray,
    coming: FloatArray,
) -> FloatArray:
    """Return q at the root, ``[instances, N]``, where each state averages over who comes.

    `mean` ``[instances, interior, N]`` holds P(success), `frontier` ``[instances, states - interior]`` the
    values of the last layer. `of_arm` ``[N]`` is the segment of every arm, `coming`
    ``[instances, interior, G]`` the chance of each segment.
    """
    instances, interior, arms = mean.shape
    value, best = np.empty(interior + frontier.shape[1]), np.empty(coming.shape[2])
    q = np.empty((instances, arms))
    for b in range(instances):
        value[interior:] = frontier[b]
        for state in range(interior - 1, -1, -1):
            best[:] = -np.inf
            for i in range(arms):
                p = mean[b, state, i]
                worth = (
                    p * (rewards[i] + discount * value[successors[state, i, 1]])
                    + (1.0 - p) * discount * value[successors[state, i, 0]]
                )
                best[of_arm[i]] = max(best[of_arm[i]], worth)
                if state == 0:
                    q[b, i] = worth
            value[state] = 0.0
            for g in range(len(best)):
                value[state] += coming[b, state, g] * best[g]
    return q
