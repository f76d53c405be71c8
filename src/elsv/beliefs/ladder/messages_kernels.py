r"""Inside and outside messages of a ladder: a cumulative integral for each, for any number of rankings.

A program is a list of messages, each the integral up to x (or from x on) of a sum of terms, and a term is an
arm's density times messages before it:

.. math:: M_k(x) = \int_0^x g_k, \qquad g_k = \sum_{t \in k} f_{i_t} \prod_{m \in t} M_m, \qquad
    W = M_{\text{last}}(1).

What the rest of the program makes of a value x in message k is its outside message

.. math:: B_{\text{last}} = 1, \qquad B_m(x) = \int_x^1 \sum_{t \ni m} B_{k(t)} f_{i_t}
    \prod_{m' \in t,\, m' \ne m} M_{m'},

and the density of arm i is :math:`f_i \sum_{t: i_t = i} B_{k(t)} \prod_{m \in t} M_m / W`. A message on a
panel is kept relative to its value at the end towards which it grows, with the logarithm of that value.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsv._base.jit import borrowing, helper
from elsv._base.typing import FloatArray
from elsv.beliefs.ladder import Setup
from elsv.beliefs.ladder.axis_kernels import CUMULATIVE, NEVER, NODES, POINTS, WEIGHTS, Densities, Panels

_UPWARD = np.ascontiguousarray(CUMULATIVE.T)
_DOWNWARD = np.ascontiguousarray(CUMULATIVE[::-1, ::-1].T)
_STEEP_PANEL = 1e-13  # the smallest value on a panel over the largest from which on it is too wide
_TINY = 1e-150  # relative to what factors can be, from which on an integrand is taken relative to itself


class Messages(NamedTuple):
    """Values relative to the one at the end towards which a message grows, panel by panel.

    Outside messages may have one row alone, of the panel that is at hand.
    """

    value: FloatArray  # [P, M, POINTS]
    log: FloatArray  # [P, M], of the value at that end
    span: FloatArray  # [P, M], the smallest value of the integrand on a panel over the largest one
    bend: FloatArray  # [P, M], its values at the ends of a panel over those in the middle


class Scene(NamedTuple):
    """A state on panels: the arms' densities there and the messages."""

    setup: Setup
    panels: Panels
    dense: Densities
    inner: Messages


@borrowing
def accumulate(
    messages: Messages, m: int, p: int, g: FloatArray, scale: float, width: float, before: float, above: bool
) -> float:
    """Set a message on a panel from its integrand and its value before; return its value behind."""
    most, least, total = 0.0, math.inf, 0.0
    for k in range(POINTS):
        most, least = max(most, g[k]), min(least, g[k])
        total += WEIGHTS[k] * g[k]
    if not total > 0.0:
        same = 1.0 if before > NEVER else 0.0
        for k in range(POINTS):
            messages.value[p, m, k] = same
        messages.log[p, m] = before
        messages.span[p, m] = 1.0
        messages.bend[p, m] = 1.0
        return before
    if most < _TINY:
        # The factors' largest values lie at opposite ends: quotients below would leave a double's range.
        scale += math.log(most)
        total = 0.0
        for k in range(POINTS):
            g[k] /= most
            total += WEIGHTS[k] * g[k]
        least, most = least / most, 1.0
    middle = g[POINTS // 2 - 1] * g[POINTS // 2]
    messages.span[p, m] = least / most
    messages.bend[p, m] = g[0] * g[POINTS - 1] / middle if middle > 0 else 0.0
    if before > scale:
        factor, start, unit = width * math.exp(scale - before), 1.0, before
    else:
        factor, start, unit = width, math.exp(before - scale), scale
    if least < _STEEP_PANEL * most:
        return accumulate_steep(messages, m, p, g, factor, start, unit, above)
    end = start + factor * total
    matrix = _DOWNWARD if above else _UPWARD
    a, b, c, d, e, f, h, i = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(POINTS):
        now = g[j]
        a += matrix[j, 0] * now
        b += matrix[j, 1] * now
        c += matrix[j, 2] * now
        d += matrix[j, 3] * now
        e += matrix[j, 4] * now
        f += matrix[j, 5] * now
        h += matrix[j, 6] * now
        i += matrix[j, 7] * now
    factor, start = factor / end, start / end
    messages.value[p, m, 0] = start + factor * a
    messages.value[p, m, 1] = start + factor * b
    messages.value[p, m, 2] = start + factor * c
    messages.value[p, m, 3] = start + factor * d
    messages.value[p, m, 4] = start + factor * e
    messages.value[p, m, 5] = start + factor * f
    messages.value[p, m, 6] = start + factor * h
    messages.value[p, m, 7] = start + factor * i
    behind = unit + math.log(end)
    messages.log[p, m] = behind
    return behind


@borrowing
def accumulate_steep(
    messages: Messages, m: int, p: int, g: FloatArray, factor: float, start: float, unit: float, above: bool
) -> float:
    """Set a message on a panel that is too wide for a polynomial, and matters little.

    Between nodes its logarithm is straight. A polynomial would leave a share of the panel's largest value
    everywhere on it.
    """
    now, last, place = start, 0.0, 0.0
    for step in range(POINTS):
        k = POINTS - 1 - step if above else step
        here = 1 - NODES[k] if above else NODES[k]
        if step == 0 or not (last > 0.0 and g[k] > 0.0):
            now += factor * (here - place) * min(g[k], last)
        else:
            ratio = math.log(g[k] / last)
            mean = last if abs(ratio) < 1e-6 else (g[k] - last) / ratio
            now += factor * (here - place) * mean
        messages.value[p, m, k] = now
        last, place = g[k], here
    now += factor * (1 - place) * last
    if not now > 0.0:
        messages.log[p, m] = NEVER
        return NEVER
    for k in range(POINTS):
        messages.value[p, m, k] /= now
    behind = unit + math.log(now)
    messages.log[p, m] = behind
    return behind


@borrowing
def term_log(scene: Scene, t: int, p: int, without: int) -> float:
    """Return the logarithm of the largest that a term can be on a panel, but for one factor."""
    program, inner = scene.setup.program, scene.inner
    log = scene.dense.log[program.arm[t], p]
    for q in range(program.factors[t], program.factors[t + 1]):
        m = program.factor[q]
        if m != without:
            log += inner.log[p, m]
    return float(log)


@borrowing
def term_values(scene: Scene, t: int, p: int, without: int, factor: float, out: FloatArray) -> None:
    """Set a term times `factor` at the nodes of a panel, relative to its largest, but for one message."""
    program, dense, inner = scene.setup.program, scene.dense, scene.inner
    arm = program.arm[t]
    for k in range(POINTS):
        out[k] = factor * dense.value[arm, p, k]
    for q in range(program.factors[t], program.factors[t + 1]):
        m = program.factor[q]
        if m != without:
            for k in range(POINTS):
                out[k] *= inner.value[p, m, k]


@helper
def new_messages(count: int, panels: int) -> Messages:
    """Return room for messages."""
    shape = (panels, count)
    return Messages(np.empty((panels, count, POINTS)), np.empty(shape), np.empty(shape), np.empty(shape))
