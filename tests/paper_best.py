"""P(best) and E[max] for whole counts as fractions: polynomials between the rewards, integrated exactly."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

from paper_beliefs import antiderivative, beta_polynomial, multiply

Polynomial = list[Fraction]


def value(p: Polynomial, x: Fraction) -> Fraction:
    return sum((c * x**k for k, c in enumerate(p)), Fraction(0))


def integral(p: Polynomial, low: Fraction) -> Polynomial:
    """Return the integral of p from `low`."""
    found = antiderivative(p)
    found[0] = -value(found, low)
    return found


def capped_weight(densities: list[Polynomial], caps: list[Fraction], bottom: Fraction) -> Fraction:
    """Return the integral over x_1 >= ... >= x_N >= bottom with every x_j at most its cap."""
    if bottom == 1:
        return Fraction(not densities)
    edges = sorted({bottom, Fraction(1), *(c for c in caps if c > bottom)})
    below = [[Fraction(1)] for _ in edges[1:]]
    for density, cap in reversed(list(zip(densities, caps, strict=True))):
        total, after = Fraction(0), []
        for (low, high), p in zip(pairwise(edges), below, strict=True):
            piece = integral(multiply(density, p), low) if high <= cap else [Fraction(0)]
            piece[0] += total
            after.append(piece)
            total = value(piece, high)
        below = after
    return value(below[-1], Fraction(1))


def exactly(f: Callable[[Fraction], Fraction], low: Fraction, high: Fraction, degree: int) -> Fraction:
    """Return the integral of a polynomial of at most this degree, from its values."""
    points = [low + (high - low) * Fraction(k, degree) for k in range(degree + 1)]
    total = Fraction(0)
    for i, x in enumerate(points):
        basis = [Fraction(1)]
        for j, other in enumerate(points):
            if j != i:
                basis = multiply(basis, [-other / (x - other), 1 / (x - other)])
        total += f(x) * value(integral(basis, low), high)
    return total


def best(
    alpha: list[int], beta: list[int], rewards: list[Fraction], ordered: bool
) -> tuple[list[Fraction], Fraction]:
    """Return P(arm i has the largest r_i mu_i) and E[max]; `ordered`: given mu_1 >= ... >= mu_N."""
    densities = [beta_polynomial(a, b) for a, b in zip(alpha, beta, strict=True)]
    degree = sum(alpha) + sum(beta)

    def rate(i: int, v: Fraction) -> Fraction:
        """Return the density of arm i being best at v, up to a factor that all share."""
        at = v / rewards[i]
        caps = [min(v / r, Fraction(1)) for r in rewards]
        found = value(densities[i], at) / rewards[i]
        if ordered:
            below = [min(c, at) for c in caps[i + 1 :]]
            found *= capped_weight(densities[:i], caps[:i], at)
            return found * capped_weight(densities[i + 1 :], below, Fraction(0))
        for j, density in enumerate(densities):
            if j != i:
                found *= value(antiderivative(density), caps[j])
        return found

    chance, largest = [Fraction(0)] * len(alpha), Fraction(0)
    for low, high in pairwise([Fraction(0), *sorted(set(rewards))]):
        for i, reward in enumerate(rewards):
            if reward >= high:
                chance[i] += exactly(lambda v, i=i: rate(i, v), low, high, degree)
                largest += exactly(lambda v, i=i: v * rate(i, v), low, high, degree)
    total = sum(chance)
    return [c / total for c in chance], largest / total
