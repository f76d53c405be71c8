r"""The chain with its arms cut off: :math:`G = P(\mu_j \le c_j \text{ for all } j)` and its derivatives.

The panels of the chain are split at the limits, and the window of an arm ends at its limit. A panel that is
not split keeps the densities that it has.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsv._base.jit import helper, kernel, merged
from elsv._base.typing import FloatArray, IntArray
from elsv.beliefs.best.integral_kernels import Rule, collect, first_nodes, open_field
from elsv.beliefs.chain import Placed
from elsv.beliefs.chain.messages_kernels import (
    NODES,
    POINTS,
    Messages,
    Panels,
    Solution,
    copy,
    fill_density,
    log_complement,
    lower_message,
    new_messages,
    new_panels,
    solve,
    stack_windows,
    upper_message,
)


class Cut(NamedTuple):
    """The chain's panels split at the limits, and the messages on them."""

    panels: Panels
    messages: Messages
    source: IntArray  # [panels], the whole panel that each one is; -1: a part
    cap: IntArray  # [C], the limits' edges; -1: none


@kernel
def open_chain(placed: Placed) -> Solution:
    """Return the panels and messages of the only state ``[1, N]``."""
    return solve(placed, len(placed.alpha) - 1)


@merged
def _split(whole: Panels, limit: FloatArray, arms: IntArray, top: FloatArray, cut: Cut) -> bool:
    """Set edges, windows and where they are from; return false if an arm has nothing below its limit."""
    edges, out, source, cap = whole.edges, cut.panels, cut.source, cut.cap
    for k in range(len(arms)):
        if limit[k] <= edges[whole.first[arms[k]]]:
            return False
    bottom, end = whole.first[-1], whole.last[0]
    place = np.empty(end - bottom + 1, np.int64)  # of the whole panels' left edges
    count, k = 0, len(arms) - 1
    for p in range(bottom, end):
        place[p - bottom] = count
        out.edges[count], source[count] = edges[p], p
        count += 1
        while k >= 0 and limit[k] < edges[p + 1]:
            cap[k] = -1
            if limit[k] < top[k]:
                if limit[k] > out.edges[count - 1]:
                    source[count - 1] = source[count] = -1
                    out.edges[count] = limit[k]
                    count += 1
                cap[k] = count - 1
            k -= 1
    for j in range(k + 1):
        cap[j] = -1
    place[end - bottom] = count
    out.edges[count] = edges[end]
    k, last = 0, count
    for i in range(len(whole.first)):
        if k < len(arms) and arms[k] == i:
            last = min(last, cap[k]) if cap[k] >= 0 else last
            k += 1
        out.first[i] = place[whole.first[i] - bottom]
        out.last[i] = min(place[whole.last[i] - bottom], last)
    for p in range(out.last[0]):  # above the first arm's window there is none
        if source[p] < 0:
            half = 0.5 * (out.edges[p + 1] - out.edges[p])
            for j in range(POINTS):
                out.y[p, j] = out.edges[p] + half * (1 + NODES[j])
                out.complement[p, j] = log_complement(out.y[p, j])
    return True


@helper
def _lowest(cap: IntArray, none: int) -> int:
    """Return the lowest of the limits' edges; `none` if nothing is cut."""
    lowest = none
    for edge in cap:
        if edge >= 0:
            lowest = min(lowest, edge)
    return lowest


@merged
def _read_density(limit: FloatArray, arms: IntArray, log_weight: float, cut: Cut, out: FloatArray) -> None:
    """Set f U L of every arm that a limit cuts, at the limit, relative to the whole weight."""
    panels, messages, _, cap = cut
    alpha, beta = panels.alpha, panels.beta
    done, bottom = 0, _lowest(cap, len(panels.edges))
    for k in range(len(arms)):
        if cap[k] < 0:
            continue
        i = arms[k]
        for j in range(done, i):
            upper_message(j, bottom, panels, messages)
        done = i
        value = alpha[i] * limit[k] + (alpha[i] + beta[i]) * log_complement(limit[k]) - log_weight
        if i + 1 < len(alpha):
            value += messages.lower_log[panels.start[i + 1] + panels.last[i + 1] - 1]
        if i > 0:
            at = max(cap[k], panels.first[i - 1])
            if at >= panels.last[i - 1]:
                continue
            value += messages.upper_log[at]
        out[k] = math.exp(min(value, 700.0))


