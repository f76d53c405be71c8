"""Compiled choices and frontier values for all states of a layer (see `elsv.lattice._sweep_kernels`)."""

from __future__ import annotations

import numpy as np

from elsv._base.jit import borrowing, kernel
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.lattice._tile_kernels import (
    Tile,
    Walk,
    copy_tile,
    first_tile,
    new_walk,
    next_tile,
    raise_tile,
    reward_tile,
    successes,
    table_start,
    tile_room,
)


@kernel
def prefer_infinite(
    tables: FloatArray, group: IntArray, pulls: IntArray, starts: IntArray, actions: AnyArray
) -> None:
    """Set `actions` to the first arm whose index is infinite, where there is one."""
    walk = new_walk(pulls, starts, pulls)  # no arm is pulled, so successors are not read
    tile = first_tile(walk)
    while tile.length > 0:
        for row in range(tile.rows):
            prefer_infinite_row(walk, tile, row, tables, group, actions)
        tile = next_tile(walk, tile)


@borrowing
def prefer_infinite_row(
    walk: Walk, tile: Tile, row: int, tables: FloatArray, group: IntArray, actions: AnyArray
) -> None:
    """Set `actions` to the first arm whose index is infinite in a row of a tile."""
    last = len(group) - 1
    for j in range(tile.width):
        for i in range(last + 1):
            wins = j if i == last else successes(walk, i, row)
            if tables[group[i], table_start(walk, tile, i) + wins] == np.inf:
                actions[tile.here + row * tile.width + j] = i
                break


@kernel
def commit_values(
    weights: FloatArray,
    pulls: IntArray,
    starts: IntArray,
    after: IntArray,
    rewards: FloatArray,
    prior: FloatArray,
    remaining: float,
    out: FloatArray,
) -> None:
    """Set `out` to remaining times the best expected reward; `weights` is W of the next layer."""
    room = tile_room(pulls)
    q, best = np.empty(room), np.empty(room)
    walk = new_walk(pulls, starts, after)
    tile = first_tile(walk)
    while tile.length > 0:
        best[: tile.length] = 0.0
        for i in range(len(rewards)):
            reward_tile(walk, tile, i, remaining * rewards[i], prior, weights, q)
            raise_tile(best, tile, q)
        copy_tile(best, tile, out)
        tile = next_tile(walk, tile)


@kernel
def separable_values(
    tables: FloatArray,
    group: IntArray,
    scale: FloatArray,
    weights: FloatArray,
    pulls: IntArray,
    starts: IntArray,
    out: FloatArray,
) -> None:
    """Set `out` to Σ_i scale_i υ(state of arm i), times W of this same layer unless it is empty."""
    walk = new_walk(pulls, starts, pulls)  # no arm is pulled, so successors are not read
    tile = first_tile(walk)
    while tile.length > 0:
        for row in range(tile.rows):
            separable_row(walk, tile, row, tables, group, scale, weights, out)
        tile = next_tile(walk, tile)


@borrowing
def separable_row(
    walk: Walk,
    tile: Tile,
    row: int,
    tables: FloatArray,
    group: IntArray,
    scale: FloatArray,
    weights: FloatArray,
    out: FloatArray,
) -> None:
    """Set `out` to Σ_i scale_i υ(state of arm i) in a row of a tile, times W unless it is empty."""
    last = len(scale) - 1
    others = 0.0
    for i in range(last):
        others += scale[i] * tables[group[i], table_start(walk, tile, i) + successes(walk, i, row)]
    own, extra = tables[group[last], table_start(walk, tile, last) :], scale[last]
    at = np.uint64(tile.here + row * tile.width)
    for j in range(np.uint64(tile.width)):
        out[at + j] = others + extra * own[j]
    if len(weights) > 0:
        for j in range(np.uint64(tile.width)):
            # An infinite value of an impossible state must not become NaN.
            weighted = weights[at + j] * out[at + j]
            out[at + j] = weighted if weights[at + j] > 0 else 0.0
