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

from elsv._jit import borrowing, helper
from elsv._typing import AnyArray, FloatArray
from elsv.beliefs._ladder_axis_kernels import (
    CUMULATIVE,
    NEVER,
    NODES,
    POINTS,
    WEIGHTS,
    Axis,
    Densities,
    Panels,
    densities,
    first_panels,
    halved,
    resolved,
    spread_of,
)
from elsv.beliefs._ladder_program_kernels import Program
from elsv.beliefs._ladder_scout_kernels import scout

_UPWARD = np.ascontiguousarray(CUMULATIVE.T)
_DOWNWARD = np.ascontiguousarray(CUMULATIVE[::-1, ::-1].T)
_NOTHING = -700.0
_STEEP_PANEL = 1e-13  # the smallest value on a panel over the largest from which on it is too wide
_TINY = 1e-150  # relative to what factors can be, from which on an integrand is taken relative to itself
_LARGE = 300.0  # nats above which an exponential is taken in two parts
_ROUNDS = 60
_PATIENCE = 2  # rounds after which data seem to contradict the order
_MARGIN = 10.0  # nats below the cut from which on a panel is not looked at
_FEW = 6  # arms that make no message narrow
_FINER = 0.5  # of the nats that a panel may span, for arms by themselves: messages add to them
_MOST_PANELS = 40_000
_STEEP = 4.0  # most by which a panel is wider than one beside it that matters


class Messages(NamedTuple):
    """Values on all panels, relative to the one at the end towards which a message grows."""

    value: FloatArray  # [M, P, POINTS]
    log: FloatArray  # [M, P], of the value at that end
    span: FloatArray  # [M, P], the smallest value of the integrand on a panel over the largest one
    bend: FloatArray  # [M, P], its values at the ends of a panel over those in the middle


class Solved(NamedTuple):
    """A state: panels, densities, messages, and the logarithm of W."""

    panels: Panels
    densities: Densities
    inner: Messages
    outer: Messages
    log_weight: float
    share: FloatArray  # [T, P], of W that a term has on a panel
    mass: FloatArray  # [N, P, POINTS], probability that an arm has at a node


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
            messages.value[m, p, k] = same
        messages.log[m, p] = before
        messages.span[m, p] = 1.0
        messages.bend[m, p] = 1.0
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
    messages.span[m, p] = least / most
    messages.bend[m, p] = g[0] * g[POINTS - 1] / middle if middle > 0 else 0.0
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
    messages.value[m, p, 0] = start + factor * a
    messages.value[m, p, 1] = start + factor * b
    messages.value[m, p, 2] = start + factor * c
    messages.value[m, p, 3] = start + factor * d
    messages.value[m, p, 4] = start + factor * e
    messages.value[m, p, 5] = start + factor * f
    messages.value[m, p, 6] = start + factor * h
    messages.value[m, p, 7] = start + factor * i
    behind = unit + math.log(end)
    messages.log[m, p] = behind
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
        messages.value[m, p, k] = now
        last, place = g[k], here
    now += factor * (1 - place) * last
    if not now > 0.0:
        messages.log[m, p] = NEVER
        return NEVER
    for k in range(POINTS):
        messages.value[m, p, k] /= now
    behind = unit + math.log(now)
    messages.log[m, p] = behind
    return behind


@borrowing
def term_log(program: Program, dense: Densities, inner: Messages, t: int, p: int, without: int) -> float:
    """Return the logarithm of the largest that a term can be on a panel, but for one factor."""
    log = dense.log[program.arm[t], p]
    for q in range(program.factors[t], program.factors[t + 1]):
        m = program.factor[q]
        if m != without:
            log += inner.log[m, p]
    return float(log)


@borrowing
def term_values(
    program: Program,
    dense: Densities,
    inner: Messages,
    t: int,
    p: int,
    without: int,
    factor: float,
    out: FloatArray,
) -> None:
    """Set a term times `factor` at the nodes of a panel, relative to its largest, but for one message."""
    arm = program.arm[t]
    for k in range(POINTS):
        out[k] = factor * dense.value[arm, p, k]
    for q in range(program.factors[t], program.factors[t + 1]):
        m = program.factor[q]
        if m != without:
            for k in range(POINTS):
                out[k] *= inner.value[m, p, k]