@merged
def _lower(arms: IntArray, solution: Solution, cut: Cut, to_the_end: bool) -> float:
    """Fill f and L, as the whole chain has them below the last arm that is cut; return log G Z.

    Below the lowest limit nothing changes either, and nobody reads more there than what L has come to. L of
    the first arm is there for G alone: unless it goes `to_the_end`, only f above the lowest limit is filled.
    """
    whole, known, _ = solution
    panels, messages, source, cap = cut
    untouched = 0
    for k in range(len(arms)):
        if cap[k] >= 0:
            untouched = arms[k] + 1
    lowest, low = _lowest(cap, panels.last[0]), 0
    while low < lowest and source[low] >= 0:
        low += 1
    integrand = np.empty(POINTS)
    total_log = 0.0
    for i in range(len(panels.alpha) - 1, -1, -1):
        total_log, only_f = -np.inf, i == 0 and not to_the_end
        for p in range(max(panels.first[i], lowest) if only_f else panels.first[i], panels.last[i]):
            row, before = panels.start[i] + p, whole.start[i] + source[p]
            if source[p] < 0:
                fill_density(i, p, panels, messages)
            elif i >= untouched or p < low:
                if i == untouched and p >= low:
                    copy(known.lower, before, messages.lower, row)
                messages.lower_log[row] = total_log = known.lower_log[before]
                continue
            else:
                copy(known.density, before, messages.density, row)
                messages.density_log[row] = known.density_log[before]
            if not only_f:
                total_log = lower_message(i, p, total_log, panels, messages, integrand)
    return total_log


@kernel
def cut_off(
    solution: Solution,
    arms: IntArray,
    top: FloatArray,
    limit: FloatArray,
    below: FloatArray,
    density: FloatArray,
) -> None:
    """Set G ``[V]`` where `arms` ``[C]`` end at logits `limit` ``[V, C]``, and dG/d limit of the first rows.

    If there is no room for G, only the derivatives are set.
    The limits fall with the number of the arm, as the means do. One above `top` ``[C]`` cuts nothing off.
    """
    whole, _, log_weight = solution
    size, room = len(whole.alpha), len(whole.edges) + len(arms)
    panels, messages = new_panels(whole.alpha, whole.beta, room), new_messages(size, room)
    cut = Cut(panels, messages, np.empty(room + 1, np.int64), np.empty(len(arms), np.int64))
    for s in range(len(limit)):
        if len(below):
            below[s] = 0.0
        if s < len(density):
            for k in range(len(arms)):
                density[s, k] = 0.0
        if not _split(whole, limit[s], arms, top, cut):
            continue
        rows = stack_windows(panels)
        if rows > len(cut.messages.lower_log):
            cut = Cut(panels, new_messages(rows + size, room + 1), cut.source, cut.cap)
        total_log = _lower(arms, solution, cut, len(below) > 0)
        if len(below):
            below[s] = math.exp(min(total_log - log_weight, 0.0))
        if s < len(density):
            _read_density(limit[s], arms, log_weight, cut, density[s])


@kernel
def first_look(
    placed: Placed, paying: IntArray, rewards: FloatArray, rule: Rule
) -> tuple[IntArray, float, FloatArray, FloatArray, FloatArray]:
    """Return what `add_up` takes of the only state ``[1, N]``, none but `paying` ``[A]`` having a chance.

    It is what `integrate` does with `cut_off` before any panel is refined, without the way to Python and
    back between the steps, which takes as long as they do.
    """
    edges, first, last, lost = placed.edges[0], placed.first[0], placed.last[0], placed.beta[0]
    low, high, power = np.empty(len(paying)), np.empty(len(paying)), np.empty(len(paying))
    total, a = 0.0, 0
    for i in range(len(lost)):
        total += lost[i]
        if a < len(paying) and paying[a] == i:
            low[a], high[a], power[a] = edges[first[i]], edges[last[i]], total
            a += 1
    field = open_field(rewards, low, high, power)
    arms = np.empty(len(field.alive), np.int64)
    for c in range(len(arms)):
        arms[c] = paying[field.alive[c]]
    solution = solve(placed, len(placed.alpha) - 1)
    below = np.empty(len(field.limit))
    cut_off(solution, arms, field.high, field.limit, below, np.empty((0, len(arms))))
    spans, v, limit, rate = first_nodes(field, below, rule)
    density = np.empty(limit.shape)
    cut_off(solution, arms, field.high, limit, np.empty(0), density)
    parts, worth, error = collect(density, rate, v, spans, rule)
    return arms, field.unit, parts, worth, error
