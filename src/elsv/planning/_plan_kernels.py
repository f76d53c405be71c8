"""Compiled search over blocks of pulls (see `elsv.planning.block_tree`)."""

from __future__ import annotations

import math

import numpy as np

from elsv._jit import kernel
from elsv._typing import FloatArray, IntArray
from elsv.beliefs._chain_kernels import moments, new_room


@kernel
def back_up(
    weight: FloatArray,
    worth: FloatArray,
    block: IntArray,
    start: IntArray,
    successors: IntArray,
    ways: FloatArray,
    rewards: FloatArray,
    q: FloatArray,
) -> None:
    """Fill `weight` and `worth` above the frontier and set `q` ``[C]`` at the root.

    `worth` is the value times the weight W of a state, so that the chance of j successes in k pulls,
    C(k, j) W(after)/W(before), needs no division.
    """
    for s in range(len(block) - 1, -1, -1):
        k = block[s]
        best = -np.inf
        for i in range(len(rewards)):
            total, mass = 0.0, 0.0
            for j in range(k + 1):
                after = successors[start[s] + i * (k + 1) + j]
                mass += ways[k, j] * weight[after]
                total += ways[k, j] * (worth[after] + j * rewards[i] * weight[after])
            weight[s] = mass
            best = max(best, total)
            if s == 0:
                q[i] = total / mass
        worth[s] = best


@kernel
def search_chain(
    alpha: FloatArray,
    beta: FloatArray,
    rewards: FloatArray,
    candidates: IntArray,
    left: float,
    nats: float,
    cut: float,
    wins: FloatArray,
    losses: FloatArray,
    block: IntArray,
    start: IntArray,
    successors: IntArray,
    ways: FloatArray,
    q: FloatArray,
) -> None:
    """Set q ``[B, C]``: pull a candidate for a block, search on, commit at the frontier with `left` pulls."""
    instances, arms = alpha.shape
    states, interior = len(wins), len(block)
    room = new_room(arms)
    a, b, mean, variance = np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms)
    weight, worth = np.empty(states), np.empty(states)
    for n in range(instances):
        chosen = candidates[n]
        for s in range(interior, states):
            a[:] = alpha[n]
            b[:] = beta[n]
            for c in range(len(chosen)):
                a[chosen[c]] += wins[s, c]
                b[chosen[c]] += losses[s, c]
            weight[s] = moments(a, b, -np.inf, np.inf, nats, cut, room, mean, variance)
            worth[s] = 0.0
            for i in range(arms):
                worth[s] = max(worth[s], rewards[i] * mean[i])
        top = weight[interior:].max()
        for s in range(interior, states):
            weight[s] = math.exp(weight[s] - top)
            worth[s] *= left * weight[s]
        back_up(weight, worth, block, start, successors, ways, rewards[chosen], q[n])
