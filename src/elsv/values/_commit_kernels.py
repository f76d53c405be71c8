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
    lengths: IntArray,
    during: FloatArray,
    later: FloatArray,
    now: float,
    out: FloatArray,
) -> None:
    """Set out[b] to the best of committing now and of blocks of every arm and length.

    `during` and `later` hold what a reward counts within a block of each length and after it.
    """
    arms = alpha.shape[1]
    worth = np.empty(arms)
    for b in range(len(alpha)):
        for i in range(arms):
            worth[i] = rewards[i] * alpha[b, i] / (alpha[b, i] + beta[b, i])
        best = now * worth.max()
        for i in range(arms):
            others = -np.inf
            for j in range(arms):
                if j != i:
                    others = max(others, worth[j])
            for k in range(len(lengths)):
                after = expected_best(rewards[i], alpha[b, i], beta[b, i], lengths[k], others)
                best = max(best, during[k] * worth[i] + later[k] * after)
        out[b] = best
