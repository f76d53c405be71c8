r"""Compiled search: pull any of a few candidates d times, then commit; with an order or without.

The states are those of a lattice of the candidates (`elsv.planning.lattice`) with the root at its origin.
W of the layer d + 1 is a product over quadrature nodes (`elsv.beliefs._chain_grid_kernels`): rows for the first
candidate and all arms above the second, columns for the others. Every earlier layer is
:math:`W(s) = W(s{+}\text{success}) + W(s{+}\text{failure})`, and :math:`W p_l(s) = W(s{+}\text{success}_l)`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsv._jit import kernel
from elsv._typing import FloatArray, IntArray
from elsv.beliefs._chain_kernels import new_room
from elsv.planning._choice_kernels import commit_values
from elsv.beliefs._chain_grid_kernels import Grid, carry, make_grid, node_weights
from elsv.planning._lattice_kernels import add_weights, maximise
from elsv.planning.layers import Layers


class Powers(NamedTuple):
    """Powers of x and 1 - x at the nodes, ``[G, d + 2]``."""

    won: FloatArray
    lost: FloatArray


@kernel
def make_powers(grid: Grid, most: int) -> Powers:
    """Return powers up to `most`."""
    nodes = len(grid.x)
    won, lost = np.ones((nodes, most + 1)), np.ones((nodes, most + 1))
    for g in range(nodes):
        for k in range(most):
            won[g, k + 1] = won[g, k] * grid.x[g]
            lost[g, k + 1] = lost[g, k] * grid.rest[g]
    return Powers(won, lost)


@kernel
def grow(
    m: int,
    tail: int,
    layers: Layers,
    density: FloatArray,
    powers: Powers,
    table: FloatArray,
    first: int,
    out: FloatArray,
) -> None:
    """Set the columns of `out` from `first` on: an arm in front of a tail, m pulls in all.

    `table` has a column for every state of the tail of so many arms. The order is the lattice's.
    """
    size_of_layer = layers.tail_states[tail + 1, m + 1] - layers.tail_states[tail + 1, m]
    for g in range(len(density)):
        if density[g] == 0.0:
            out[g, first : first + size_of_layer] = 0.0
            continue
        line, old_line = out[g], table[g]
        at = np.uint64(first)
        for n in range(m + 1):
            old = np.uint64(layers.tail_states[tail, m - n])
            for b in range(layers.tail_blocks[tail, m - n], layers.tail_blocks[tail, m - n + 1]):
                size = np.uint64(layers.tail_sizes[b])
                for s in range(n + 1):
                    factor = density[g] * powers.won[g, s] * powers.lost[g, n - s]
                    for j in range(size):
                        line[at + j] = factor * old_line[old + j]
                    at += size
                old += size


@kernel
def rows_of(most: int, chosen: IntArray, layers: Layers, grid: Grid, powers: Powers) -> FloatArray:
    """Return messages ``[G, states of one arm]`` from the first candidate and all arms above the second."""
    nodes = len(grid.x)
    columns = (most + 1) * (most + 2) // 2
    above = np.empty((nodes, 1))
    above[:, 0] = grid.upper[chosen[0]]
    table, spare = np.empty((nodes, columns)), np.empty((nodes, columns))
    for m in range(most + 1):
        grow(m, 0, layers, grid.density[chosen[0]], powers, above, m * (m + 1) // 2, spare)
    carry(np.ones(nodes), spare, columns, grid.half, True, table)
    for i in range(chosen[0] + 1, chosen[1]):
        carry(grid.density[i], table, columns, grid.half, True, spare)
        table, spare = spare, table
    return table


@kernel
def tail_of(most: int, chosen: IntArray, layers: Layers, grid: Grid, powers: Powers) -> FloatArray:
    """Return messages ``[G, states of the third candidate on]`` from all arms below the second."""
    nodes, place = len(grid.x), len(chosen) - 1
    table = np.empty((nodes, 1))
    table[:, 0] = grid.lower[chosen[place] + 1]
    tail, columns = 0, 1
    for i in range(chosen[place], chosen[1], -1):
        density = grid.density[i]
        if chosen[place] == i:
            columns = layers.tail_states[tail + 1, most + 1]
            longer = np.empty((nodes, columns))
            for m in range(most + 1):
                grow(m, tail, layers, density, powers, table, layers.tail_states[tail + 1, m], longer)
            table, density = longer, np.ones(nodes)
            tail += 1
            place -= 1
        out = np.empty((nodes, columns))
        carry(density, table, columns, grid.half, False, out)
        table = out
    return table


@kernel
def join(
    made: int,
    second: FloatArray,
    rows: FloatArray,
    table: FloatArray,
    layers: Layers,
    powers: Powers,
    slab: FloatArray,
    sums: FloatArray,
    out: FloatArray,
) -> None:
    """Set `out` to W of all states of layer `made`; `second` is the second candidate's density, weighted."""
    tail = layers.tail_blocks.shape[0] - 2
    starts = layers.starts[layers.first_block[made] + made :]
    block = 0
    for n in range(made + 1):
        m = made - n
        size = layers.tail_states[tail + 1, m + 1] - layers.tail_states[tail + 1, m]
        grow(m, tail, layers, second, powers, table, 0, slab)
        begin, end = layers.tail_blocks[tail + 1, m], layers.tail_blocks[tail + 1, m + 1]
        for s in range(n + 1):
            row = n * (n + 1) // 2 + s
            total = sums[:size]
            total[:] = 0.0
            for g in range(len(second)):
                if second[g] == 0.0:
                    continue
                factor = rows[g, row]
                line = slab[g]
                for j in range(size):
                    total[j] += factor * line[j]
            at = 0
            for b in range(begin, end):
                length = layers.tail_sizes[b]
                to = starts[block + b - begin] + s * length
                for j in range(length):
                    out[to + j] = total[at + j]
                at += length
        block += end - begin


