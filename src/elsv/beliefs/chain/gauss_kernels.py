r"""Gauss rules for measures that are given at many nodes: few points with the same moments.

A rule of n points has the moments up to degree 2n - 1. Its points are the eigenvalues of the measure's Jacobi
matrix, which the three-term recurrence of its orthogonal polynomials gives (Stieltjes; Golub, Welsch 1969).
"""

from __future__ import annotations

import math

import numpy as np

from elsv._base.jit import helper, kernel, merged
from elsv._base.typing import FloatArray

LANES = 4
SMALL = 1e-12  # squared length below which the nodes have no further polynomial


@merged
def recurrence(t: FloatArray, mass: FloatArray, diagonal: FloatArray, beside: FloatArray) -> int:
    """Set the Jacobi matrix of a measure of total 1 at `t`; return its size, less where nodes are few."""
    size, nodes = len(diagonal), np.uint64(len(t))
    before, now, part = np.empty(len(t)), np.empty(len(t)), np.empty(len(t) + LANES)
    for g in range(nodes):
        before[g], now[g] = 0.0, 1.0
    for g in range(LANES):
        part[len(t) + g] = 0.0
    link = 0.0
    for k in range(size):
        for g in range(nodes):
            part[g] = mass[g] * t[g] * now[g] * now[g]
        at = add_up(part)
        diagonal[k] = at
        for g in range(nodes):
            new = (t[g] - at) * now[g] - link * before[g]
            before[g] = now[g]
            now[g] = new
            part[g] = mass[g] * new * new
        length = add_up(part)
        if length < SMALL:
            return k + 1
        link = math.sqrt(length)
        beside[k] = link
        factor = 1 / link
        for g in range(nodes):
            now[g] *= factor
    return size


@helper
def add_up(values: FloatArray) -> float:
    """Return the sum, in lanes that do not wait for one another; the last `LANES` or so may be left out."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for g in range(0, len(values) - LANES + 1, LANES):
        a += values[g]
        b += values[g + 1]
        c += values[g + 2]
        d += values[g + 3]
    return (a + b) + (c + d)


@merged
def diagonalise(size: int, diagonal: FloatArray, beside: FloatArray, first: FloatArray) -> None:
    """Set `diagonal` to the eigenvalues and `first` to the eigenvectors' first entries (implicit QL)."""
    for k in range(len(first)):
        first[k] = 1.0 if k == 0 else 0.0
    beside[size - 1] = 0.0
    for low in range(size):
        for _ in range(60):
            high = low
            while high < size - 1:
                scale = abs(diagonal[high]) + abs(diagonal[high + 1])
                if abs(beside[high]) <= 1e-16 * scale:
                    break
                high += 1
            if high == low:
                break
            shift = (diagonal[low + 1] - diagonal[low]) / (2 * beside[low])
            radius = math.hypot(shift, 1.0)
            g = diagonal[high] - diagonal[low] + beside[low] / (shift + math.copysign(radius, shift))
            sine, cosine, p = 1.0, 1.0, 0.0
            for i in range(high - 1, low - 1, -1):
                f, b = sine * beside[i], cosine * beside[i]
                radius = math.hypot(f, g)
                beside[i + 1] = radius
                if radius == 0.0:
                    diagonal[i + 1] -= p
                    beside[high] = 0.0
                    break
                sine, cosine = f / radius, g / radius
                g = diagonal[i + 1] - p
                radius = (diagonal[i] - g) * sine + 2 * cosine * b
                p = sine * radius
                diagonal[i + 1] = g + p
                g = cosine * radius - b
                f = first[i + 1]
                first[i + 1] = sine * first[i] + cosine * f
                first[i] = cosine * first[i] - sine * f
            else:
                diagonal[low] -= p
                beside[low] = g
                beside[high] = 0.0


@kernel
def gauss_rule(x: FloatArray, mass: FloatArray, nodes: FloatArray, weights: FloatArray) -> float:
    """Set the Gauss rule of a measure at `x`, weights of total 1; return its total, 0 for no rule.

    Where the measure has fewer nodes than the rule, the rest of the rule has weight 0.
    """
    total, first = 0.0, 0.0
    inside = 0
    for g in range(len(x)):
        if mass[g] > 0.0:
            total += mass[g]
            first += mass[g] * x[g]
            inside += 1
    if not total > 0.0:
        return 0.0
    mean = first / total
    t, share = np.empty(inside), np.empty(inside)
    inside, second = 0, 0.0
    for g in range(len(x)):
        if mass[g] > 0.0:
            t[inside] = x[g] - mean
            share[inside] = mass[g] / total
            second += share[inside] * t[inside] ** 2
            inside += 1
    spread = math.sqrt(second)
    if spread <= 1e-150:
        for k in range(len(nodes)):
            nodes[k] = mean
            weights[k] = 1.0 if k == 0 else 0.0
        return total
    for g in range(inside):
        t[g] /= spread
    beside = np.empty(len(nodes))
    size = recurrence(t, share, nodes, beside)
    diagonalise(size, nodes, beside, weights)
    for k in range(len(nodes)):
        nodes[k] = mean + spread * nodes[k] if k < size else mean
        weights[k] = weights[k] ** 2 if k < size else 0.0
    return total
