"""Compiled draws of ordered means: Gibbs sweeps, and rejection.

A Gibbs sweep draws each arm in turn, given those just below and above it. For rejection, draws are tested and
added up one by one as they are made, or if given.
"""

from __future__ import annotations

import math

import numpy as np

from elsv._base.jit import helper, kernel
from elsv._base.typing import FloatArray, IntArray

_BURN, _THIN = 200, 4  # sweeps before the first draw, and from one draw to the next
_FAR = 45.0  # nats from the mode beyond which an arm's density is nothing


@helper
def log_mass(alpha: float, beta: float, u: float) -> float:
    """Return the logarithm of a Beta density by the logit u, not normalised."""
    both = math.log1p(math.exp(-abs(u)))
    return alpha * (min(u, 0.0) - both) + beta * (min(-u, 0.0) - both)


@helper
def slice_step(
    alpha: float, beta: float, low: float, high: float, now: float, rng: np.random.Generator
) -> float:
    """Return a draw from a Beta density between two logits, by a slice that shrinks towards `now`."""
    level = log_mass(alpha, beta, now) + math.log(1 - rng.random())
    a, b = low, high
    for _ in range(200):
        u = a + (b - a) * rng.random()
        if log_mass(alpha, beta, u) >= level:
            return u
        if u < now:
            a = u
        else:
            b = u
    return now


@kernel
def gibbs(
    alpha: FloatArray,
    beta: FloatArray,
    scale: FloatArray,
    ends: FloatArray,
    lower: IntArray,
    lower_starts: IntArray,
    upper: IntArray,
    upper_starts: IntArray,
    order: IntArray,
    rng: np.random.Generator,
    place: FloatArray,
    out: FloatArray,
) -> None:
    """Set means ``[draws, N]`` of one chain that begins with `place` ``[N]``, which is changed.

    Places lie on the common axis, where the mean of an arm is 1 at its `scale`. `lower` and `upper` are the
    arms just below and above every arm.
    """
    for sweep in range(_BURN + _THIN * len(out)):
        for i in order:
            low, high = ends[i, 0], ends[i, 1]
            for q in range(lower_starts[i], lower_starts[i + 1]):
                low = max(low, place[lower[q]] / scale[i])
            for q in range(upper_starts[i], upper_starts[i + 1]):
                high = min(high, place[upper[q]] / scale[i])
            mode = math.log(alpha[i] / beta[i])
            a = math.log(low / (1 - low)) if low > 0 else min(mode, 0.0) - _FAR / alpha[i]
            b = math.log(high / (1 - high)) if high < 1 else max(mode, 0.0) + _FAR / beta[i]
            x = place[i] / scale[i]
            if a < b and 0 < x < 1:
                u = slice_step(alpha[i], beta[i], a, b, math.log(x / (1 - x)), rng)
                x = 1 / (1 + math.exp(-u)) if u > -700 else 0.0
                place[i] = scale[i] * min(max(x, low), high)
        if sweep >= _BURN and (sweep - _BURN) % _THIN == 0:
            row = (sweep - _BURN) // _THIN
            for i in range(len(place)):
                out[row, i] = place[i] / scale[i]


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
