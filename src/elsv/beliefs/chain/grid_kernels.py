r"""One set of quadrature nodes for a state of ordered arms and for all states that it can lead to.

A state reached by s successes and f failures of arm i has that arm's density times :math:`x^s(1-x)^f \le 1`,
so nothing that the root cuts off can matter more to it than to the root. Messages are those of
`elsv.beliefs.chain.messages_kernels` as plain arrays over all nodes: the densities are scaled so that
:math:`L_i(\infty) = 1` for every arm, and with that W = 1 at the root.

Tables of messages are ``[nodes, columns]``: one column for each way in which some arms went on.

A Gauss rule of n points has the moments up to degree 2n - 1 of a measure that is given at many nodes. Its
points are the eigenvalues of the measure's Jacobi matrix, which the three-term recurrence of its orthogonal
polynomials gives (Stieltjes; Golub, Welsch 1969).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsv._base.jit import helper, kernel, merged
from elsv._base.typing import FloatArray
from elsv.beliefs.chain import Placed
from elsv.beliefs.chain.messages_kernels import (
    CUMULATIVE,
    POINTS,
    WEIGHTS,
    Messages,
    Panels,
    new_panels,
    send_down,
)

LANES = 4
SMALL = 1e-12  # squared length below which the nodes have no further polynomial
FINER = 10.0  # how much more finely pulls to come are resolved than those made


class Grid(NamedTuple):
    """Nodes, and the root's densities and messages at them."""

    edges: FloatArray  # [panels + 1], logits
    x: FloatArray  # [G]
    rest: FloatArray  # [G], 1 - x
    half: FloatArray  # [panels], half the width of each
    weights: FloatArray  # [G], of the quadrature
    density: FloatArray  # [N, G], scaled; 0 outside an arm's window
    lower: FloatArray  # [N + 1, G]: L_i, and 1 for no arm
    upper: FloatArray  # [N + 1, G]: 1 for no arm, then U_i of arm i at i + 1


@merged
def split(placed: Placed, s: int, more: float, nats: float, spare: int) -> tuple[Panels, int]:
    """Return a state's panels split so that they also resolve `more` pulls of any arm, and their number.

    There is room for `spare` more of them.
    """
    edges, count = placed.edges[s], placed.panels[s]
    parts = np.empty(count, np.int64)
    total = 0
    for p in range(count):
        left, right = edges[p], edges[p + 1]
        nearest = 0.0 if left < 0 < right else min(abs(left), abs(right))
        small = math.exp(-nearest)
        # What a density with that many pulls falls over half a panel, when it peaks there.
        bend = more * (right - left) ** 2 / 8 * small / (1 + small) ** 2
        parts[p] = max(1, math.ceil(math.sqrt(FINER * bend / nats)))
        total += parts[p]
    panels = new_panels(placed.alpha[s], placed.beta[s], total + spare)
    begins = np.empty(count + 1, np.int64)
    at = 0
    for p in range(count):
        left, right = edges[p], edges[p + 1]
        begins[p] = at
        for part in range(parts[p]):
            panels.edges[at] = left + (right - left) * part / parts[p]
            at += 1
    begins[count] = at
    panels.edges[at] = edges[count]
    for i in range(len(panels.first)):
        panels.first[i] = begins[placed.first[s, i]]
        panels.last[i] = begins[placed.last[s, i]]
    return panels, total


@merged
def cut_at(panels: Panels, count: int, at: FloatArray) -> int:
    """Give the panels further edges at the logits `at`, for which they have room; return their number."""
    edges, total = panels.edges, count + 1
    old = np.empty(total)
    for k in range(total):
        old[k] = edges[k]
    for j in range(len(at)):
        y = at[j]
        place = edge_at(edges, total, y)
        if place < total and edges[place] > y + 1e-11 * (1 + abs(y)):
            for k in range(total, place, -1):
                edges[k] = edges[k - 1]
            edges[place] = y
            total += 1
    for i in range(len(panels.first)):
        panels.first[i] = edge_at(edges, total, old[panels.first[i]])
        panels.last[i] = edge_at(edges, total, old[panels.last[i]])
    return total - 1


