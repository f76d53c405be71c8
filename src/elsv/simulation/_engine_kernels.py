"""Compiled steps of the lockstep engine: choosing by table, drawing outcomes, adding up regret and pulls."""

from __future__ import annotations

import math

import numpy as np

from elsv._base.jit import inlined, kernel
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv._choice_kernels import first_best

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_TO_UNIT = 2.0**-53


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
    successes: AnyArray,
    pulls: AnyArray,
    tables: FloatArray,
    group: IntArray,
    rewards: FloatArray,
    arm: IntArray,
) -> None:
    """Fill arm[b] with the best r_i · table[state of i], by the rule of `elsv.choice.best_arm`."""
    instances, arms = pulls.shape
    scores, scale = np.empty(arms), rewards.max()
    for b in range(instances):
        for i in range(arms):
            n = pulls[b, i]
            scores[i] = rewards[i] * tables[group[i], n * (n + 1) // 2 + successes[b, i]]
        arm[b] = first_best(scores, scale)


@kernel
def histogram(values: FloatArray, smallest: float, scale: float, counts: IntArray) -> None:
    """Add each value to bin floor(scale · log(1 + value / smallest)) of `counts`."""
    last = counts.shape[0] - 1
    for b in range(values.shape[0]):
        counts[min(last, int(scale * math.log1p(max(0.0, values[b]) / smallest)))] += 1