@kernel
def search_ahead(
    alpha: FloatArray,
    beta: FloatArray,
    rewards: FloatArray,
    candidates: IntArray,
    left: float,
    discount: float,
    nats: float,
    cut: float,
    layers: Layers,
    q: FloatArray,
) -> None:
    """Set q ``[B, C]``: pull candidates, commit to one of them at the frontier.

    `left` counts the pulls, or discounted pulls, that remain at the frontier.
    """
    instances, arms = alpha.shape
    count = candidates.shape[1]
    depth = len(layers.first_block) - 3
    room = new_room(arms)
    weights = np.empty(layers.first_state[depth + 2])
    largest = layers.first_state[depth + 1] - layers.first_state[depth]
    values = (np.empty(largest), np.empty(largest))
    widest = layers.tail_states[count - 1, depth + 2] - layers.tail_states[count - 1, depth + 1]
    sums, slab, prior = np.empty(widest), np.empty((0, widest)), np.empty((count, 2))
    for n in range(instances):
        chosen = candidates[n]
        grid = make_grid(alpha[n], beta[n], depth + 1.0, nats, cut, room, np.empty(0))
        powers = make_powers(grid, depth + 1)
        if len(slab) < len(grid.x):
            slab = np.empty((len(grid.x), widest))
        rows = rows_of(depth + 1, chosen, layers, grid, powers)
        table = tail_of(depth + 1, chosen, layers, grid, powers)
        second = node_weights(grid.half) * grid.density[chosen[1]]
        last = weights[layers.first_state[depth + 1] :]
        join(depth + 1, second, rows, table, layers, powers, slab, sums, last)
        _back_up(rewards[chosen], prior, left, discount, layers, weights, values, q[n])


@kernel
def search_free(
    alpha: FloatArray,
    beta: FloatArray,
    rewards: FloatArray,
    left: float,
    layers: Layers,
    q: FloatArray,
) -> None:
    """Set q ``[B, N]`` for independent arms: the same search of all of them, without weights."""
    depth = len(layers.first_block) - 3
    largest = layers.first_state[depth + 1] - layers.first_state[depth]
    values, nothing = (np.empty(largest), np.empty(largest)), np.empty(0)
    for n in range(len(alpha)):
        counts = np.stack((alpha[n], beta[n]), axis=1)
        _back_up(rewards, counts, left, 1.0, layers, nothing, values, q[n])


@kernel
def _back_up(
    rewards: FloatArray,
    prior: FloatArray,
    left: float,
    discount: float,
    layers: Layers,
    weights: FloatArray,
    room: tuple[FloatArray, FloatArray],
    q: FloatArray,
) -> None:
    """Set q of the root from W of the last layer; `weights` is filled up for the others.

    Without weights the arms are independent, and `prior` ``[N, 2]`` are the root's counts.
    """
    values, spare = room
    no_actions, weighted = np.empty(0, np.uint8), len(weights) > 0
    depth = len(layers.first_block) - 3
    for m in range(depth, -1, -1):
        begin, end = layers.first_block[m], layers.first_block[m + 1]
        pulls, after = layers.pulls[begin:end], layers.after[begin:end]
        starts = layers.starts[begin + m : end + m + 1]
        here, later = weights, weights
        if weighted:
            here = weights[layers.first_state[m] : layers.first_state[m + 1]]
            later = weights[layers.first_state[m + 1] : layers.first_state[m + 2]]
            add_weights(later, pulls, starts, after, here)
        if m == depth:
            commit_values(later, pulls, starts, after, rewards, prior, left, values)
        elif m > 0:
            maximise(values, later, pulls, starts, after, rewards, prior, spare, no_actions)
            values, spare = spare, values
        else:
            for c in range(len(rewards)):
                lost = after[0, c]
                won = lost + 1
                if weighted:
                    q[c] = (rewards[c] * later[won] + values[lost] + values[won]) / here[0]
                else:
                    p = prior[c, 0] / (prior[c, 0] + prior[c, 1])
                    q[c] = p * (rewards[c] + values[won]) + (1 - p) * values[lost]
        if discount != 1.0:
            for s in range(layers.first_state[m + 1] - layers.first_state[m]):
                values[s] *= discount
