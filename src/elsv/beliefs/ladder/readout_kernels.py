"""What is read from a ladder's messages: moments, quantiles, draws, and what a cut of all arms leaves."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsv._base.jit import borrowing, helper, inlined, kernel
from elsv._base.typing import FloatArray, IntArray
from elsv.beliefs.ladder import Axis, Setup
from elsv.beliefs.ladder.axis_kernels import (
    CUMULATIVE,
    NEVER,
    NODES,
    POINTS,
    WEIGHTS,
    Panels,
    densities,
    log_density,
    log_share,
)
from elsv.beliefs.ladder.messages_kernels import Messages, Scene, new_messages
from elsv.beliefs.ladder.solve_kernels import inside, new_tally, outside, solve

_KNOTS = np.concatenate((np.zeros(1), NODES, np.ones(1)))
_GAPS = _KNOTS[:, None] - _KNOTS + np.eye(POINTS + 2)
_BARYCENTRIC = 1 / _GAPS.prod(axis=1)
_NOTHING = -700.0


@borrowing
def between(knots: FloatArray, t: float) -> float:
    """Return the polynomial through `knots`, values at both ends and the nodes of a panel, at t in [0, 1]."""
    top, bottom = 0.0, 0.0
    for k in range(POINTS + 2):
        gap = t - _KNOTS[k]
        if gap == 0.0:
            return float(knots[k])
        part = _BARYCENTRIC[k] / gap
        top += part * knots[k]
        bottom += part
    return top / bottom


@borrowing
def inverse(knots: FloatArray, target: float) -> float:
    """Return t in [0, 1] where the polynomial through `knots`, monotone, is `target`."""
    rising = knots[POINTS + 1] >= knots[0]
    low = 0
    for k in range(POINTS + 1):
        if (knots[k] <= target) == rising:
            low = k
    a, b = _KNOTS[low], _KNOTS[low + 1]
    fa, fb = knots[low] - target, knots[low + 1] - target
    if fa * fb >= 0:
        return float(a if abs(fa) <= abs(fb) else b)
    for _ in range(40):
        t = (a * fb - b * fa) / (fb - fa)
        f = between(knots, t) - target
        if abs(f) <= 1e-11 * abs(target) or abs(b - a) < 1e-12:
            return float(t)
        if f * fb < 0:
            a, fa = b, fb
        else:
            fa *= 0.5
        b, fb = t, f
    return float(b)


@borrowing
def lean(t: float, out: FloatArray) -> None:
    """Set what each knot of a panel counts for at t, so that several messages are read at once."""
    bottom = 0.0
    for k in range(POINTS + 2):
        gap = t - _KNOTS[k]
        if gap == 0.0:
            for j in range(POINTS + 2):
                out[j] = 0.0
            out[k] = 1.0
            return
        out[k] = _BARYCENTRIC[k] / gap
        bottom += out[k]
    for k in range(POINTS + 2):
        out[k] /= bottom


@borrowing
def log_at(inner: Messages, m: int, p: int, above: bool, leaning: FloatArray) -> float:
    """Return the logarithm of a message inside a panel."""
    count = len(inner.log)
    near, far = leaning[POINTS + 1], leaning[0]
    other = p - 1
    if above:
        near, far, other = leaning[0], leaning[POINTS + 1], p + 1
    value = near
    if 0 <= other < count:
        value += far * math.exp(inner.log[other, m] - inner.log[p, m])
    for k in range(POINTS):
        value += leaning[k + 1] * inner.value[p, m, k]
    return float(inner.log[p, m] + (math.log(value) if value > 0 else NEVER))


@inlined
def one_of(setup: Setup, b: int) -> Setup:
    """Return one of several states."""
    return Setup(setup.alpha[b], setup.beta[b], setup.program, setup.axis, setup.nats, setup.cut)


@kernel
def batch_read(setup: Setup, levels: FloatArray, log_weight: FloatArray, out: FloatArray) -> None:
    """Set log W ``[B]`` and, in `out` ``[2 + levels, B, N]``, means, variances and quantiles at `levels`."""
    support, knots = setup.axis.support, np.empty(POINTS + 2)
    for b in range(len(log_weight)):
        solved = solve(one_of(setup, b))
        log_weight[b] = solved.log_weight
        place = solved.scene.dense.place
        for i in range(len(support)):
            mass, total, first, second = solved.mass[i], 0.0, 0.0, 0.0
            for p in range(len(place)):
                for k in range(POINTS):
                    total += mass[p, k]
                    first += mass[p, k] * place[p, k]
            middle = first / total
            for p in range(len(place)):
                for k in range(POINTS):
                    second += mass[p, k] * (place[p, k] - middle) ** 2
            out[0, b, i] = middle / support[i]
            out[1, b, i] = second / total / support[i] ** 2
            for level in range(len(levels)):
                wanted, below, at, held = levels[level] * total, 0.0, 0, 0.0
                for p in range(len(place)):
                    held = mass[p].sum()
                    at = p
                    if below + held >= wanted:
                        break
                    below += held
                knots[0], knots[POINTS + 1] = 0.0, held
                for k in range(POINTS):
                    knots[k + 1] = 0.0
                    for j in range(POINTS):
                        knots[k + 1] += CUMULATIVE[k, j] * mass[at, j] / WEIGHTS[j]
                t = inverse(knots, min(wanted - below, held))
                out[2 + level, b, i] = place_of(solved.scene, at, t) / support[i]


@borrowing
def place_of(scene: Scene, p: int, t: float) -> float:
    """Return the place on the axis at t in [0, 1] of a panel."""
    axis, panels = scene.setup.axis, scene.panels
    s = panels.piece[p]
    u = panels.left[p] + (panels.right[p] - panels.left[p]) * t
    if u > 0 and axis.end[s] == 1.0:
        return float(1.0 - (axis.end[s] - axis.begin[s]) * math.exp(log_share(-u)))
    return float(axis.begin[s] + (axis.end[s] - axis.begin[s]) * math.exp(log_share(u)))


@helper
def logit_of(scene: Scene, i: int, p: int, t: float) -> float:
    """Return the logit of an arm's mean at t in [0, 1] of a panel."""
    axis, panels = scene.setup.axis, scene.panels
    s = panels.piece[p]
    u = panels.left[p] + (panels.right[p] - panels.left[p]) * t
    begin, end, support = axis.begin[s], axis.end[s], axis.support[i]
    below = begin + (end - begin) * math.exp(log_share(u))
    above = support - end + (end - begin) * math.exp(log_share(-u))
    if begin == 0.0 and end == support:
        return float(u)
    return math.log(max(below, 1e-300) / max(above, 1e-300))


