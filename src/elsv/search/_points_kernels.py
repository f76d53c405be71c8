r"""Compiled search on weighted joint points of the belief at the root, whatever its structure.

A state that s successes and f failures of the candidates lead to has
:math:`W = \sum_m w_m \prod_i \theta_{mi}^{s_i} (1 - \theta_{mi})^{f_i}`: for the layer past the frontier a
matrix product over the points, the states of the first candidate by those of all the others. Every earlier
layer is :math:`W(s) = W(s{+}\text{success}) + W(s{+}\text{failure})`, and
:math:`W p_l(s) = W(s{+}\text{success}_l)`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsv._jit import helper, kernel
from elsv._typing import FloatArray
from elsv.lattice.backup_kernels import back_up
from elsv.lattice.small import Layers

TOGETHER = 8  # points that one pass over the states adds up


@helper
def fill_powers(x: float, won: FloatArray, lost: FloatArray) -> None:
    """Set the powers of x and of 1 - x."""
    won[0] = 1.0
    lost[0] = 1.0
    for k in range(len(won) - 1):
        won[k + 1] = won[k] * x
        lost[k + 1] = lost[k] * (1.0 - x)


@helper
def put_in_front(
    m: int,
    tail: int,
    layers: Layers,
    won: FloatArray,
    lost: FloatArray,
    table: FloatArray,
    out: FloatArray,
) -> None:
    """Set the entries of `out`: an arm in front of a tail, m pulls in all, at one point.

    `table` has an entry for every state of the tail of so many arms. The order is the lattice's.
    """
    at = np.uint64(0)
    for n in range(m + 1):
        old = np.uint64(layers.tail_states[tail, m - n])
        for b in range(layers.tail_blocks[tail, m - n], layers.tail_blocks[tail, m - n + 1]):
            size = np.uint64(layers.tail_sizes[b])
            for s in range(n + 1):
                factor = won[s] * lost[n - s]
                for j in range(size):
                    out[at + j] = factor * table[old + j]
                at += size
            old += size


@helper
def add_points(factor: FloatArray, slab: FloatArray, size: int, total: FloatArray) -> None:
    """Add Σ_g factor[g] slab[g, j] to total[j] for `TOGETHER` points."""
    a, b, c, d = slab[0], slab[1], slab[2], slab[3]
    e, f, g, h = slab[4], slab[5], slab[6], slab[7]
    s, t, u, v = factor[0], factor[1], factor[2], factor[3]
    w, x, y, z = factor[4], factor[5], factor[6], factor[7]
    for j in range(np.uint64(size)):
        total[j] += (s * a[j] + t * b[j] + (u * c[j] + v * d[j])) + (
            w * e[j] + x * f[j] + (y * g[j] + z * h[j])
        )


class Tables(NamedTuple):
    """Room for the factors of `TOGETHER` runs of points."""

    won: FloatArray  # [C, TOGETHER, d + 2], powers of θ of each candidate
    lost: FloatArray  # [C, TOGETHER, d + 2], powers of 1 - θ
    heads: FloatArray  # [TOGETHER, states of the first candidate]
    tails: FloatArray  # [TOGETHER, states of the third candidate on]
    slab: FloatArray  # [TOGETHER, states of the second candidate on with as many pulls]
    spare: FloatArray  # [2, states of the third candidate on]
    sums: FloatArray  # [states of the last layer], by the first candidate's state


@helper
def new_tables(count: int, layers: Layers) -> Tables:
    """Return room for `count` candidates."""
    most = len(layers.first_block) - 2
    width = layers.tail_states[count - 2, most + 1]
    widest = layers.tail_states[count - 1, most + 1] - layers.tail_states[count - 1, most]
    powers = (count, TOGETHER, most + 1)
    return Tables(
        np.empty(powers),
        np.empty(powers),
        np.empty((TOGETHER, (most + 1) * (most + 2) // 2)),
        np.empty((TOGETHER, width)),
        np.empty((TOGETHER, widest)),
        np.empty((2, width)),
        np.empty(layers.first_state[most + 1] - layers.first_state[most]),
    )


@helper
def add_head(x: float, weight: float, row: int, tables: Tables) -> None:
    """Add the factors of a point's first candidate to a row of heads."""
    won, lost, head = tables.won[0, row], tables.lost[0, row], tables.heads[row]
    fill_powers(x, won, lost)
    for n in range(len(won)):
        at = n * (n + 1) // 2
        for s in range(n + 1):
            head[at + s] += weight * won[s] * lost[n - s]


@helper
def add_tail(theta: FloatArray, weight: float, layers: Layers, row: int, tables: Tables) -> None:
    """Add the factors of a point's third and later candidates, times its weight, to a row of tails."""
    most = tables.won.shape[2] - 1
    table, spare = tables.spare[0], tables.spare[1]
    table[0] = weight
    for tail in range(len(theta) - 2):
        arm = len(theta) - 1 - tail
        won, lost = tables.won[arm, row], tables.lost[arm, row]
        fill_powers(theta[arm], won, lost)
        for m in range(most + 1):
            put_in_front(m, tail, layers, won, lost, table, spare[layers.tail_states[tail + 1, m] :])
        table, spare = spare, table
    tails = tables.tails[row]
    for j in range(len(tails)):
        tails[j] += table[j]


