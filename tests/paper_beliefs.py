"""Beliefs under an order, in plain slow forms: exact fractions and a dense sum in the log domain."""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial

import numpy as np


def beta_polynomial(alpha: int, beta: int) -> list[Fraction]:
    """Coefficients of x^(alpha-1) (1-x)^(beta-1), lowest power first."""
    tail = [Fraction((-1) ** k * comb(beta - 1, k)) for k in range(beta)]
    return [Fraction(0)] * (alpha - 1) + tail


def multiply(p: list[Fraction], q: list[Fraction]) -> list[Fraction]:
    out = [Fraction(0)] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            out[i + j] += a * b
    return out


def antiderivative(p: list[Fraction]) -> list[Fraction]:
    return [Fraction(0)] + [c / (k + 1) for k, c in enumerate(p)]


def weight(alpha: list[int], beta: list[int]) -> Fraction:
    """W(s) for mu_1 >= ... >= mu_N, by integrating the innermost arm first."""
    message = [Fraction(1)]
    for a, b in reversed(list(zip(alpha, beta, strict=True))):
        message = antiderivative(multiply(beta_polynomial(a, b), message))
    return sum(message, Fraction(0))


def mean(alpha: list[int], beta: list[int]) -> list[Fraction]:
    """p_i = W(s + success_i) / W(s)."""
    total = weight(alpha, beta)
    return [weight([a + (j == i) for j, a in enumerate(alpha)], beta) / total for i in range(len(alpha))]


def dense_mean(alpha, beta, low: float, high: float, points: int) -> np.ndarray:
    """Means for a decreasing order: the trapezoid rule on two grids, extrapolated to step zero."""
    coarse, fine = (trapezoid_mean(alpha, beta, low, high, k * points + 1) for k in (1, 2))
    return (4 * fine - coarse) / 3


def trapezoid_mean(alpha, beta, low: float, high: float, points: int) -> np.ndarray:
    """Means for a decreasing order on one grid of logits, in the log domain."""
    y = np.linspace(low, high, points)
    log_x, log_rest = -np.logaddexp(0, -y), -np.logaddexp(0, y)
    density = [a * log_x + b * log_rest for a, b in zip(alpha, beta, strict=True)]
    arms = len(density)

    def cumulative(values):
        cells = np.logaddexp(values[1:], values[:-1])
        return np.concatenate(([-np.inf], np.logaddexp.accumulate(cells)))

    lower = [np.zeros(points)]
    for i in range(arms - 1, 0, -1):
        lower.insert(0, cumulative(density[i] + lower[0]))
    upper = np.zeros(points)
    means = []
    for i in range(arms):
        log_marginal = density[i] + lower[i] + upper
        marginal = np.exp(log_marginal - log_marginal.max())
        means.append((marginal * np.exp(log_x)).sum() / marginal.sum())
        upper = cumulative((density[i] + upper)[::-1])[::-1]
    return np.array(means)


def pair_weight(alpha: list[int], beta: list[int]) -> Fraction:
    """W(s) of two arms, mu_1 >= mu_2, for large counts: I_x(a, b) is a sum over binomial outcomes."""
    (a, c), (b, d) = alpha, beta
    n = c + d - 1
    return beta_function(c, d) * sum(
        (comb(n, j) * beta_function(a + j, b + n - j) for j in range(c, n + 1)), Fraction(0)
    )


def beta_function(a: int, b: int) -> Fraction:
    """B(a, b) of whole numbers."""
    return Fraction(factorial(a - 1) * factorial(b - 1), factorial(a + b - 1))
