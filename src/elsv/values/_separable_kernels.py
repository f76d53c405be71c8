"""Compiled forms of the separable value: building the table, extending it, reading it."""

from __future__ import annotations

import numpy as np

from elsv._base.jit import kernel
from elsv._base.typing import FloatArray, IntArray


@kernel
def build(table: FloatArray, bonus: FloatArray, alpha: float, beta: float, levels: int) -> None:
    """Set υ on `levels` levels of the triangle from the bonus on one level fewer."""
    last = levels - 1
    table[last * levels // 2 : levels * (levels + 1) // 2] = 0.0
    for n in range(last - 1, -1, -1):
        here = n * (n + 1) // 2
        above = here + n + 1
        scale = 1.0 / (alpha + beta + n)
        for s in range(n + 1):
            mean = (alpha + s) * scale
            table[here + s] = mean * table[above + s + 1] + (1.0 - mean) * table[above + s] - bonus[here + s]


@kernel
def extend(table: FloatArray, bonus: FloatArray, alpha: float, beta: float, levels: int) -> None:
    """Give a table of `levels` levels one more: υ minus the expected bonus of the old last level.

    `bonus` holds the bonuses of that level alone, by successes; it serves as scratch space.
    """
    size = levels * (levels + 1) // 2
    table[size : size + levels + 1] = 0.0
    last = levels - 1
    start = last * levels // 2
    for s in range(levels):
        table[start + s] -= bonus[s]
    for n in range(last - 1, -1, -1):
        here = n * (n + 1) // 2
        scale = 1.0 / (alpha + beta + n)
        for s in range(n + 1):
            mean = (alpha + s) * scale
            bonus[s] = mean * bonus[s + 1] + (1.0 - mean) * bonus[s]
            table[here + s] -= bonus[s]


@kernel
def total(
    alpha: FloatArray,
    beta: FloatArray,
    prior: FloatArray,
    tables: FloatArray,
    group: IntArray,
    weights: FloatArray,
    levels: int,
    out: FloatArray,
) -> int:
    """Fill out[b] with Σ_i weights_i υ(s_i); return the number of counts outside the table."""
    outside = 0
    for b in range(alpha.shape[0]):
        value = 0.0
        for i in range(alpha.shape[1]):
            wins = alpha[b, i] - prior[i, 0]
            n = int(np.rint(wins + (beta[b, i] - prior[i, 1])))
            s = int(np.rint(wins))  # expected outcomes may be fractions
            if s < 0 or n < s or n >= levels:
                outside += 1
            else:
                value += weights[i] * tables[group[i], n * (n + 1) // 2 + s]
        out[b] = value
    return outside


@kernel
def one_step(
    alpha: FloatArray,
    beta: FloatArray,
    mean: FloatArray,
    rewards: FloatArray,
    prior: FloatArray,
    tables: FloatArray,
    group: IntArray,
    weights: FloatArray,
    levels: int,
    out: FloatArray,
) -> int:
    """Fill out[b, i] with q(s, i) of one pull; return the number of counts outside the table.

    Only the pulled arm's term of Σ_j changes, so the sum over the others is taken once: O(N) where
    one sum for each successor would be O(N²).
    """
    outside = 0
    for b in range(alpha.shape[0]):
        stay = 0.0
        for i in range(alpha.shape[1]):
            wins = alpha[b, i] - prior[i, 0]
            n = int(np.rint(wins + (beta[b, i] - prior[i, 1])))
            s = int(np.rint(wins))  # expected outcomes may be fractions
            if s < 0 or n < s or n + 1 >= levels:
                outside += 1
                continue
            here = tables[group[i], n * (n + 1) // 2 + s]
            above = (n + 1) * (n + 2) // 2 + s
            success = tables[group[i], above + 1]
            failure = tables[group[i], above]
            p = mean[b, i]
            stay += weights[i] * here
            out[b, i] = p * (rewards[i] + weights[i] * (success - here)) + (1.0 - p) * weights[i] * (
                failure - here
            )
        for i in range(alpha.shape[1]):
            out[b, i] += stay
    return outside
