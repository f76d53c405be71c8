"""Compiled block commit value of independent arms."""

from __future__ import annotations

import numpy as np

from elsv._base.jit import helper, kernel
from elsv._base.typing import FloatArray, IntArray


@helper
def expected_best(own: float, alpha: float, beta: float, length: int, others: float) -> float:
    """Return E[max(own * mean after `length` pulls, others)]; the outcomes are Beta-binomial."""
    chance = 1.0
    for u in range(length):
        chance *= (beta + u) / (alpha + beta + u)
    total, seen = 0.0, 0.0
    scale = own / (alpha + beta + length)
    for j in range(length + 1):
        total += chance * max((alpha + j) * scale, others)
        seen += chance
        if j < length:
            chance *= (length - j) * (alpha + j) / ((j + 1) * (beta + length - 1 - j))
    return total / seen


@kernel
def best_block(
    alpha: FloatArray,
    beta: FloatArray,
    rewards: FloatArray,
    of_arm: IntArray,
    coming: FloatArray,
    lengths: IntArray,
    left: float,
    discount: float,
    out: FloatArray,
) -> None:
    """Set out[b] to the best of committing now and of blocks of every arm and length.

    `of_arm` ``[N]`` is the segment of every arm, `coming` ``[B, G]`` the chance of each segment; `left`
    counts the rewards to come, discounted with a `discount` below 1. A block must leave a customer to commit
    for.
    """
    arms, segments = alpha.shape[1], coming.shape[1]
    worth, top = np.empty(arms), np.empty(segments)
    for b in range(len(alpha)):
        top[:] = 0.0
        for i in range(arms):
            worth[i] = rewards[i] * alpha[b, i] / (alpha[b, i] + beta[b, i])
            top[of_arm[i]] = max(top[of_arm[i]], worth[i])
        typical = 0.0
        for g in range(segments):
            typical += coming[b, g] * top[g]
        best = left * typical
        for i in range(arms):
            share, rivals = coming[b, of_arm[i]], -np.inf
            others = typical - share * top[of_arm[i]]
            for j in range(arms):
                if j != i and of_arm[j] == of_arm[i]:
                    rivals = max(rivals, worth[j])
            for length in lengths:
                customers = length / share
                during, later = customers, left - customers
                if discount != 1.0:
                    later = left * discount**customers
                    during = left - later
                if later > 0.0:
                    after = expected_best(rewards[i], alpha[b, i], beta[b, i], length, rivals)
                    block = during * (others + share * worth[i]) + later * (others + share * after)
                    best = max(best, block)
        out[b] = best
