"""The indices as plain loops: one state at a time, slow and obviously right.

Counts are whole numbers with the uniform prior Beta(1, 1) unless a prior is passed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

INFINITY = math.inf


def mean(alpha: float, beta: float) -> float:
    return alpha / (alpha + beta)


def ucb(alpha: float, beta: float, t: int, scale: float, pulls: float) -> float:
    """Equation 3 of the paper, with whatever counts as pulls."""
    return INFINITY if pulls == 0 else mean(alpha, beta) + math.sqrt(scale * math.log(t) / pulls)


def ucb1(successes: int, n: int, t: int) -> float:
    """Auer, Cesa-Bianchi and Fischer 2002, figure 1: t - 1 pulls were made so far."""
    return INFINITY if n == 0 else successes / n + math.sqrt(2 * math.log(t) / n)


def ucb_v(successes: int, n: int, t: int, zeta: float = 1.2, c: float = 1, b: float = 1) -> float:
    """Audibert, Munos and Szepesvári 2009, with the variance summed reward by reward."""
    if n == 0:
        return INFINITY
    rewards = [1] * successes + [0] * (n - successes)
    average = sum(rewards) / n
    variance = sum((reward - average) ** 2 for reward in rewards) / n
    exploration = zeta * math.log(t)
    return average + math.sqrt(2 * variance * exploration / n) + c * 3 * b * exploration / n


def moss(successes: int, n: int, horizon: int, arms: int) -> float:
    """Audibert and Bubeck 2009."""
    return INFINITY if n == 0 else successes / n + math.sqrt(max(math.log(horizon / (arms * n)), 0) / n)


def divergence(p: Decimal, q: Decimal) -> Decimal:
    """Kullback-Leibler divergence of Bernoulli(q) from Bernoulli(p)."""
    total = Decimal(0)
    for x, y in ((p, q), (1 - p, 1 - q)):
        if x > 0:
            total += x * (x / y).ln() if y > 0 else Decimal("Infinity")
    return total


def kl_ucb(successes: int, n: int, t: int, c: float = 0) -> float:
    """Garivier and Cappé 2011, algorithm 1: bisection with 40 digits."""
    if n == 0:
        return INFINITY
    with localcontext() as context:
        context.prec = 40
        budget = Decimal(t).ln()
        if t >= 3:
            budget += Decimal(c) * budget.ln()
        p = Decimal(successes) / n
        low, high = p, Decimal(1)
        while high - low > Decimal("1e-18"):
            q = (low + high) / 2
            if n * divergence(p, q) <= budget:
                low = q
            else:
                high = q
        return float(low)


def beta_above(alpha: int, beta: int, x: Fraction) -> Fraction:
    """P(θ > x) for whole counts: fewer than alpha of alpha + beta - 1 uniform draws lie below x."""
    n = alpha + beta - 1
    return sum((math.comb(n, k) * x**k * (1 - x) ** (n - k) for k in range(alpha)), Fraction(0))


def root(decreasing: Callable[[Fraction], Fraction], steps: int = 44) -> float:
    """Zero of a decreasing function on (0, 1) by bisection, to 2^-steps."""
    low, high = Fraction(0), Fraction(1)
    for _ in range(steps):
        middle = (low + high) / 2
        if decreasing(middle) >= 0:
            low = middle
        else:
            high = middle
    return float((low + high) / 2)


def bayes_ucb(alpha: int, beta: int, t: int, factor: Fraction = Fraction(1)) -> float:
    """Kaufmann, Cappé and Garivier 2012: the quantile at level 1 - 1/(t factor), the mean at level 0."""
    tail = 1 / (t * factor)
    return mean(alpha, beta) if tail >= 1 else root(lambda x: beta_above(alpha, beta, x) - tail)


def expected_excess(alpha: int, beta: int, rate: Fraction) -> Fraction:
    """E(θ - rate)+ for θ ~ Beta(alpha, beta): the integral of P(θ > x) from rate to 1.

    Term by term, ∫ x^k (1-x)^(n-k) from rate to 1 is B(k+1, n-k+1) P(Beta(k+1, n-k+1) > rate), and
    comb(n, k) B(k+1, n-k+1) = 1/(n+1).
    """
    n = alpha + beta - 1
    return sum((beta_above(k + 1, n - k + 1, rate) for k in range(alpha)), Fraction(0)) / (n + 1)


def optimistic_gain(alpha: int, beta: int, rate: Fraction, steps: int, discount: Fraction) -> Fraction:
    """Best discounted sum of (reward - rate), times 1 - discount, when this arm must be pulled once.

    After `steps` pulls the mean is revealed (after the first of them, for steps = 1).
    """
    m = Fraction(alpha, alpha + beta)
    if steps == 1:
        later = expected_excess(alpha, beta, rate)
    else:
        won = optimistic_gain(alpha + 1, beta, rate, steps - 1, discount)
        lost = optimistic_gain(alpha, beta + 1, rate, steps - 1, discount)
        later = m * max(won, Fraction(0)) + (1 - m) * max(lost, Fraction(0))
    return (1 - discount) * (m - rate) + discount * later


def optimistic_gittins(alpha: int, beta: int, steps: int, discount: Fraction) -> float:
    """Gutin and Farias 2016: the rate at which pulling once more and retiring are equally good."""
    return root(lambda rate: optimistic_gain(alpha, beta, rate, steps, discount), steps=40)
