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

from elsv._jit import kernel
from elsv._typing import FloatArray
from elsv.planning._ahead_kernels import _back_up
from elsv.planning.layers import Layers

TOGETHER = 8  # points that one pass over the states adds up


@kernel
def fill_powers(x: float, won: FloatArray, lost: FloatArray) -> None:
    """Set the powers of x and of 1 - x."""
    won[0] = 1.0
    lost[0] = 1.0
    for k in range(len(won) - 1):
        won[k + 1] = won[k] * x
        lost[k + 1] = lost[k] * (1.0 - x)


@kernel
def put_in_front(
    m: int,
    tail: int,
    layers: Layers,
    won: FloatArray,
    lost: FloatArray,
    table: FloatArray,
    first: int,
    out: FloatArray,
) -> None:
    """Set the entries of `out` from `first` on: an arm in front of a tail, m pulls in all, at one point.

    `table` has an entry for every state of the tail of so many arms. The order is the lattice's.
    """
    at = np.uint64(first)
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


@kernel
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
    """Room for the factors of `TOGETHER` groups of points."""

    won: FloatArray  # [C, TOGETHER, d + 2], powers of θ of each candidate
    lost: FloatArray  # [C, TOGETHER, d + 2], powers of 1 - θ
    tails: FloatArray  # [TOGETHER, states of the third candidate on]
    slab: FloatArray  # [TOGETHER, states of the second candidate on with as many pulls]
    spare: FloatArray  # [2, states of the third candidate on]
    sums: FloatArray  # [states of the last layer], by the first candidate's state


@kernel
def new_tables(count: int, layers: Layers) -> Tables:
    """Return room for `count` candidates."""
    most = len(layers.first_block) - 2
    width = layers.tail_states[count - 2, most + 1]
    widest = layers.tail_states[count - 1, most + 1] - layers.tail_states[count - 1, most]
    powers = (count, TOGETHER, most + 1)
    return Tables(
        np.empty(powers),
        np.empty(powers),
        np.empty((TOGETHER, width)),
        np.empty((TOGETHER, widest)),
        np.empty((2, width)),
        np.empty(layers.first_state[most + 1] - layers.first_state[most]),
    )


@kernel
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
            put_in_front(m, tail, layers, won, lost, table, layers.tail_states[tail + 1, m], spare)
        table, spare = spare, table
    tails = tables.tails[row]
    for j in range(len(tails)):
        tails[j] += table[j]


@kernel
def add_groups(layers: Layers, tables: Tables) -> None:
    """Add the groups in `tables` to the sums: a block of a matrix product."""
    most = tables.won.shape[2] - 1
    tail = len(tables.won) - 2
    factor = np.empty(TOGETHER)
    at = 0
    for n in range(most + 1):
        m = most - n
        size = layers.tail_states[tail + 1, m + 1] - layers.tail_states[tail + 1, m]
        for g in range(TOGETHER):
            put_in_front(
                m, tail, layers, tables.won[1, g], tables.lost[1, g], tables.tails[g], 0, tables.slab[g]
            )
        for s in range(n + 1):
            for g in range(TOGETHER):
                factor[g] = tables.won[0, g, s] * tables.lost[0, g, n - s]
            add_points(factor, tables.slab, size, tables.sums[at : at + size])
            at += size


@kernel
def weigh_layer(
    theta: FloatArray, weight: FloatArray, layers: Layers, tables: Tables, out: FloatArray
) -> None:
    """Set `out` to W of all states of the last layer; `theta` ``[M, C]`` are the candidates' points.

    Points that follow one another with the same first and second candidate are added up beforehand.
    """
    tables.sums[:] = 0.0
    row = -1
    for g in range(len(theta)):
        if g == 0 or theta[g, 0] != theta[g - 1, 0] or theta[g, 1] != theta[g - 1, 1]:
            row += 1
            if row == TOGETHER:
                add_groups(layers, tables)
                row = 0
            for c in range(2):
                fill_powers(theta[g, c], tables.won[c, row], tables.lost[c, row])
            tables.tails[row] = 0.0
        add_tail(theta[g], weight[g], layers, row, tables)
    for rest in range(row + 1, TOGETHER):
        tables.won[:2, rest] = 0.0
        tables.lost[:2, rest] = 0.0
        tables.tails[rest] = 0.0
    add_groups(layers, tables)
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
        _back_up(rewards[n], unused, left, discount, layers, weights, values, q[n])


@kernel
def search_stops(
    theta: FloatArray,
    weight: FloatArray,
    rewards: FloatArray,
    left: float,
    discount: float,
    most: int,
    q: FloatArray,
) -> None:
    """Set q ``[B, N]``: pull one arm up to `most` times, commit as soon as that is better.

    `left` counts the pulls, or the discounted pulls, that remain at the root.
    """
    instances, points, arms = theta.shape
    whole = -(-points // TOGETHER) * TOGETHER
    gains = np.zeros((whole, arms + 1))  # expected rewards at each point, and 1
    factor, worth = np.zeros((most + 1, whole)), np.empty(most + 1)
    won, lost = np.empty(most + 1), np.empty(most + 1)
    wins = np.empty((most + 1, arms + 1))
    for n in range(instances):
        for g in range(points):
            for i in range(arms):
                gains[g, i] = rewards[i] * theta[n, g, i]
            gains[g, arms] = 1.0
        for arm in range(arms):
            for g in range(points):
                fill_powers(theta[n, g, arm], won, lost)
                for j in range(most + 1):
                    factor[j, g] = weight[n, g] * won[j] * lost[most - j]
            wins[:] = 0.0
            for g in range(0, whole, TOGETHER):
                for j in range(most + 1):
                    add_points(factor[j, g:], gains[g:], arms + 1, wins[j])
            q[n, arm] = stop_when_better(arm, left, discount, wins, worth)


@kernel
def stop_when_better(arm: int, left: float, discount: float, wins: FloatArray, worth: FloatArray) -> float:
    """Return the worth of at least one pull of `arm`; `wins` is W r p of all arms after the last pull, and W."""
    most, arms = len(wins) - 1, wins.shape[1] - 1
    after = left - most if discount == 1.0 else left
    for j in range(most + 1):
        worth[j] = after * wins[j, :arms].max()
    for made in range(most - 1, -1, -1):
        after = left - made if discount == 1.0 else left
        for j in range(made + 1):
            wins[j] += wins[j + 1]
            worth[j] = wins[j, arm] + discount * (worth[j] + worth[j + 1])
            if made > 0:
                worth[j] = max(worth[j], after * wins[j, :arms].max())
    return float(worth[0] / wins[0, arms])
