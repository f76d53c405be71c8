"""Compiled search for ordered arms: a few pulls of any candidate, or many pulls of one.

Only frontier states are integrated. With W the weight of a state and W p_l that of arm l succeeding, both
are sums over the outcomes of one pull of any arm, and so is W times a value: no division on the way up.
"""

from __future__ import annotations

import math

import numpy as np

from elsv._jit import kernel
from elsv._typing import FloatArray, IntArray
from elsv.beliefs._chain_kernels import moments, new_room


@kernel
def search_ahead(
    alpha: FloatArray,
    beta: FloatArray,
    rewards: FloatArray,
    candidates: IntArray,
    left: float,
    discount: float,
    nats: float,
    cut: float,
    successes: FloatArray,
    failures: FloatArray,
    successors: IntArray,
    q: FloatArray,
) -> None:
    """Set q ``[B, C]``: pull candidates down the tree, commit at the frontier where `left` pulls remain.

    The tree is that of `elsv.planning.tree` for C arms.
    """
    instances, arms = alpha.shape
    states, interior = len(successes), len(successors)
    room = new_room(arms)
    a, b, mean, variance = np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms)
    weight, worth = np.empty(states), np.empty(states)
    for n in range(instances):
        chosen = candidates[n]
        for s in range(interior, states):
            a[:], b[:] = alpha[n], beta[n]
            for c in range(len(chosen)):
                a[chosen[c]] += successes[s, c]
                b[chosen[c]] += failures[s, c]
            weight[s] = moments(a, b, -np.inf, np.inf, nats, cut, room, mean, variance)
            worth[s] = left * (rewards * mean).max()
        top = weight[interior:].max()
        for s in range(interior, states):
            weight[s] = math.exp(weight[s] - top)
            worth[s] *= weight[s]
        for s in range(interior - 1, -1, -1):
            worth[s] = -np.inf
            for c in range(len(chosen)):
                lost, won = successors[s, c, 0], successors[s, c, 1]
                weight[s] = weight[lost] + weight[won]
                total = rewards[chosen[c]] * weight[won] + discount * (worth[lost] + worth[won])
                worth[s] = max(worth[s], total)
                if s == 0:
                    q[n, c] = total / weight[0]


@kernel
def search_stops(
    alpha: FloatArray,
    beta: FloatArray,
    rewards: FloatArray,
    candidates: IntArray,
    left: float,
    discount: float,
    nats: float,
    cut: float,
    most: int,
    q: FloatArray,
) -> None:
    """Set q ``[B, C]``: pull one candidate up to `most` times, commit as soon as that is better.

    `left` counts the pulls, or the discounted pulls, that remain at the root.
    """
    instances, arms = alpha.shape
    room = new_room(arms)
    a, b, variance = np.empty(arms), np.empty(arms), np.empty(arms)
    weight, worth, wins = np.empty(most + 1), np.empty(most + 1), np.empty((most + 1, arms))
    for n in range(instances):
        for c in range(candidates.shape[1]):
            arm = candidates[n, c]
            a[:], b[:] = alpha[n], beta[n]
            for j in range(most + 1):
                a[arm], b[arm] = alpha[n, arm] + j, beta[n, arm] + most - j
                weight[j] = moments(a, b, -np.inf, np.inf, nats, cut, room, wins[j], variance)
            top = weight.max()
            after = left - most if discount == 1.0 else left
            for j in range(most + 1):
                weight[j] = math.exp(weight[j] - top)
                wins[j] *= rewards * weight[j]
                worth[j] = after * wins[j].max()
            for made in range(most - 1, -1, -1):
                after = left - made if discount == 1.0 else left
                for j in range(made + 1):
                    weight[j] += weight[j + 1]
                    wins[j] += wins[j + 1]
                    worth[j] = wins[j, arm] + discount * (worth[j] + worth[j + 1])
                    if made > 0:
                        worth[j] = max(worth[j], after * wins[j].max())
            q[n, c] = worth[0] / weight[0]
