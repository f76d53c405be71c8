"""Compiled values: tables of the separable value, and the best block of independent arms."""

from __future__ import annotations

import numpy as np

from elsv._base.jit import borrowing, helper, kernel
from elsv._base.typing import FloatArray, IntArray


@borrowing
def expect(row: FloatArray, counts: FloatArray, levels: int, scale: float) -> None:
    """Replace what a level holds, by successes, by what the level before it, of `levels` states, expects."""
    for s in range(np.uint64(levels)):
        mean = counts[s] * scale
        row[s] = mean * row[s + np.uint64(1)] + (1.0 - mean) * row[s]


@borrowing
def subtract(table: FloatArray, start: int, row: FloatArray, levels: int) -> None:
    """Take so many numbers of a row from a table, beginning at `start`."""
    for s in range(np.uint64(levels)):
        table[np.uint64(start) + s] -= row[s]


@kernel
def build(table: FloatArray, bonus: FloatArray, alpha: float, beta: float, levels: int) -> None:
    """Set υ on `levels` levels of the triangle from the bonus on one level fewer."""
    counts, row = alpha + np.arange(0.0, levels), np.zeros(levels)
    table[levels * (levels - 1) // 2 : levels * (levels + 1) // 2] = 0.0
    for n in range(levels - 2, -1, -1):
        here = n * (n + 1) // 2
        expect(row, counts, n + 1, 1.0 / (alpha + beta + n))
        subtract(row, 0, bonus[here:], n + 1)
        table[here : here + n + 1] = row[: n + 1]


@kernel
def extend(table: FloatArray, bonus: FloatArray, alpha: float, beta: float, levels: int) -> None:
    """Give a table of `levels` levels one more: υ minus the expected bonus of the old last level.

    `bonus` holds the bonuses of that level alone, by successes; it serves as scratch space.
    """
    counts, last = alpha + np.arange(0.0, levels), levels * (levels - 1) // 2
    table[last + levels : last + 2 * levels + 1] = 0.0
    subtract(table, last, bonus, levels)
    for n in range(levels - 2, -1, -1):
        expect(bonus, counts, n + 1, 1.0 / (alpha + beta + n))
        subtract(table, n * (n + 1) // 2, bonus, n + 1)


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
