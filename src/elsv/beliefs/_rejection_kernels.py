"""Compiled rejection sampling: draws are tested and added up one by one as they are made, or if given."""

from __future__ import annotations

import numpy as np

from elsv._base.jit import helper, kernel
from elsv._base.typing import FloatArray, IntArray


@helper
def add_draw(theta: FloatArray, sign: float, total: FloatArray) -> bool:
    """Add a draw ``[N]`` to `total` if ``sign`` times the means never rises; return whether it was."""
    for i in range(1, len(theta)):
        if sign * theta[i] > sign * theta[i - 1]:
            return False
    for i in range(len(theta)):
        total[i] += theta[i]
    return True


@kernel
def add_draws(
    theta: FloatArray, active: IntArray, sign: float, wanted: int, total: FloatArray, accepted: IntArray
) -> None:
    """Add the draws ``[active, most, N]`` that are in order to `total` until `wanted` are in."""
    found = np.empty(theta.shape[2])
    for k in range(len(active)):
        b = active[k]
        found[:] = 0.0
        for d in range(theta.shape[1]):
            if accepted[b] < wanted and add_draw(theta[k, d], sign, found):
                accepted[b] += 1
        total[b] += found


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
    """Make `most` draws for each active instance; add those in order as `add_draws` does."""
    arms = alpha.shape[1]
    theta, found = np.empty(arms), np.empty(arms)
    for b in active:
        found[:] = 0.0
        for _ in range(most):
            for i in range(arms):
                theta[i] = rng.beta(alpha[b, i], beta[b, i])
            if accepted[b] < wanted and add_draw(theta, sign, found):
                accepted[b] += 1
        total[b] += found