@helper
def edge_at(edges: FloatArray, count: int, y: float) -> int:
    """Return the number of the edge at y, of the first `count`."""
    return first_from(edges, count, y - 1e-11 * (1 + abs(y)))


@helper
def first_from(values: FloatArray, count: int, least: float) -> int:
    """Return how many of the first `count` increasing values are below `least`."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low


@helper
def make_grid(placed: Placed, s: int, more: float, nats: float, at: FloatArray) -> Grid:
    """Return the nodes for state s as a root and up to `more` pulls of any arm.

    They lie on its panels, which are split. Panels also end at the logits `at`.
    """
    panels, size = split(placed, s, more, nats, len(at))
    if len(at) > 0:
        size = cut_at(panels, size, at)
    return _spread_out(panels, send_down(panels, size)[0], size)


@merged
def _spread_out(panels: Panels, messages: Messages, count: int) -> Grid:
    """Return the densities and lower messages of all windows on the whole grid, and the upper messages."""
    arms, nodes = len(panels.first), count * POINTS
    edges, half = np.empty(count + 1), np.empty(count)
    x, rest, weights = np.empty(nodes), np.empty(nodes), np.empty(nodes)
    for p in range(count):
        edges[p] = panels.edges[p]
        half[p] = 0.5 * (panels.edges[p + 1] - panels.edges[p])
        for k in range(POINTS):
            x[p * POINTS + k] = panels.x[p, k]
            rest[p * POINTS + k] = math.exp(panels.complement[p, k])
            weights[p * POINTS + k] = half[p] * WEIGHTS[k]
    edges[count] = panels.edges[count]
    density, lower, upper = np.empty((arms, nodes)), np.empty((arms + 1, nodes)), np.empty((arms + 1, nodes))
    one, other = np.empty((nodes, 1)), np.empty((nodes, 1))
    for g in range(nodes):
        lower[arms, g] = upper[0, g] = one[g, 0] = 1.0
    below = 0.0  # log of L of the arm below at infinity
    for i in range(arms - 1, -1, -1):
        whole = messages.lower_log[panels.start[i] + panels.last[i] - 1]
        for p in range(count):
            inside = panels.first[i] <= p < panels.last[i]
            row = panels.start[i] + p if inside else 0
            scale = math.exp(messages.density_log[row] + below - whole) if inside else 0.0
            share = math.exp(messages.lower_log[row] - whole) if inside else 0.0
            for k in range(POINTS):
                density[i, p * POINTS + k] = messages.density[row, k] * scale if inside else 0.0
                past = 1.0 if p >= panels.last[i] else 0.0
                lower[i, p * POINTS + k] = messages.lower[row, k] * share if inside else past
        below = whole
    down = arms > 0  # not a constant, for which `carry` would be compiled once more
    for i in range(arms):
        carry(density[i], one, one.shape[1], half, down, other)
        for g in range(nodes):
            upper[i + 1, g] = one[g, 0] = other[g, 0]
    return Grid(edges, x, rest, half, weights, density, lower, upper)


@helper
def carry(
    density: FloatArray, table: FloatArray, columns: int, half: FloatArray, down: bool, out: FloatArray
) -> None:
    """Set `out` to the integrals of density times each column above every node (`down`) or below it."""
    carried, value = np.empty(columns), np.empty((POINTS, columns))
    for s in range(columns):
        carried[s] = 0.0
    panels = len(half)
    for turn in range(panels):
        p = panels - 1 - turn if down else turn
        for k in range(POINTS):
            for s in range(columns):
                out[p * POINTS + k, s] = carried[s]
        for j in range(POINTS):
            scale = half[p] * density[p * POINTS + j]
            if scale == 0.0:
                continue
            for s in range(columns):
                value[j, s] = scale * table[p * POINTS + j, s]
                carried[s] += WEIGHTS[j] * value[j, s]
            for k in range(POINTS):
                share = WEIGHTS[j] - CUMULATIVE[k, j] if down else CUMULATIVE[k, j]
                for s in range(columns):
                    out[p * POINTS + k, s] += share * value[j, s]


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
