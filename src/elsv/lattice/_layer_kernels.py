"""Compiled choices and frontier values for all states of a layer (see `elsv.lattice._sweep_kernels`)."""

from __future__ import annotations

import numpy as np

from elsv._base.jit import borrowing, kernel
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv._choice_kernels import first_best
from elsv.lattice._tile_kernels import (
    Tile,
    Walk,
    add_times,
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
    tables: FloatArray,
    group: IntArray,
    rewards: FloatArray,
    segment: IntArray,
    pulls: IntArray,
    starts: IntArray,
    actions: AnyArray,
) -> None:
    """Set `actions` ``[G, states]`` to the best arms by reward times index where any index is infinite."""
    scores, own, scale = np.empty(len(rewards)), np.empty(len(rewards)), rewards.max()
    walk = new_walk(pulls, starts, pulls)  # no arm is pulled, so successors are not read
    tile = first_tile(walk)
    while tile.length > 0:
        for row in range(tile.rows):
            prefer_infinite_row(walk, tile, row, tables, group, rewards, scale, segment, scores, own, actions)
        tile = next_tile(walk, tile)


@borrowing
def prefer_infinite_row(
    walk: Walk,
    tile: Tile,
    row: int,
    tables: FloatArray,
    group: IntArray,
    rewards: FloatArray,
    scale: float,
    segment: IntArray,
    scores: FloatArray,
    own: FloatArray,
    actions: AnyArray,
) -> None:
    """Do the same in a row of a tile."""
    last = len(group) - 1
    for j in range(tile.width):
        infinite = False
        for i in range(last + 1):
            wins = j if i == last else successes(walk, i, row)
            scores[i] = rewards[i] * tables[group[i], table_start(walk, tile, i) + wins]
            infinite = infinite or scores[i] == np.inf
        for g in range(len(actions) if infinite else 0):
            for i in range(last + 1):
                own[i] = scores[i] if segment[i] == g else -np.inf
            actions[g, tile.here + row * tile.width + j] = first_best(own, scale)


@kernel
def commit_values(
    weights: FloatArray,
    pulls: IntArray,
    starts: IntArray,
    after: IntArray,
    rewards: FloatArray,
    prior: FloatArray,
    segment: IntArray,
    chances: FloatArray,
    remaining: float,
    out: FloatArray,
) -> None:
    """Set `out` to remaining times what the next customer pays in expectation, each from the best arm.

    `weights` is W of the next layer.
    """
    room = tile_room(pulls)
    q, best, total = np.empty(room), np.empty(room), np.empty(room)
    walk = new_walk(pulls, starts, after)
    tile = first_tile(walk)
    while tile.length > 0:
        for g in range(chances.shape[1]):
            best[: tile.length] = 0.0
            for i in range(len(rewards)):
                if segment[i] == g:
                    reward_tile(walk, tile, i, remaining * rewards[i], prior, weights, q)
                    raise_tile(best, tile, q)
            if chances.shape[1] > 1:
                add_times(tile, chances[tile.block, g], best, total, g == 0)
        copy_tile(best if chances.shape[1] == 1 else total, tile, out)
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
