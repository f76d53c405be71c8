"""Compiled rejection sampling: draws are made, tested and added up one by one, and never stored."""

from __future__ import annotations

import numpy as np

from elsv._jit import kernel
from elsv._typing import FloatArray, IntArray


@kernel
def collect(
    rng: np.random.Generator,
    active: IntArray,
    alpha: FloatArray,
    beta: FloatArray,
    sign: float,
    most: int,
    wanted: int,
    total: FloatArray,
    accepted: IntArray,
) -> None:
    """Make `most` draws for each active instance; add those in order to `total` until `wanted` are in.

    In order: ``sign`` times the means never rises.
    """
    arms = alpha.shape[1]
    theta, found = np.empty(arms), np.empty(arms)
    for b in active:
        found[:] = 0.0
        for _ in range(most):
            for i in range(arms):
                theta[i] = rng.beta(alpha[b, i], beta[b, i])
            passed = accepted[b] < wanted
            for i in range(1, arms):
                passed = passed and sign * theta[i] <= sign * theta[i - 1]
            if passed:
                accepted[b] += 1
                for i in range(arms):
                    found[i] += theta[i]
        for i in range(arms):
            total[b, i] += found[i]
