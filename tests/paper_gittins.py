"""Gittins indices in plain slow form: whole triangles, no bands, bisection or exact Newton."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def advantage(alpha: float, beta: float, lam: float, discount: float, pulls: int) -> float:
    """Value of pulling now and going on while it pays, at most `pulls` times, against lam for each pull."""
    value = np.zeros(pulls + 1)  # no pulls left
    now = 0.0
    for n in range(pulls - 1, -1, -1):
        mean = (alpha + np.arange(n + 1)) / (alpha + beta + n)
        pull = mean - lam + discount * (mean * value[1:] + (1 - mean) * value[:-1])
        value = np.maximum(0.0, pull)
        now = pull[0]
    return float(now)


def index_by_bisection(alpha: float, beta: float, discount: float, pulls: int, halvings: int = 40) -> float:
    """The lam at which the advantage is 0, from the mean to 1."""
    low, high = alpha / (alpha + beta), 1.0
    for _ in range(halvings):
        middle = (low + high) / 2
        if advantage(alpha, beta, middle, discount, pulls) >= 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def infinite_index(alpha: float, beta: float, discount: float, error: float = 1e-10) -> float:
    """Infinite horizon: so many pulls that what comes after is worth less than `error`."""
    pulls = int(np.ceil(np.log(error * (1 - discount)) / np.log(discount)))
    return index_by_bisection(alpha, beta, discount, pulls)


def exact_index(alpha: Fraction, beta: Fraction, pulls: int, discount: Fraction = Fraction(1)) -> Fraction:
    """The exact root: the advantage is convex and piecewise linear in lam, so Newton's method ends at it."""
    lam = Fraction(alpha) / (alpha + beta)
    while True:
        value, slope = _exact_advantage(Fraction(alpha), Fraction(beta), lam, discount, pulls)
        if value == 0:
            return lam
        lam -= value / slope


def _exact_advantage(
    alpha: Fraction, beta: Fraction, lam: Fraction, discount: Fraction, pulls: int
) -> tuple[Fraction, Fraction]:
    mean = alpha / (alpha + beta)
    value, slope = mean - lam, Fraction(-1)
    if pulls > 1:
        for chance, a, b in ((mean, alpha + 1, beta), (1 - mean, alpha, beta + 1)):
            later, later_slope = _exact_advantage(a, b, lam, discount, pulls - 1)
            if later > 0:
                value += discount * chance * later
                slope += discount * chance * later_slope
    return value, slope