@borrowing
def message_knots(inner: Messages, m: int, p: int, above: bool, knots: FloatArray) -> None:
    """Set the values of a message at both ends and the nodes of a panel, relative to its larger end."""
    count = len(inner.log)
    for k in range(POINTS):
        knots[k + 1] = inner.value[p, m, k]
    if above:
        knots[0] = 1.0
        knots[POINTS + 1] = math.exp(inner.log[p + 1, m] - inner.log[p, m]) if p + 1 < count else 0.0
    else:
        knots[0] = math.exp(inner.log[p - 1, m] - inner.log[p, m]) if p > 0 else 0.0
        knots[POINTS + 1] = 1.0


class Walker(NamedTuple):
    """What the walks of one state share."""

    scene: Scene
    waiting: IntArray  # [N + 1, 2], message and panel of its limit
    limits: FloatArray  # [N + 1], t there
    logs: FloatArray  # [N + 1], of the message there
    knots: FloatArray  # [POINTS + 2]
    leaning: FloatArray  # [POINTS + 2]
    terms: FloatArray  # [T], room for those of a message


@borrowing
def walk(walker: Walker, uniform: FloatArray, out: FloatArray) -> None:
    """Set one joint draw ``[N]``, from the whole down: a value of each message, then which term it came from.

    `uniform` has N numbers for the values, and N for the terms if there are several of a message.
    """
    scene, waiting, limits, logs, knots, leaning, _ = walker
    program, inner = scene.setup.program, scene.inner
    arms, count = len(scene.setup.alpha), len(scene.panels.piece)
    whole = len(program.from_above) - 1
    waiting[0, 0], waiting[0, 1], limits[0], logs[0] = whole, count - 1, 1.0, inner.log[count - 1, whole]
    depth = 1
    for step in range(arms):
        depth -= 1
        m, p, t = waiting[depth, 0], waiting[depth, 1], limits[depth]
        above = program.from_above[m]
        wanted = logs[depth] + math.log(uniform[step])
        if above:
            while p + 1 < count and inner.log[p + 1, m] >= wanted:
                p += 1
        else:
            while p > 0 and inner.log[p - 1, m] >= wanted:
                p -= 1
        message_knots(inner, m, p, above, knots)
        found = inverse(knots, math.exp(min(wanted - inner.log[p, m], 0.0)))
        # Rounding must not carry a value past its limit.
        if p == waiting[depth, 1]:
            found = max(found, t) if above else min(found, t)
        t = found
        lean(t, leaning)
        chosen = program.terms[m]
        if program.terms[m + 1] - chosen > 1:
            chosen = term_at(walker, m, p, t, uniform[arms + step])
        i = program.arm[chosen]
        out[i] = min(place_of(scene, p, t) / scene.setup.axis.support[i], 1.0)
        for q in range(program.factors[chosen], program.factors[chosen + 1]):
            child = program.factor[q]
            waiting[depth, 0], waiting[depth, 1], limits[depth] = child, p, t
            logs[depth] = log_at(inner, child, p, program.from_above[child], leaning)
            depth += 1


