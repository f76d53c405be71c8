r"""Which of several independent arms is best: :math:`G(v) = \prod_j I_{v/r_j}(\alpha_j, \beta_j)`.

In the logit of a mean the density of an arm is :math:`x^\alpha (1-x)^\beta / B(\alpha, \beta)`, smooth for
any counts; an arm with small ones only has long tails, which are powers of x or 1 - x.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, betaln, ndtr

from elsv._base.typing import FloatArray, IntArray
from elsv.beliefs.best.integral import Contenders, Largest, expit, log_expit
from elsv.errors import InvalidInputError

_SMALLEST = 1e-300  # smaller counts are replaced by this one
_LARGEST = 1e18  # counts whose arms double precision can still tell apart
_NORMAL = 1e12  # counts from which on the logit is normal to double precision
_STIRLING = 1e5  # counts from which on three terms of Stirling's series are exact
_ALL_TAIL = 1e-30  # counts for which x or 1 - x is all there is up to 1/2
_TAIL = 600.0  # logits beyond which x or 1 - x is all there is


def best_of_independent(
    alpha: FloatArray, beta: FloatArray, rewards: FloatArray, tolerance: float
) -> Largest:
    """Return P(arm is best) ``[N]`` and E[max] of one state."""
    largest = float(max(alpha.max(), beta.max()))
    if largest > _LARGEST:
        raise InvalidInputError(f"P(best) needs counts up to {_LARGEST:g}, got {largest:g}; scale them down")
    a, b = np.maximum(alpha, _SMALLEST), np.maximum(beta, _SMALLEST)
    curves = _Curves(a, b)
    contenders = Contenders(rewards, *curves.ranges(3.0 - float(np.log(tolerance))), b)
    noise = 1e-13 + 1e-15 * float(np.sqrt((alpha + beta).max()))
    return contenders.largest(curves.only(contenders.alive), tolerance, noise)


class _Curves:
    """Distribution functions and densities of arms as functions of the logit."""

    def __init__(self, a: FloatArray, b: FloatArray) -> None:
        self.a, self.b = a, b
        self.mode, self.fewer = np.log(a) - np.log(b), np.minimum(a, b)
        self.small = self.fewer < _ALL_TAIL
        self.normal = self.fewer > _NORMAL
        whole = betaln(a, b)
        self.log_tails = np.log(b) + whole, np.log(a) + whole
        self.log_at_mode = a * log_expit(self.mode) + b * log_expit(-self.mode)
        self.log_peak = self.log_at_mode - whole
        if self.fewer.max() > _STIRLING:
            series = 0.5 * np.log(a / (a + b) * b / (2 * np.pi)) + (1 / (a + b) - 1 / a - 1 / b) / 12
            self.log_peak = np.where(self.fewer > _STIRLING, series, self.log_peak)

    def only(self, arms: IntArray) -> _Curves:
        """Return the curves of some of the arms."""
        return self if len(arms) == len(self.a) else _Curves(self.a[arms], self.b[arms])

    def __call__(self, limit: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
        """Return the product of the distribution functions, and its derivatives in the first `count` rows."""
        below = self._distribution(limit)
        ones = np.ones((len(below), 1))
        before = np.asarray(np.cumprod(np.hstack([ones, below]), axis=1), np.float64)
        after = np.asarray(np.cumprod(np.hstack([ones, below[:, ::-1]]), axis=1)[:, ::-1], np.float64)
        others = before[:count, :-1] * after[:count, 1:]
        return before[:, -1].copy(), others * self._density(limit[:count]) if count else others

    def _distribution(self, y: FloatArray) -> FloatArray:
        """Return P(logit <= y)."""
        upper = y > 0
        near, far = np.where(upper, self.b, self.a), np.where(upper, self.a, self.b)
        distance = np.abs(y)
        tail = betainc(near, far, expit(-distance))
        if self.small.any() or distance.max() > _TAIL:
            with np.errstate(over="ignore"):  # where it is not used: the middle of a narrow curve
                powers = np.exp(-near * np.minimum(distance, 1e305) - np.where(upper, *self.log_tails))
            tail = np.where((distance > _TAIL) | (near < _ALL_TAIL), powers, tail)
        below = np.where(upper, 1 - tail, tail)
        if self.normal.any():
            spread = np.sqrt(1 / self.a + 1 / self.b)
            below = np.where(self.normal, ndtr((y - self.mode) / spread), below)
        return np.asarray(below)

    def _density(self, y: FloatArray) -> FloatArray:
        return np.asarray(np.exp(self.log_peak - self._fall(y)))

    def _fall(self, y: FloatArray) -> FloatArray:
        """Return by how many nats the density at the logit y is below its peak."""
        log_x = log_expit(y)
        far = self.log_at_mode - self.a * log_x - self.b * (log_x - y)
        if self.fewer.max() < _STIRLING:
            return far
        # About the mode the terms are as large as the counts and their sum is not.
        size = self.a + self.b
        step = np.where(self.a <= self.b, 1.0, -1.0) * (y - self.mode)
        inner = np.clip(step, -1.0, 1.0)
        near = size * np.log1p(self.fewer / size * np.expm1(inner)) - self.fewer * inner
        return np.where(step == inner, near, far)

    def ranges(self, nats: float) -> tuple[FloatArray, FloatArray]:
        """Return logits, left and right, where densities are `nats` below their peaks, or a little more."""
        a, b = self.a, self.b
        bulk = np.minimum(np.sqrt((1 / a + 1 / b) * (2 * nats)), np.abs(self.mode) + 6.0)
        y = self.mode + np.stack([-bulk - nats / a, bulk + nats / b])
        # The fall from the peak is convex, so that Newton's steps from outside stay outside.
        for _ in range(2):
            y = y - np.maximum(self._fall(y) - nats, 0.0) / (b * expit(y) - a * expit(-y))
        return y[0], y[1]
