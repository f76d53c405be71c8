"""Compiled steps of the lockstep engine: who comes, scores by table, outcomes and when they are known."""

from __future__ import annotations

import math

import numpy as np

from elsv._base.jit import inlined, kernel
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv._choice_kernels import least_tied

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_TO_UNIT = 2.0**-53
_NEVER = 2**31 - 1  # a step that no run reaches


@inlined
def uniform(key: np.uint64, counter: np.uint64) -> float:
    """Return number `counter` of the SplitMix64 sequence that starts at `key`, in [0, 1).

    A pure function of its place: the k-th pull of an arm has one outcome, for every policy and at any step.
    """
    z = key + (counter + np.uint64(1)) * _GOLDEN
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    z = z ^ (z >> _S31)
    return np.float64(z >> _S11) * _TO_UNIT


@kernel
def advance(
    arm: IntArray,
    successes: AnyArray,
    pulls: AnyArray,
    means: FloatArray,
    gaps: FloatArray,
    key: np.uint64,
    horizon: int,
    regret: FloatArray,
    arm_counts: IntArray,
) -> tuple[float, float, int]:
    """Pull `arm` in every instance; return Σ regret, Σ regret² and how often the best arm was pulled.

    `successes` and `pulls` ``[B, N]``, `regret` ``[B]`` and `arm_counts` ``[N]`` are brought up to date.
    """
    instances, arms = means.shape
    total, squares, best = 0.0, 0.0, 0
    for b in range(instances):
        i = arm[b]
        place = np.uint64((b * arms + i) * horizon + pulls[b, i])
        if uniform(key, place) < means[b, i]:
            successes[b, i] += 1
        pulls[b, i] += 1
        gap = gaps[b, i]
        regret[b] += gap
        arm_counts[i] += 1
        best += gap == 0.0
        total += regret[b]
        squares += regret[b] * regret[b]
    return total, squares, best


@kernel
def arrive(shares: FloatArray, key: np.uint64, step: int, horizon: int, segment: IntArray) -> None:
    """Fill segment[b] with who comes to instance b at `step`, by the shares ``[B, G]``."""
    for b in range(shares.shape[0]):
        left = uniform(key, np.uint64(b * horizon + step - 1))
        g = 0
        while g < shares.shape[1] - 1 and left >= shares[b, g]:
            left -= shares[b, g]
            g += 1
        segment[b] = g


@kernel
def choose_by_table(
    wins: AnyArray,
    pulls: AnyArray,
    tables: FloatArray,
    group: IntArray,
    rewards: FloatArray,
    of_arm: IntArray,
    segment: IntArray,
    arm: IntArray,
) -> None:
    """Fill arm[b] with the best r_i · table[state of i] of the arms that segment[b] is offered.

    Ties are broken by the rule of `elsv.choice.best_arm`. Between whole numbers of wins a table is linear.
    """
    instances, arms = pulls.shape
    scores, scale = np.empty(arms), rewards.max()
    for b in range(instances):
        best = -np.inf
        for i in range(arms):
            if of_arm[i] == segment[b]:
                n = pulls[b, i]
                low = min(int(wins[b, i]), n)
                here = n * (n + 1) // 2
                share = wins[b, i] - low
                value = tables[group[i], here + low]
                if share > 0:
                    value += share * (tables[group[i], here + min(low + 1, n)] - value)
                scores[i] = rewards[i] * value
                best = max(best, scores[i])
        least, i = least_tied(best, scale), 0
        while of_arm[i] != segment[b] or scores[i] < least:
            i += 1
        arm[b] = i


@kernel
def deliver(
    step: int, under_way: AnyArray, count: IntArray, successes: AnyArray, pulls: AnyArray, waiting: AnyArray
) -> None:
    """Move the outcomes that are due at `step` or before into `successes` and `pulls`, in their order."""
    for b in range(count.shape[0]):
        kept = 0
        for k in range(count[b]):
            arm, won, due = under_way[b, k, 0], under_way[b, k, 1], under_way[b, k, 2]
            if due <= step:
                successes[b, arm] += won
                pulls[b, arm] += 1
                waiting[b, arm] -= 1
            else:
                under_way[b, kept, 0], under_way[b, kept, 1], under_way[b, kept, 2] = arm, won, due
                kept += 1
        count[b] = kept


@kernel
def send(
    step: int,
    arm: IntArray,
    made: AnyArray,
    means: FloatArray,
    horizon: int,
    outcomes: np.uint64,
    lateness: np.uint64,
    fixed: int,
    log_ratio: float,
    batch: int,
    lost: float,
    under_way: AnyArray,
    count: IntArray,
    waiting: AnyArray,
) -> None:
    """Put the outcome of `arm` in every instance under way; it is the one that `advance` draws."""
    instances, arms = means.shape
    for b in range(instances):
        i = arm[b]
        won = uniform(outcomes, np.uint64((b * arms + i) * horizon + made[b, i])) < means[b, i]
        place = np.uint64(2 * (b * horizon + step - 1))
        delay = float(fixed)
        if log_ratio < 0.0:
            delay = math.floor(math.log(1.0 - uniform(lateness, place)) / log_ratio)
        if lost > 0.0 and uniform(lateness, place + np.uint64(1)) < lost:
            won = False
        due = math.ceil((step + delay) / batch) * batch + 1.0
        k = count[b]
        under_way[b, k, 0] = i
        under_way[b, k, 1] = won
        under_way[b, k, 2] = int(min(due, float(_NEVER)))
        count[b] = k + 1
        waiting[b, i] += 1


@kernel
def histogram(values: FloatArray, smallest: float, scale: float, counts: IntArray) -> None:
    """Add each value to bin floor(scale · log(1 + value / smallest)) of `counts`."""
    last = counts.shape[0] - 1
    for b in range(values.shape[0]):
        counts[min(last, int(scale * math.log1p(max(0.0, values[b]) / smallest)))] += 1
