"""Nodes on panels of the largest reward, and what the arms' densities at them come to."""

from __future__ import annotations

import math

import numpy as np

from elsv._jit import kernel
from elsv._typing import AnyArray, FloatArray

SAFETY = 0.02  # measured: what the square of the last coefficients is at most, against the error of a rule


@kernel
def spread(
    left: FloatArray,
    right: FloatArray,
    reward: FloatArray,
    straight: AnyArray,
    t: FloatArray,
    rewards: FloatArray,
    cut: AnyArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return, for t in [-1, 1] on every panel, v and the logits of v/r_j and their derivatives by t.

    Shapes are ``[P K]`` and ``[P K, C]``. An arm that has a cut of its own at r_j lies below any larger v.
    """
    points = len(t)
    v = np.empty(len(left) * points)
    limit, rate = np.empty((len(v), len(rewards))), np.empty((len(v), len(rewards)))
    for p in range(len(left)):
        half, h = 0.5 * (right[p] - left[p]), reward[p]
        far, near = 1 / (1 + math.exp(min(left[p], 700.0))), 1 / (1 + math.exp(min(right[p], 700.0)))
        for k in range(points):
            n = p * points + k
            if straight[p]:
                rest = 0.5 * ((far + near) + (near - far) * t[k])  # 1 - v/h
                u = math.log1p(-rest) - math.log(rest)
                per_t = 0.5 * (far - near) / (rest * (1 - rest))
            else:
                u, per_t = 0.5 * (left[p] + right[p]) + half * t[k], half
            small = math.exp(-abs(u))
            rest = (small if u > 0 else 1.0) / (1 + small)
            log_share = min(u, 0.0) - math.log1p(small)
            v[n] = h * math.exp(log_share)
            for j in range(len(rewards)):
                gap = 0.0 if cut[j] and rewards[j] < h else (rewards[j] - h) + h * rest
                if rewards[j] == h:
                    limit[n, j], rate[n, j] = u, per_t
                elif gap > 0:
                    limit[n, j] = math.log(h / gap) + log_share
                    rate[n, j] = per_t * rest * rewards[j] / gap
                else:
                    limit[n, j], rate[n, j] = np.inf, 0.0
    return v, limit, rate


@kernel
def collect(
    density: FloatArray,
    rate: FloatArray,
    v: FloatArray,
    mass: FloatArray,
    weights: FloatArray,
    last: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return every panel's part of P(best) ``[P, C]`` and of E[max] ``[P]``, and its error ``[P]``.

    `density` and `rate` are ``[P K, C]``, `mass` is what G grows by, `last` ``[2, K]`` gives the last two
    Legendre coefficients.
    """
    size, points = density.shape[1], len(weights)
    chance, worth, error = np.zeros((len(mass), size)), np.zeros(len(mass)), np.zeros(len(mass))
    for p in range(len(mass)):
        total, rough = 0.0, 0.0
        for j in range(size):
            peak, first, second = 1e-300, 0.0, 0.0
            for k in range(points):
                n = p * points + k
                value = density[n, j] * rate[n, j]
                chance[p, j] += weights[k] * value
                worth[p] += weights[k] * value * v[n]
                first += last[0, k] * value
                second += last[1, k] * value
                peak = max(peak, value)
            total += chance[p, j]
            share = min(0.5 * (abs(first) + abs(second)) / peak, 1.0)
            rough += peak * share * share
        error[p] = max(abs(total - mass[p]), SAFETY * rough)
        if total > 0:
            factor = mass[p] / total
            worth[p] *= factor
            for j in range(size):
                chance[p, j] *= factor
    return chance, worth, error