@helper
def run_of(theta: FloatArray, weight: FloatArray) -> tuple[int, int]:
    """Return how many points at the beginning are a product, and how many of these share the first candidate.

    They have the second candidate in common, every value of the first goes with the same values of
    the others, and the weights are products too. One point is such a run.
    """
    points, count = theta.shape
    end, width = 1, 1
    while end < points and theta[end, 1] == theta[0, 1]:
        end += 1
    while width < end and theta[width, 0] == theta[0, 0]:
        width += 1
    if end % width != 0:
        return 1, 1
    best = 0
    for g in range(end):
        if weight[g] > weight[best]:
            best = g
    head, place = best - best % width, best % width
    for g in range(end):
        start = g - g % width
        if theta[g, 0] != theta[start, 0]:
            return 1, 1
        for c in range(2, count):
            if theta[g, c] != theta[g % width, c]:
                return 1, 1
        product = weight[start + place] * weight[head + g % width]
        if abs(weight[g] * weight[best] - product) > 1e-12 * product:
            return 1, 1
    return end, width


@helper
def fill_row(
    theta: FloatArray, weight: FloatArray, width: int, layers: Layers, row: int, tables: Tables
) -> None:
    """Set a row to a run of points that is a product of the given width."""
    best = 0
    for g in range(len(theta)):
        if weight[g] > weight[best]:
            best = g
    head, place = best - best % width, best % width
    fill_powers(theta[0, 1], tables.won[1, row], tables.lost[1, row])
    tables.heads[row] = 0.0
    tables.tails[row] = 0.0
    if not weight[best] > 0.0:
        return
    for start in range(0, len(theta), width):
        add_head(theta[start, 0], weight[start + place] / weight[best], row, tables)
    for g in range(head, head + width):
        add_tail(theta[g], weight[g], layers, row, tables)


@helper
def add_runs(layers: Layers, tables: Tables) -> None:
    """Add the runs in `tables` to the sums: a block of a matrix product."""
    most = tables.won.shape[2] - 1
    tail = len(tables.won) - 2
    factor = np.empty(TOGETHER)
    at = 0
    for n in range(most + 1):
        m = most - n
        size = layers.tail_states[tail + 1, m + 1] - layers.tail_states[tail + 1, m]
        for g in range(TOGETHER):
            won, lost = tables.won[1, g], tables.lost[1, g]
            put_in_front(m, tail, layers, won, lost, tables.tails[g], tables.slab[g])
        for s in range(n + 1):
            for g in range(TOGETHER):
                factor[g] = tables.heads[g, n * (n + 1) // 2 + s]
            add_points(factor, tables.slab, size, tables.sums[at : at + size])
            at += size


@helper
def weigh_layer(
    theta: FloatArray, weight: FloatArray, layers: Layers, tables: Tables, out: FloatArray
) -> None:
    """Set `out` to W of all states of the last layer; `theta` ``[M, C]`` are the candidates' points.

    Runs of points that are a product given the second candidate are added up beforehand.
    """
    tables.sums[:] = 0.0
    runs, begin = 0, 0
    while begin < len(theta):
        length, width = run_of(theta[begin:], weight[begin:])
        end = begin + length
        fill_row(theta[begin:end], weight[begin:end], width, layers, runs % TOGETHER, tables)
        begin = end
        runs += 1
        if runs % TOGETHER == 0:
            add_runs(layers, tables)
    row = runs % TOGETHER
    if row > 0:
        tables.heads[row:] = 0.0
        tables.tails[row:] = 0.0
        tables.won[1, row:] = 0.0
        tables.lost[1, row:] = 0.0
        add_runs(layers, tables)
    # The lattice has the first arm's successes inside the blocks of the other arms' pulls.
    most = len(layers.first_block) - 2
    starts = layers.starts[layers.first_block[most] + most :]
    tail = theta.shape[1] - 1
    at, block = 0, 0
    for n in range(most + 1):
        begin, end = layers.tail_blocks[tail, most - n], layers.tail_blocks[tail, most - n + 1]
        for s in range(n + 1):
            for b in range(begin, end):
                length = layers.tail_sizes[b]
                to = starts[block + b - begin] + s * length
                for j in range(length):
                    out[to + j] = tables.sums[at + j]
                at += length
        block += end - begin


@kernel
def search_points(
    theta: FloatArray,
    weight: FloatArray,
    rewards: FloatArray,
    left: float,
    discount: float,
    layers: Layers,
    q: FloatArray,
) -> None:
    """Set q ``[B, C]``: pull candidates, commit to one of them at the frontier.

    `theta` ``[B, M, C]`` and `weight` ``[B, M]`` are points of the candidates, `rewards` ``[B, C]`` theirs;
    `left` counts the pulls, or discounted pulls, that remain at the frontier.
    """
    depth = len(layers.first_block) - 3
    tables = new_tables(theta.shape[2], layers)
    weights = np.empty(layers.first_state[depth + 2])
    largest = layers.first_state[depth + 1] - layers.first_state[depth]
    values = (np.empty(largest), np.empty(largest))
    unused = np.empty((theta.shape[2], 2))
    for n in range(len(theta)):
        weigh_layer(theta[n], weight[n], layers, tables, weights[layers.first_state[depth + 1] :])
        back_up(rewards[n], unused, left, discount, layers, weights, values, q[n])
