"""Means and variances of chains, whole or cut by a mean that is given."""

from __future__ import annotations

import math

import numpy as np

from elsv._base.typing import FloatArray
from elsv.beliefs.chain.panels import in_parts

_WHOLE = (-math.inf, math.inf)


def moments(
    alpha: FloatArray, beta: FloatArray, nats: float, cut: float, ends: tuple[float, float] = _WHOLE
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return means and variances ``[B, N]`` and log W ``[B]`` of chains between the logits `ends`."""
    from elsv.beliefs.chain.batch_kernels import batch_moments

    mean, variance, weight = np.empty_like(alpha), np.empty_like(alpha), np.empty(len(alpha))
    for here, placed in in_parts(alpha, beta, nats, cut, *ends):
        batch_moments(alpha[here], beta[here], placed, mean[here], variance[here], weight[here])
    return mean, variance, weight


def conditional_means(
    alpha: FloatArray, beta: FloatArray, arm: int, at: FloatArray, nats: float, cut: float
) -> FloatArray:
    """Return E[μ_l | μ_arm = x] for x in `at` ``[K]``, shape ``[B, K, N]``: two chains that x keeps apart."""
    states, arms = alpha.shape
    out = np.empty((states, len(at), arms))
    for k, x in enumerate(at.tolist()):
        y = math.log(x) - math.log1p(-x)
        out[:, k, arm] = x
        for others, ends in ((slice(0, arm), (y, math.inf)), (slice(arm + 1, arms), (-math.inf, y))):
            if others.start < others.stop:
                won, lost = np.ascontiguousarray(alpha[:, others]), np.ascontiguousarray(beta[:, others])
                out[:, k, others] = moments(won, lost, nats, cut, ends)[0]
    return out
