"""Compiled queue of outcomes under way."""

from __future__ import annotations

import math

import numpy as np

from elsv._base.jit import kernel
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv._choice_kernels import first_best
from elsv.simulation._engine_kernels import uniform

_NEVER = 2**31 - 1


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
def choose_between(
    wins: FloatArray, pulls: AnyArray, tables: FloatArray, group: IntArray, rewards: FloatArray, arm: IntArray
) -> None:
    """Fill arm[b] as `choose_by_table` does, with tables read linearly between two whole numbers of wins."""
    instances, arms = pulls.shape
    scores, scale = np.empty(arms), rewards.max()
    for b in range(instances):
        for i in range(arms):
            n = pulls[b, i]
            low = min(int(wins[b, i]), n)
            high = min(low + 1, n)
            here = n * (n + 1) // 2
            share = wins[b, i] - low
            value = tables[group[i], here + low]
            if share > 0.0:
                value += share * (tables[group[i], here + high] - value)
            scores[i] = rewards[i] * value
        arm[b] = first_best(scores, scale)