@borrowing
def term_at(walker: Walker, m: int, p: int, t: float, uniform: float) -> int:
    """Return the term that a value of a message came from, each as likely as it is large there."""
    setup, panels, inner = walker.scene.setup, walker.scene.panels, walker.scene.inner
    program, leaning, logs = setup.program, walker.leaning, walker.terms
    first, last = program.terms[m], program.terms[m + 1]
    s = panels.piece[p]
    u = panels.left[p] + (panels.right[p] - panels.left[p]) * t
    most = -math.inf
    for term in range(first, last):
        i = program.arm[term]
        log = NEVER
        if setup.axis.inside[i, s]:
            log = log_density(setup, i, s, u)
            for q in range(program.factors[term], program.factors[term + 1]):
                child = program.factor[q]
                log += log_at(inner, child, p, program.from_above[child], leaning)
        logs[term - first] = log
        most = max(most, log)
    total = 0.0
    for k in range(last - first):
        logs[k] = math.exp(logs[k] - most)
        total += logs[k]
    left = uniform * total
    for k in range(last - first):
        left -= logs[k]
        if left <= 0:
            return int(first + k)
    return int(last - 1)


@kernel
def batch_draw(setup: Setup, starts: IntArray, uniform: FloatArray, out: FloatArray) -> None:
    """Set joint draws ``[D, N]``, those from ``starts[b]`` to ``starts[b + 1]`` of state b.

    `uniform` has a row for each draw, or fewer rows, which every state then uses from the first one on.
    """
    shared, arms = len(uniform) < len(out), out.shape[1]
    waiting, ends = np.empty((arms + 1, 2), np.int64), np.empty((2, arms + 1))
    knots, terms = np.empty((2, POINTS + 2)), np.empty(len(setup.program.arm))
    for b in range(len(starts) - 1):
        scene = solve(one_of(setup, b)).scene
        walker = Walker(scene, waiting, ends[0], ends[1], knots[0], knots[1], terms)
        for k in range(starts[b], starts[b + 1]):
            row = k - starts[b] if shared else k
            walk(walker, uniform[row], out[k])


@kernel
def open_ladder(setup: Setup, low: FloatArray, high: FloatArray) -> tuple[Panels, float]:
    """Return the panels of a state and log W; set the logits between which arms have their mass."""
    scene, log_weight, mass, _ = solve(setup)
    little = math.exp(-setup.cut)
    for i in range(len(mass)):
        first, last = -1, 0
        for p in range(len(scene.panels.piece)):
            if mass[i, p].sum() > little:
                first = p if first < 0 else first
                last = p
        low[i] = logit_of(scene, i, max(first, 0), 0.0)
        high[i] = logit_of(scene, i, last, 1.0)
    return scene.panels, log_weight


@helper
def locate(axis: Axis, i: int, limit: float) -> tuple[int, float]:
    """Return the piece and u where the logit of an arm's mean is `limit`."""
    support = axis.support[i]
    if len(axis.begin) == 1 and axis.begin[0] == 0.0 and axis.end[0] == support:
        return 0, limit
    place = support * math.exp(log_share(limit))
    for s in range(len(axis.begin)):
        if place < axis.end[s]:
            if place <= axis.begin[s]:
                return s, -math.inf
            return s, math.log((place - axis.begin[s]) / (axis.end[s] - place))
    return len(axis.begin) - 1, math.inf


