r"""Panels for any chain, found by splitting: long chains, sharp arms, data that contradict the order.

On the panel edges alone, with :math:`\log(f_i L_{i+1})` taken as linear between them, the messages and the
log-densities of all arms follow in the log domain, however extreme. Densities are log-concave, so
splitting the panels beside each arm's best edge finds its peak. A panel is split until, for every arm with
mass on it, neither f, nor a message, nor the density spans more than ``nats``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsv._base.jit import borrowing, helper, kernel
from elsv._base.typing import FloatArray, IntArray
from elsv.beliefs.chain import Placed
from elsv.beliefs.chain.march_kernels import finer, left_end, widest
from elsv.beliefs.chain.messages_kernels import log_complement, probability

ROUNDS = 60
MARGIN = 40.0  # nats beyond the cut that the log-domain messages of the next round still cover


class Draft(NamedTuple):
    """Room for edges that are being split, and for log-domain messages on them.

    Arm i has messages from edge ``low[i]`` to ``high[i]``, inclusive. States share the room: fresh arrays
    took a third of the time.
    """

    edges: FloatArray  # [capacity]
    other: FloatArray  # [capacity], the edges of the next round
    complement: FloatArray  # [capacity], log(1 - x) at the edges
    x: FloatArray  # [capacity]
    log_density: FloatArray  # [capacity]
    demand: FloatArray  # [capacity], by panel
    place: IntArray  # [capacity], numbers of the edges in the next round
    density: FloatArray  # [N, capacity], log f
    lower: FloatArray  # [N, capacity], log L
    upper: FloatArray  # [N, capacity], log U
    low: IntArray  # [N]
    high: IntArray  # [N]


@helper
def first_edges(alpha: FloatArray, beta: FloatArray, cut: float, edges: FloatArray) -> int:
    """Set a coarse grid with an edge near every mode; return the number of edges."""
    arms = len(alpha)
    modes, spread = np.log(alpha / beta), np.sqrt(1 / alpha + 1 / beta)
    lowest, highest = modes.min(), modes.max()
    left, right = np.inf, -np.inf
    for i in range(arms):
        # Past the modes of all arms the order only makes an arm's density fall faster than its f.
        a, b = alpha[i], beta[i]
        peak = a * modes[i] + (a + b) * log_complement(modes[i])
        fall = peak - a * lowest - (a + b) * log_complement(lowest) if lowest < modes[i] else 0.0
        left = min(left, left_end(a, b, peak, fall + 2 * cut))
        fall = peak - a * highest - (a + b) * log_complement(highest) if highest > modes[i] else 0.0
        right = max(right, -left_end(b, a, peak, fall + 2 * cut))
    order = np.argsort(modes)
    count, j = 1, 0
    edges[0] = left
    while edges[count - 1] < right:
        y = edges[count - 1]
        while j < arms and modes[order[j]] <= y + 0.5 * min(spread[order[j]], 1.0):
            j += 1
        step = min(y + 0.6 * widest(y), right)
        if j < arms and modes[order[j]] < step:
            step = modes[order[j]]
        if count + 1 >= len(edges):
            break
        edges[count] = step
        count += 1
    edges[count - 1] = right
    return count


@helper
def _log_cell(left: float, right: float, width: float) -> float:
    """Return the log of the integral of exp of the line from `left` to `right`, over `width`."""
    high, span = max(left, right), abs(left - right)
    if span < 1e-5:
        return high + math.log(width) - 0.5 * span
    return high + math.log(width * -math.expm1(-span) / span)


@helper
def _log_add(a: float, b: float) -> float:
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


@helper
def fill_lower(alpha: FloatArray, beta: FloatArray, edges: FloatArray, draft: Draft) -> None:
    """Fill log f and log L."""
    arms, complement = len(alpha), draft.complement
    density, lower, low, high = draft.density, draft.lower, draft.low, draft.high
    for i in range(arms - 1, -1, -1):
        previous, slope = 0.0, 0.0
        for e in range(low[i], high[i] + 1):
            density[i, e] = alpha[i] * edges[e] + (alpha[i] + beta[i]) * complement[e]
            value = density[i, e]
            if i + 1 < arms:
                value += lower[i + 1, min(e, high[i + 1])]
            if e > low[i]:
                cell = _log_cell(previous, value, edges[e] - edges[e - 1])
                lower[i, e] = _log_add(lower[i, e - 1], cell)
            else:
                slope = alpha[i] - (alpha[i] + beta[i]) * probability(edges[e])
                if i + 1 < arms and e < high[i + 1]:
                    slope += (lower[i + 1, e + 1] - lower[i + 1, e]) / (edges[e + 1] - edges[e])
                lower[i, e] = value - math.log(max(slope, 0.1))
            previous = value


@helper
def fill_upper(alpha: FloatArray, beta: FloatArray, edges: FloatArray, draft: Draft) -> None:
    """Fill log U."""
    density, upper, low, high = draft.density, draft.upper, draft.low, draft.high
    for i in range(len(alpha)):
        previous = 0.0
        for e in range(high[i], low[i] - 1, -1):
            value = density[i, e]
            if i > 0:
                value += upper[i - 1, max(e, low[i - 1])]
            if e < high[i]:
                cell = _log_cell(previous, value, edges[e + 1] - edges[e])
                upper[i, e] = _log_add(upper[i, e + 1], cell)
            else:
                slope = (alpha[i] + beta[i]) * probability(edges[e]) - alpha[i]
                if i > 0 and e > low[i - 1]:
                    slope += (upper[i - 1, e - 1] - upper[i - 1, e]) / (edges[e] - edges[e - 1])
                upper[i, e] = value - math.log(max(slope, 0.1))
            previous = value


@borrowing
def _below(draft: Draft, i: int, e: int) -> float:
    return 0.0 if i + 1 == len(draft.low) else draft.lower[i + 1, min(e, draft.high[i + 1])]


@borrowing
def _above(draft: Draft, i: int, e: int) -> float:
    return 0.0 if i == 0 else draft.upper[i - 1, max(e, draft.low[i - 1])]


@helper
def arm_demand(
    i: int, alpha: FloatArray, beta: FloatArray, edges: FloatArray, cut: float, draft: Draft
) -> tuple[int, int]:
    """Raise the demand of panels to the nats that arm i spans; return its window of them, [first, last)."""
    x, log_density, demand = draft.x, draft.log_density, draft.demand
    low, high = draft.low[i], draft.high[i]
    best = low
    for e in range(low, high + 1):
        log_density[e] = draft.density[i, e] + _below(draft, i, e) + _above(draft, i, e)
        if log_density[e] > log_density[best]:
            best = e
    first, last = high, low
    n = alpha[i] + beta[i]
    for p in range(low, high):
        width = edges[p + 1] - edges[p]
        near = p in (best - 1, best)
        if near or max(log_density[p], log_density[p + 1]) > log_density[best] - cut:
            first, last = min(first, p), max(last, p + 1)
            slope = min(abs(alpha[i] - n * x[p]), abs(alpha[i] - n * x[p + 1]))
            bend = n * max(x[p] * (1 - x[p]), x[p + 1] * (1 - x[p + 1]))
            span = max(abs(draft.density[i, p + 1] - draft.density[i, p]), slope * width)
            span = max(span, width * width / 8 * bend)
            span = max(span, abs(_below(draft, i, p) - _below(draft, i, p + 1)))
            span = max(span, abs(_above(draft, i, p) - _above(draft, i, p + 1)))
            demand[p] = max(demand[p], span)
    margin = log_density[best] - cut - MARGIN
    while low < first and max(log_density[low], log_density[low + 1]) < margin:
        low += 1
    while high > last and max(log_density[high], log_density[high - 1]) < margin:
        high -= 1
    draft.low[i], draft.high[i] = low, high
    return first, last


@helper
def split(
    edges: FloatArray, count: int, nats: float, demand: FloatArray, out: FloatArray, place: IntArray
) -> int:
    """Copy `edges` to `out` with the demanding panels split; `place` maps edge numbers; return the count."""
    size, limit = 0, finer(nats)
    for p in range(count - 1):
        place[p] = size
        out[size] = edges[p]
        size += 1
        width = edges[p + 1] - edges[p]
        share = max(demand[p] / nats, width / (limit * widest(edges[p])) if demand[p] > 0 else 0.0)
        parts = min(max(2, math.ceil(share)), 4) if share > 1 else 1
        if width < 1e-13 * (1 + abs(edges[p])) or size + parts + count - p >= len(out):
            parts = 1
        for k in range(1, parts):
            out[size] = edges[p] + width * k / parts
            size += 1
    place[count - 1] = size
    out[size] = edges[count - 1]
    return size + 1


@helper
def refine(placed: Placed, s: int, nats: float, cut: float, draft: Draft) -> tuple[FloatArray, int]:
    """Return a state's panel edges, which are the draft's own, and their number; set every arm's window."""
    alpha, beta, first, last = placed.alpha[s], placed.beta[s], placed.first[s], placed.last[s]
    arms = len(alpha)
    edges, other, complement, x, demand = draft.edges, draft.other, draft.complement, draft.x, draft.demand
    place, low, high = draft.place, draft.low, draft.high
    count = first_edges(alpha, beta, cut, edges)
    low[:] = 0
    high[:] = count - 1
    for _ in range(ROUNDS):
        for e in range(count):
            complement[e], x[e] = log_complement(edges[e]), probability(edges[e])
        demand[:count] = 0.0
        fill_lower(alpha, beta, edges, draft)
        fill_upper(alpha, beta, edges, draft)
        for i in range(arms):
            first[i], last[i] = arm_demand(i, alpha, beta, edges, cut, draft)
        size = split(edges, count, nats, demand, other, place)
        if size == count:
            break
        for i in range(1, arms):
            low[i] = min(low[i], low[i - 1])
        for i in range(arms - 2, -1, -1):
            high[i] = max(high[i], high[i + 1])
        for i in range(arms):
            low[i], high[i] = place[low[i]], place[high[i]]
            first[i], last[i] = place[first[i]], place[last[i]]
        settled = demand[: count - 1].max() <= 2 * nats
        edges, other, count = other, edges, size
        if settled:
            break
    return edges, count


@kernel
def refine_all(placed: Placed, nats: float, cut: float, chosen: IntArray, capacity: int) -> FloatArray:
    """Return the edges of the `chosen` states, one after the other; set their panels' number and windows."""
    arms = placed.alpha.shape[1]
    rows, place = np.empty((6, capacity)), np.empty(capacity, np.int64)
    tables, low, high = np.empty((3, arms, capacity)), np.empty(arms, np.int64), np.empty(arms, np.int64)
    density, lower, upper = tables[0], tables[1], tables[2]
    draft = Draft(
        rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], place, density, lower, upper, low, high
    )
    found, size = np.empty(capacity), 0
    for s in chosen:
        edges, here = refine(placed, s, nats, cut, draft)
        placed.panels[s] = here - 1
        if size + here > len(found):
            more = np.empty(2 * (size + here))
            for e in range(size):
                more[e] = found[e]
            found = more
        for e in range(here):
            found[size + e] = edges[e]
        size += here
    return found
