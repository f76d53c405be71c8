"""A ladder's state on panels that resolve all of it that matters: messages, shares of W, and what is wide."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsv._base.jit import borrowing, helper
from elsv._base.typing import AnyArray, FloatArray
from elsv.beliefs.ladder import Program, Setup
from elsv.beliefs.ladder.axis_kernels import (
    NEVER,
    POINTS,
    WEIGHTS,
    Panels,
    densities,
    first_panels,
    halved,
    resolved,
    spread_of,
    surely_resolved,
)
from elsv.beliefs.ladder.messages_kernels import (
    Messages,
    Scene,
    accumulate,
    new_messages,
    term_log,
    term_values,
)
from elsv.beliefs.ladder.scout_kernels import scout

_NOTHING = -700.0
_LARGE = 300.0  # nats above which an exponential is taken in two parts
_ROUNDS = 60
_PATIENCE = 2  # rounds after which data seem to contradict the order
_MARGIN = 10.0  # nats below the cut from which on a panel is not looked at
_FEW = 6  # arms that make no message narrow
_FINER = 0.5  # of the nats that a panel may span, for arms by themselves: messages add to them
_MOST_PANELS = 40_000
_STEEP = 4.0  # most by which a panel is wider than one beside it that matters


class Tally(NamedTuple):
    """What is added up on every panel."""

    share: FloatArray  # [T], of W that a term has on the panel at hand
    mass: FloatArray  # [N, P, POINTS], probability that an arm has at a node
    coarse: AnyArray  # [P], whether a panel is too wide for what it holds
    matters: AnyArray  # [P], whether it holds more than nothing


class Solved(NamedTuple):
    """A state on panels that resolve it."""

    scene: Scene
    log_weight: float  # log W
    mass: FloatArray  # [N, P, POINTS], probability that an arm has at a node
    coarse: AnyArray  # [P], whether a panel is too wide for what it holds


@borrowing
def alike(program: Program, m: int, step: int, end: int) -> int:
    """Return the first message from m on, by steps of 1 or -1, that does not run in the direction of m."""
    above = program.from_above[m]
    while m != end and program.from_above[m] == above:
        m += step
    return m


@helper
def new_tally(terms: int, arms: int, panels: int) -> Tally:
    """Return room for what is added up."""
    mass = np.empty((arms, panels, POINTS))
    return Tally(np.empty(terms), mass, np.empty(panels, np.bool_), np.empty(panels, np.bool_))


@helper
def inside(scene: Scene) -> float:
    """Set the messages; return log W.

    Messages that run in one direction go from panel to panel together: those of a panel stay in the cache.
    """
    program, panels, inner = scene.setup.program, scene.panels, scene.inner
    count, number = len(panels.piece), len(program.from_above)
    g, part, logs = np.empty(POINTS), np.empty(POINTS), np.empty(len(program.arm))
    now = np.full(number, NEVER)
    start, end = 0, 0
    while end < number:
        start, end = end, alike(program, end, 1, number)
        above = program.from_above[start]
        for step in range(count):
            p = count - 1 - step if above else step
            width = panels.right[p] - panels.left[p]
            for m in range(start, end):
                first, last = program.terms[m], program.terms[m + 1]
                scale = NEVER
                for t in range(first, last):
                    logs[t] = term_log(scene, t, p, -1)
                    scale = max(scale, logs[t])
                for k in range(POINTS):
                    g[k] = 0.0
                for t in range(first, last):
                    less = logs[t] - scale
                    if less > _NOTHING and scale > NEVER:
                        factor = math.exp(less) if less < 0 else 1.0
                        term_values(scene, t, p, -1, factor, part)
                        for k in range(POINTS):
                            g[k] += part[k]
                now[m] = accumulate(inner, m, p, g, scale, width, now[m], above)
    return float(now[number - 1])


@helper
def outside(scene: Scene, outer: Messages, log_weight: float, tally: Tally) -> None:
    """Set the outside messages, and on the way add up what they say of each panel.

    With one row in `outer` a panel's messages take the place of those of the panel before, which is enough
    where all run in one direction. An empty tally is left alone.
    """
    program, panels = scene.setup.program, scene.panels
    count, number = len(panels.piece), len(program.from_above)
    g, part, logs = np.empty(POINTS), np.empty(POINTS), np.empty(len(program.use) + 1)
    outer.value[:, number - 1] = 1.0
    outer.log[:, number - 1] = 0.0
    outer.span[:, number - 1] = 1.0
    outer.bend[:, number - 1] = 1.0
    now = np.full(number, NEVER)
    end = number - 2
    while True:
        start, end = end, alike(program, end, -1, -1)
        above = not program.from_above[start]
        for step in range(count):
            p = count - 1 - step if above else step
            row = p if len(outer.log) > 1 else 0
            width = panels.right[p] - panels.left[p]
            for m in range(start, end, -1):
                first, last = program.uses[m], program.uses[m + 1]
                scale = NEVER
                for q in range(first, last):
                    t = program.use[q]
                    logs[q] = term_log(scene, t, p, m) + outer.log[row, program.owner[t]]
                    scale = max(scale, logs[q])
                for k in range(POINTS):
                    g[k] = 0.0
                for q in range(first, last):
                    less = logs[q] - scale
                    if less > _NOTHING and scale > NEVER:
                        t = program.use[q]
                        owner = program.owner[t]
                        factor = math.exp(less) if less < 0 else 1.0
                        term_values(scene, t, p, m, factor, part)
                        for k in range(POINTS):
                            g[k] += part[k] * outer.value[row, owner, k]
                now[m] = accumulate(outer, m, row, g, scale, width, now[m], above)
            if end < 0 and len(tally.coarse) > 0:
                weigh(scene, outer, p, row, log_weight, tally, part)
                judge(scene, outer, p, row, tally)
        if end < 0:
            break


@borrowing
def weigh(
    scene: Scene, outer: Messages, p: int, row: int, log_weight: float, tally: Tally, part: FloatArray
) -> None:
    """Set the share of W that every term has on a panel, and the probability of arms at its nodes."""
    program, width = scene.setup.program, scene.panels.right[p] - scene.panels.left[p]
    for i in range(len(tally.mass)):
        for k in range(POINTS):
            tally.mass[i, p, k] = 0.0
    for t in range(len(program.arm)):
        tally.share[t] = 0.0
        owner, i = program.owner[t], program.arm[t]
        log = term_log(scene, t, p, -1) + outer.log[row, owner] - log_weight
        if log > -scene.setup.cut - _MARGIN:
            # On a wide panel the largest values of the factors may lie at opposite ends.
            rest = max(log - _LARGE, 0.0)
            factor = math.exp(log - rest) * width
            term_values(scene, t, p, -1, factor, part)
            total = 0.0
            for k in range(POINTS):
                now = WEIGHTS[k] * part[k] * outer.value[row, owner, k]
                if rest > 0 and now > 0:
                    now = math.exp(min(math.log(now) + rest, _LARGE))
                tally.mass[i, p, k] += now
                total += now
            tally.share[t] = total


@borrowing
def judge(scene: Scene, outer: Messages, p: int, row: int, tally: Tally) -> None:
    """Set whether a panel is too wide for what it holds, and whether that matters."""
    program, nats, cut, inner = scene.setup.program, scene.setup.nats, scene.setup.cut, scene.inner
    left, right = scene.panels.left[p], scene.panels.right[p]
    span, bend = surely_resolved(left, right, nats)
    span, bend = math.exp(-span), math.exp(2 * bend)
    bad, matters = False, False
    for m in range(len(program.from_above)):
        held = 0.0
        for t in range(program.terms[m], program.terms[m + 1]):
            held += tally.share[t]
        if held > 0 and not bad:
            matters = matters or math.log(held) > -cut
            bad = not (
                surely_fine(inner, m, p, span, bend) or fine(inner, m, p, left, right, held, nats, cut)
            )
        held = 0.0
        for q in range(program.uses[m], program.uses[m + 1]):
            held += tally.share[program.use[q]]
        if held > 0 and not bad:
            bad = not (
                surely_fine(outer, m, row, span, bend) or fine(outer, m, row, left, right, held, nats, cut)
            )
    tally.coarse[p], tally.matters[p] = bad, matters


@helper
def mark_wide(panels: Panels, tally: Tally) -> None:
    """Mark panels as too wide that are much wider than one beside them that matters."""
    count = len(panels.piece)
    left, right = panels.left, panels.right
    for p in range(count):
        for other in (p - 1, p + 1):
            near = 0 <= other < count and panels.piece[p] == panels.piece[other]
            wide = near and right[other] - left[other] > _STEEP * (right[p] - left[p])
            if wide and tally.matters[p]:
                tally.coarse[other] = True


@borrowing
def surely_fine(messages: Messages, m: int, p: int, span: float, bend: float) -> bool:
    """Return whether a panel resolves an integrand whatever it holds: most, told without a logarithm."""
    return bool(messages.span[p, m] >= span and 1 / bend <= messages.bend[p, m] <= bend)


@borrowing
def fine(
    messages: Messages, m: int, p: int, left: float, right: float, held: float, nats: float, cut: float
) -> bool:
    """Return whether a panel resolves the integrand of a message that holds a share of W there."""
    span, bend = messages.span[p, m], messages.bend[p, m]
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
def solve(setup: Setup) -> Solved:
    """Return a state on panels that resolve everything of it that matters."""
    alpha, beta, program, axis, nats, cut = setup
    # The more arms meet in a message, the narrower it is; a first guess that is right saves a second pass.
    meeting = len(alpha) if len(program.arm) > len(program.from_above) else _FEW
    narrow = math.sqrt(max(1.0, meeting / _FEW))
    panels = first_panels(Setup(alpha, beta, program, axis, _FINER * nats / narrow, cut))
    solved = solve_on(setup, panels)
    scouted = False
    for finished in range(_ROUNDS):
        chosen = solved.coarse
        lost = not lightest(solved.mass) > 0.5
        if not scouted and (lost or (chosen.any() and finished == _PATIENCE)):
            solved = solve_on(setup, scout(setup, panels, cut + _MARGIN))
            scouted = True
            continue
        if not chosen.any() or len(chosen) > _MOST_PANELS:
            break
        solved = solve_on(setup, halved(solved.scene.panels, chosen))
    return solved


@helper
def solve_on(setup: Setup, panels: Panels) -> Solved:
    """Return a state on given panels."""
    program = setup.program
    count, number = len(panels.piece), len(program.from_above)
    scene = Scene(setup, panels, densities(setup, panels), new_messages(number, count))
    # All in one direction: no more is needed of the outside than its messages on the panel at hand.
    several = number > 1 and alike(program, number - 2, -1, -1) >= 0
    outer = new_messages(number, count if several else 1)
    log_weight = inside(scene)
    tally = new_tally(len(program.arm), len(setup.alpha), count)
    outside(scene, outer, log_weight, tally)
    mark_wide(panels, tally)
    return Solved(scene, log_weight, tally.mass, tally.coarse)