@helper
def new_messages(count: int, panels: int) -> Messages:
    """Return room for messages."""
    shape = (count, panels)
    return Messages(np.empty((count, panels, POINTS)), np.empty(shape), np.empty(shape), np.empty(shape))


@helper
def inside(program: Program, panels: Panels, dense: Densities, inner: Messages) -> float:
    """Set the messages; return log W."""
    count, number = len(panels.piece), len(program.from_above)
    g, part, logs = np.empty(POINTS), np.empty(POINTS), np.empty(len(program.arm))
    now = NEVER
    for m in range(number):
        above = program.from_above[m]
        first, last = program.terms[m], program.terms[m + 1]
        now = NEVER
        for step in range(count):
            p = count - 1 - step if above else step
            scale = NEVER
            for t in range(first, last):
                logs[t] = term_log(program, dense, inner, t, p, -1)
                scale = max(scale, logs[t])
            for k in range(POINTS):
                g[k] = 0.0
            for t in range(first, last):
                less = logs[t] - scale
                if less > _NOTHING and scale > NEVER:
                    term_values(program, dense, inner, t, p, -1, math.exp(less) if less < 0 else 1.0, part)
                    for k in range(POINTS):
                        g[k] += part[k]
            now = accumulate(inner, m, p, g, scale, panels.right[p] - panels.left[p], now, above)
    return now


@helper
def outside(program: Program, panels: Panels, dense: Densities, inner: Messages, outer: Messages) -> None:
    """Set the outside messages."""
    count, number = len(panels.piece), len(program.from_above)
    g, part, logs = np.empty(POINTS), np.empty(POINTS), np.empty(len(program.use) + 1)
    outer.value[number - 1] = 1.0
    outer.log[number - 1] = 0.0
    outer.span[number - 1] = 1.0
    outer.bend[number - 1] = 1.0
    for m in range(number - 2, -1, -1):
        above = not program.from_above[m]
        first, last = program.uses[m], program.uses[m + 1]
        now = NEVER
        for step in range(count):
            p = count - 1 - step if above else step
            scale = NEVER
            for q in range(first, last):
                t = program.use[q]
                logs[q] = term_log(program, dense, inner, t, p, m) + outer.log[program.owner[t], p]
                scale = max(scale, logs[q])
            for k in range(POINTS):
                g[k] = 0.0
            for q in range(first, last):
                less = logs[q] - scale
                if less > _NOTHING and scale > NEVER:
                    t = program.use[q]
                    owner = program.owner[t]
                    term_values(program, dense, inner, t, p, m, math.exp(less) if less < 0 else 1.0, part)
                    for k in range(POINTS):
                        g[k] += part[k] * outer.value[owner, p, k]
            now = accumulate(outer, m, p, g, scale, panels.right[p] - panels.left[p], now, above)


@helper
def weigh(
    program: Program,
    panels: Panels,
    dense: Densities,
    inner: Messages,
    outer: Messages,
    log_weight: float,
    cut: float,
    share: FloatArray,
    mass: FloatArray,
) -> None:
    """Set the share of W that every term has on every panel, and the probability of arms at nodes."""
    count = len(panels.piece)
    part = np.empty(POINTS)
    share[:] = 0.0
    mass[:] = 0.0
    for t in range(len(program.arm)):
        owner, i = program.owner[t], program.arm[t]
        for p in range(count):
            log = term_log(program, dense, inner, t, p, -1) + outer.log[owner, p] - log_weight
            if log > -cut - _MARGIN:
                # On a wide panel the largest values of the factors may lie at opposite ends.
                rest = max(log - _LARGE, 0.0)
                factor = math.exp(log - rest) * (panels.right[p] - panels.left[p])
                term_values(program, dense, inner, t, p, -1, factor, part)
                total = 0.0
                for k in range(POINTS):
                    now = WEIGHTS[k] * part[k] * outer.value[owner, p, k]
                    if rest > 0 and now > 0:
                        now = math.exp(min(math.log(now) + rest, _LARGE))
                    mass[i, p, k] += now
                    total += now
                share[t, p] = total


