r"""One set of quadrature nodes for a state of ordered arms and for all states that it can lead to.

A state reached by s successes and f failures of arm i has that arm's density times :math:`x^s(1-x)^f \le 1`,
so nothing that the root cuts off can matter more to it than to the root. Messages are those of
`elsv.beliefs._chain_messages_kernels` as plain arrays over all nodes: the densities are scaled so that
:math:`L_i(\infty) = 1` for every arm, and with that W = 1 at the root.

Tables of messages are ``[nodes, columns]``: one column for each way in which some arms went on.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsv._jit import helper
from elsv._typing import FloatArray
from elsv.beliefs._chain_kernels import Room, place, with_edges
from elsv.beliefs._chain_messages_kernels import (
    CUMULATIVE,
    POINTS,
    WEIGHTS,
    Messages,
    Panels,
    fill_nodes,
    lower_messages,
    new_messages,
    stack_windows,
)

FINER = 10.0  # how much more finely pulls to come are resolved than those made


class Grid(NamedTuple):
    """Nodes, and the root's densities and messages at them."""

    edges: FloatArray  # [panels + 1], logits
    x: FloatArray  # [G]
    rest: FloatArray  # [G], 1 - x
    half: FloatArray  # [panels], half the width of each
    density: FloatArray  # [N, G], scaled; 0 outside an arm's window
    lower: FloatArray  # [N + 1, G]: L_i, and 1 for no arm
    upper: FloatArray  # [N + 1, G]: 1 for no arm, then U_i of arm i at i + 1


@helper
def split(panels: Panels, count: int, more: float, nats: float) -> tuple[Panels, int]:
    """Return panels that also resolve `more` pulls of any arm, and their number."""
    parts = np.empty(count, np.int64)
    total = 0
    for p in range(count):
        left, right = panels.edges[p], panels.edges[p + 1]
        nearest = 0.0 if left < 0 < right else min(abs(left), abs(right))
        small = math.exp(-nearest)
        # What a density with that many pulls falls over half a panel, when it peaks there.
        bend = more * (right - left) ** 2 / 8 * small / (1 + small) ** 2
        parts[p] = max(1, math.ceil(math.sqrt(FINER * bend / nats)))
        total += parts[p]
    edges = np.empty(total + 1)
    begins = np.empty(count + 1, np.int64)
    at = 0
    for p in range(count):
        left, right = panels.edges[p], panels.edges[p + 1]
        begins[p] = at
        for part in range(parts[p]):
            edges[at] = left + (right - left) * part / parts[p]
            at += 1
    begins[count] = at
    edges[at] = panels.edges[count]
    for i in range(len(panels.first)):
        panels.first[i] = begins[panels.first[i]]
        panels.last[i] = begins[panels.last[i]]
    return with_edges(edges, panels), total


@helper
def cut_at(panels: Panels, count: int, at: FloatArray) -> tuple[Panels, int]:
    """Return panels with further edges at the logits `at`, and their number."""
    old = panels.edges[: count + 1].copy()
    edges = np.empty(count + 1 + len(at))
    edges[: count + 1] = old
    total = count + 1
    for y in at:
        place = edge_at(edges[:total], y)
        if place < total and edges[place] > y + 1e-11 * (1 + abs(y)):
            for k in range(total, place, -1):
                edges[k] = edges[k - 1]
            edges[place] = y
            total += 1
    edges = edges[:total].copy()
    for i in range(len(panels.first)):
        panels.first[i] = edge_at(edges, old[panels.first[i]])
        panels.last[i] = edge_at(edges, old[panels.last[i]])
    return with_edges(edges, panels), total - 1


@helper
def edge_at(edges: FloatArray, y: float) -> int:
    """Return the number of the edge at y."""
    return int(np.searchsorted(edges, y - 1e-11 * (1 + abs(y))))


@helper
def make_grid(
    alpha: FloatArray,
    beta: FloatArray,
    more: float,
    nats: float,
    cut: float,
    room: Room,
    at: FloatArray,
) -> Grid:
    """Return the nodes for a root with counts `alpha`, `beta` ``[N]`` and up to `more` pulls of any arm.

    Panels also end at the logits `at`.
    """
    placed, first_count = place(alpha, beta, -np.inf, np.inf, nats, cut, room)
    panels, count = split(placed, first_count, more, nats)
    if len(at) > 0:
        panels, count = cut_at(panels, count, at)
    fill_nodes(panels, count)
    rows = stack_windows(panels)
    messages = room.messages
    if rows > len(messages.lower_log) or count > len(messages.upper_log):
        messages = new_messages(rows, count)
    lower_messages(alpha, beta, panels, messages)
    return _spread_out(panels, messages, count)


@helper
def _spread_out(panels: Panels, messages: Messages, count: int) -> Grid:
    """Return the densities and lower messages of all windows on the whole grid, and the upper messages."""
    arms, nodes = len(panels.first), count * POINTS
    half = 0.5 * (panels.edges[1 : count + 1] - panels.edges[:count])
    x, rest = np.empty(nodes), np.empty(nodes)
    for p in range(count):
        for k in range(POINTS):
            x[p * POINTS + k] = panels.x[p, k]
            rest[p * POINTS + k] = math.exp(panels.complement[p, k])
    density, lower, upper = np.zeros((arms, nodes)), np.zeros((arms + 1, nodes)), np.ones((arms + 1, nodes))
    lower[arms] = 1.0
    below = 0.0  # log of L of the arm below at infinity
    for i in range(arms - 1, -1, -1):
        whole = messages.lower_log[panels.start[i] + panels.last[i] - 1]
        for p in range(panels.first[i], panels.last[i]):
            row = panels.start[i] + p
            scale = math.exp(messages.density_log[row] + below - whole)
            share = math.exp(messages.lower_log[row] - whole)
            for k in range(POINTS):
                density[i, p * POINTS + k] = messages.density[row, k] * scale
                lower[i, p * POINTS + k] = messages.lower[row, k] * share
        lower[i, panels.last[i] * POINTS :] = 1.0
        below = whole
    one, other = np.empty((nodes, 1)), np.empty((nodes, 1))
    for down in (True,):  # not a constant, for which `carry` would be compiled once more
        for i in range(arms):
            one[:, 0] = upper[i]
            carry(density[i], one, one.shape[1], half, down, other)
            upper[i + 1] = other[:, 0]
    return Grid(panels.edges[: count + 1], x, rest, half, density, lower, upper)


@helper
def carry(
    density: FloatArray, table: FloatArray, columns: int, half: FloatArray, down: bool, out: FloatArray
) -> None:
    """Set `out` to the integrals of density times each column above every node (`down`) or below it."""
    carried, value = np.zeros(columns), np.empty((POINTS, columns))
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


@helper
def node_weights(half: FloatArray) -> FloatArray:
    """Return the weights of the quadrature over all nodes ``[G]``."""
    out = np.empty(len(half) * POINTS)
    for p in range(len(half)):
        for k in range(POINTS):
            out[p * POINTS + k] = half[p] * WEIGHTS[k]
    return out
