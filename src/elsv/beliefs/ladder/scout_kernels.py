r"""Where the weight of a state lies when data contradict the order: a coarse pass in logarithms.

There single densities are e^-1000 and less, no panel laid for the arms by themselves is right, and values on
a wide panel leave the range of a double. Here everything is a logarithm at points along the axis, and between
two of them logarithms are straight lines: a few per cent of W at worst, but right in its place. Intervals are
halved until those that matter are short.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsv._base.jit import helper, inlined
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.beliefs.ladder import Program, Setup
from elsv.beliefs.ladder.axis_kernels import NEVER, Panels, log_density

_ROUNDS = 80
_MOST_POINTS = 40_000
_STRAIGHT = 2.0  # nats that an interval may bend or span


class Trail(NamedTuple):
    """Points along the axis; two at the same place where a piece ends and the next one begins."""

    piece: IntArray  # [n]
    u: FloatArray  # [n]


@inlined
def log_add(a: float, b: float) -> float:
    """Return log(exp(a) + exp(b))."""
    low, high = min(a, b), max(a, b)
    if low - high < -40.0 or low <= NEVER:
        return high
    return high + math.log1p(math.exp(low - high))


@inlined
def log_segment(a: float, b: float, width: float) -> float:
    """Return the logarithm of the integral of what is straight in logarithms between a and b."""
    if width <= 0 or a <= NEVER or b <= NEVER:
        return NEVER
    gap = abs(b - a)
    shape = -0.5 * gap if gap < 1e-4 else math.log(-math.expm1(-gap) / gap)
    return max(a, b) + shape + math.log(width)


@helper
def scout(setup: Setup, panels: Panels, cut: float) -> Panels:
    """Return panels that follow what matters, beginning with `panels`."""
    count = len(panels.piece)
    piece, u = np.empty(2 * count, np.int64), np.empty(2 * count)
    size = 0
    for p in range(count):
        if size == 0 or piece[size - 1] != panels.piece[p]:
            piece[size], u[size] = panels.piece[p], panels.left[p]
            size += 1
        piece[size], u[size] = panels.piece[p], panels.right[p]
        size += 1
    trail = Trail(piece[:size].copy(), u[:size].copy())
    for _ in range(_ROUNDS):
        chosen = long_intervals(setup, trail, cut)
        if not chosen.any() or len(trail.u) > _MOST_POINTS:
            break
        trail = with_middles(trail, chosen)
    return as_panels(trail)


@helper
def with_middles(trail: Trail, chosen: AnyArray) -> Trail:
    """Return the points with a further one in the middle of each interval that is `chosen`."""
    size = len(trail.u) + int(chosen.sum())
    piece, u = np.empty(size, np.int64), np.empty(size)
    at = 0
    for j in range(len(trail.u)):
        piece[at], u[at] = trail.piece[j], trail.u[j]
        at += 1
        if j < len(chosen) and chosen[j]:
            piece[at], u[at] = trail.piece[j], 0.5 * (trail.u[j] + trail.u[j + 1])
            at += 1
    return Trail(piece, u)


@helper
def as_panels(trail: Trail) -> Panels:
    """Return the intervals as panels."""
    size = len(trail.u)
    piece, left, right = np.empty(size, np.int64), np.empty(size), np.empty(size)
    at = 0
    for j in range(size - 1):
        if trail.piece[j] == trail.piece[j + 1]:
            piece[at], left[at], right[at] = trail.piece[j], trail.u[j], trail.u[j + 1]
            at += 1
    return Panels(piece[:at].copy(), left[:at].copy(), right[:at].copy())


@helper
def term_at_points(
    program: Program, density: FloatArray, inner: FloatArray, t: int, j: int, without: int
) -> float:
    """Return the logarithm of a term at a point, but for one factor."""
    log = density[program.arm[t], j]
    for q in range(program.factors[t], program.factors[t + 1]):
        if program.factor[q] != without:
            log += inner[program.factor[q], j]
    return float(max(log, NEVER))


@helper
def long_intervals(setup: Setup, trail: Trail, cut: float) -> AnyArray:
    """Return which intervals matter and are too long."""
    program = setup.program
    size, number = len(trail.u), len(program.from_above)
    width = np.zeros(size - 1)
    for j in range(size - 1):
        if trail.piece[j] == trail.piece[j + 1]:
            width[j] = trail.u[j + 1] - trail.u[j]
    density = np.full((len(setup.alpha), size), NEVER)
    for i in range(len(density)):
        for j in range(size):
            if setup.axis.inside[i, trail.piece[j]]:
                density[i, j] = log_density(setup, i, trail.piece[j], trail.u[j])
    into, onto = np.full((number, size), NEVER), np.full((number, size), NEVER)  # integrands
    inner, outer = np.empty((number, size)), np.empty((number, size))
    for m in range(number):
        for j in range(size):
            for t in range(program.terms[m], program.terms[m + 1]):
                into[m, j] = log_add(into[m, j], term_at_points(program, density, inner, t, j, -1))
        sum_up(into[m], width, program.from_above[m], inner[m])
    whole = inner[number - 1, size - 1]
    outer[number - 1] = 0.0
    for m in range(number - 2, -1, -1):
        for j in range(size):
            for q in range(program.uses[m], program.uses[m + 1]):
                t = program.use[q]
                log = term_at_points(program, density, inner, t, j, m) + outer[program.owner[t], j]
                onto[m, j] = log_add(onto[m, j], max(log, NEVER))
        sum_up(onto[m], width, not program.from_above[m], outer[m])
    chosen = np.zeros(size - 1, np.bool_)
    for m in range(number):
        for k in range(size - 1):
            if width[k] > 1e-12 and not chosen[k]:
                chosen[k] = is_long(into[m], outer[m], width, k, whole - cut) or is_long(
                    onto[m], inner[m], width, k, whole - cut
                )
    return chosen


@helper
def sum_up(into: FloatArray, width: FloatArray, above: bool, out: FloatArray) -> None:
    """Set the logarithms of the integrals up to (or from) every point."""
    size = len(out)
    now = NEVER
    for step in range(size):
        j = size - 1 - step if above else step
        if step > 0:
            k = j if above else j - 1
            now = log_add(now, log_segment(into[k], into[k + 1], width[k]))
        out[j] = now


@helper
def is_long(into: FloatArray, outer: FloatArray, width: FloatArray, k: int, least: float) -> bool:
    """Return whether an interval may hold more than exp(`least`), and the integrand is not straight there."""
    if most_between(into, outer, width, k) + math.log(width[k]) < least or min(into[k], into[k + 1]) <= NEVER:
        return False
    return bend_of(into, width, k) > _STRAIGHT or abs(into[k + 1] - into[k]) > 2 * _STRAIGHT


@helper
def most_between(into: FloatArray, outer: FloatArray, width: FloatArray, k: int) -> float:
    """Return what a concave logarithm can reach in an interval: where the lines beside it meet."""
    a, b = max(into[k] + outer[k], NEVER), max(into[k + 1] + outer[k + 1], NEVER)
    top = max(a, b)
    if 0 < k < len(width) - 1 and width[k - 1] > 0 and width[k + 1] > 0 and min(a, b) > NEVER:
        rise = (a - max(into[k - 1] + outer[k - 1], NEVER)) / width[k - 1]
        fall = (b - max(into[k + 2] + outer[k + 2], NEVER)) / width[k + 1]
        if rise > 0 and fall > 0:
            top = max(top, (rise * b + fall * a + rise * fall * width[k]) / (rise + fall))
    return float(top)


@helper
def bend_of(log: FloatArray, width: FloatArray, k: int) -> float:
    """Return by how much slopes change over an interval, from the ones beside it, times its width."""
    slope = (log[k + 1] - log[k]) / width[k]
    bend = 0.0
    if k > 0 and width[k - 1] > 0 and log[k - 1] > NEVER:
        bend = max(bend, abs((log[k] - log[k - 1]) / width[k - 1] - slope))
    if k + 1 < len(width) and width[k + 1] > 0 and log[k + 2] > NEVER:
        bend = max(bend, abs((log[k + 2] - log[k + 1]) / width[k + 1] - slope))
    return float(bend * width[k])