@helper
def coarse(program: Program, solved: Solved, nats: float, cut: float) -> AnyArray:
    """Return which panels are too wide for what they hold."""
    count = len(solved.panels.piece)
    out, matters = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    left, right = solved.panels.left, solved.panels.right
    for m in range(len(program.from_above)):
        for p in range(count):
            held = 0.0
            for t in range(program.terms[m], program.terms[m + 1]):
                held += solved.share[t, p]
            if held > 0 and not out[p]:
                matters[p] |= math.log(held) > -cut
                out[p] = not fine(solved.inner, m, p, left[p], right[p], held, nats, cut)
            held = 0.0
            for q in range(program.uses[m], program.uses[m + 1]):
                held += solved.share[program.use[q], p]
            if held > 0 and not out[p]:
                out[p] = not fine(solved.outer, m, p, left[p], right[p], held, nats, cut)
    for p in range(count):
        for other in (p - 1, p + 1):
            near = 0 <= other < count and solved.panels.piece[p] == solved.panels.piece[other]
            if near and matters[p] and right[other] - left[other] > _STEEP * (right[p] - left[p]):
                out[other] = True
    return out


@borrowing
def fine(
    messages: Messages, m: int, p: int, left: float, right: float, held: float, nats: float, cut: float
) -> bool:
    """Return whether a panel resolves the integrand of a message that holds a share of W there."""
    span, bend = messages.span[m, p], messages.bend[m, p]
    if not (span > 0.0 and bend > 0.0):
        return math.log(held) < -cut
    return resolved(left, right, spread_of(-math.log(span), 0.5 * math.log(bend)), math.log(held), nats, cut)


@helper
def lightest(mass: FloatArray) -> float:
    """Return the smallest probability that the nodes give to an arm in all: 1 but for what they miss."""
    least = math.inf
    for i in range(len(mass)):
        total = 0.0
        for p in range(mass.shape[1]):
            for k in range(POINTS):
                total += mass[i, p, k]
        least = min(least, total) if total == total else 0.0
    return least


@helper
def solve(
    alpha: FloatArray, beta: FloatArray, program: Program, axis: Axis, nats: float, cut: float
) -> Solved:
    """Return a state on panels that resolve everything of it that matters."""
    # The more arms meet in a message, the narrower it is; a first guess that is right saves a second pass.
    meeting = len(alpha) if len(program.arm) > len(program.from_above) else _FEW
    narrow = math.sqrt(max(1.0, meeting / _FEW))
    panels = first_panels(alpha, beta, axis, _FINER * nats / narrow, cut)
    solved = solve_on(alpha, beta, program, axis, panels, cut)
    scouted = False
    for finished in range(_ROUNDS):
        chosen = coarse(program, solved, nats, cut)
        lost = not lightest(solved.mass) > 0.5
        if not scouted and (lost or (chosen.any() and finished == _PATIENCE)):
            found = scout(alpha, beta, program, axis, panels, cut + _MARGIN)
            solved = solve_on(alpha, beta, program, axis, found, cut)
            scouted = True
            continue
        if not chosen.any() or len(chosen) > _MOST_PANELS:
            break
        solved = solve_on(alpha, beta, program, axis, halved(solved.panels, chosen), cut)
    return solved


@helper
def solve_on(
    alpha: FloatArray, beta: FloatArray, program: Program, axis: Axis, panels: Panels, cut: float
) -> Solved:
    """Return a state on given panels."""
    count, number = len(panels.piece), len(program.from_above)
    dense = densities(alpha, beta, axis, panels)
    inner, outer = new_messages(number, count), new_messages(number, count)
    log_weight = inside(program, panels, dense, inner)
    outside(program, panels, dense, inner, outer)
    share, mass = np.empty((len(program.arm), count)), np.empty((len(alpha), count, POINTS))
    weigh(program, panels, dense, inner, outer, log_weight, cut, share, mass)
    return Solved(panels, dense, inner, outer, log_weight, share, mass)