@helper
def cut_panels(panels: Panels, piece: IntArray, u: FloatArray) -> Panels:
    """Return the panels with further edges at some values of u on some pieces."""
    count, size = len(panels.piece), len(panels.piece) + len(u)
    new_piece, left, right = np.empty(size, np.int64), np.empty(size), np.empty(size)
    marks = np.argsort(u)
    number = 0
    for p in range(count):
        a, b = panels.left[p], panels.right[p]
        for k in marks:
            least = a + 1e-11 * (1 + abs(a))
            if piece[k] == panels.piece[p] and least < u[k] < b - 1e-11 * (1 + abs(b)):
                new_piece[number], left[number], right[number] = panels.piece[p], a, u[k]
                number += 1
                a = u[k]
        new_piece[number], left[number], right[number] = panels.piece[p], a, b
        number += 1
    return Panels(new_piece[:number].copy(), left[:number].copy(), right[:number].copy())


@kernel
def cut_off(
    setup: Setup, panels: Panels, log_weight: float, limit: FloatArray, below: FloatArray, density: FloatArray
) -> None:
    """Set P(all means below their limits) ``[V]``, and its derivatives in the first rows of `density`.

    `limit` ``[V, N]`` are logits of means, and derivatives ``[D, N]`` are by these.
    """
    axis, number = setup.axis, len(setup.program.from_above)
    arms = len(setup.alpha)
    piece, u, edge = np.empty(arms, np.int64), np.empty(arms), np.empty(arms, np.int64)
    for v in range(len(limit)):
        for i in range(arms):
            piece[i], u[i] = locate(axis, i, limit[v, i])
        finer = cut_panels(panels, piece, u)
        dense = densities(setup, finer)
        count = len(finer.piece)
        for i in range(arms):
            edge[i] = 0
            for p in range(count):
                middle = 0.5 * (finer.left[p] + finer.right[p])
                if finer.piece[p] > piece[i] or (finer.piece[p] == piece[i] and middle > u[i]):
                    dense.value[i, p, :] = 0.0
                    dense.log[i, p] = NEVER
                else:
                    edge[i] = p + 1
        scene = Scene(setup, finer, dense, new_messages(number, count))
        total = inside(scene)
        below[v] = math.exp(min(total - log_weight, 0.0))
        if v < len(density):
            outer = new_messages(number, count)
            outside(scene, outer, log_weight, new_tally(0, 0, 0))
            for i in range(arms):
                if not (math.isfinite(u[i]) and axis.inside[i, piece[i]]):
                    edge[i] = -1
            rates(scene, outer, edge, limit[v], log_weight, density[v])


@helper
def rates(
    scene: Scene, outer: Messages, edge: IntArray, limit: FloatArray, log_weight: float, out: FloatArray
) -> None:
    """Set how fast the weight grows with the limit of each arm, by the logit of the mean.

    `edge` is the panel that begins at an arm's limit, -1 where the arm has no density.
    """
    alpha, beta, program = scene.setup.alpha, scene.setup.beta, scene.setup.program
    inner, count = scene.inner, len(scene.inner.log)
    out[:] = 0.0
    for t in range(len(program.arm)):
        i, owner = program.arm[t], program.owner[t]
        p = edge[i]
        if p < 0:
            continue
        log = alpha[i] * log_share(limit[i]) + beta[i] * log_share(-limit[i]) - log_weight
        if owner < len(program.from_above) - 1:
            log += value_at(outer, owner, p, count, not program.from_above[owner])
        for q in range(program.factors[t], program.factors[t + 1]):
            m = program.factor[q]
            log += value_at(inner, m, p, count, program.from_above[m])
        if log > _NOTHING:
            out[i] += math.exp(log)


@helper
def value_at(messages: Messages, m: int, p: int, count: int, above: bool) -> float:
    """Return the logarithm of a message at the left end of panel p."""
    if above:
        return messages.log[p, m] if p < count else NEVER
    return messages.log[p - 1, m] if p > 0 else NEVER
