r"""Compiled sweeps where customers come from segments, each with arms of its own.

As `elsv.lattice._sweep_kernels`, with ``segment[i]`` the segment of arm i and ``chances`` ``[B, G]`` the
probability that each segment comes next: all states of a block have the same pulls, on which alone it
depends. A state is worth :math:`\sum_g q_g` times what its segment's arm is worth.
"""

from __future__ import annotations

import numpy as np

from elsv._base.jit import borrowing, kernel
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.lattice._tile_kernels import (
    Tile,
    Walk,
    copy_tile,
    first_tile,
    least_of_tile,
    new_walk,
    next_tile,
    pull_tile,
    reward_tile,
    tile_room,
)


@borrowing
def best_in_segment(tile: Tile, segment: IntArray, g: int, q: FloatArray, best: FloatArray) -> None:
    """Set `best` to the largest q of the segment's arms in the states of a tile."""
    first = True
    for i in range(len(segment)):
        if segment[i] != g:
            continue
        mine = q[i]
        for j in range(np.uint64(tile.length)):
            best[j] = mine[j] if first else max(best[j], mine[j])
        first = False


@borrowing
def choose_in_segment(
    walk: Walk,
    tile: Tile,
    segment: IntArray,
    g: int,
    q: FloatArray,
    best: FloatArray,
    scale: float,
    weights: FloatArray,
    least: FloatArray,
    actions: AnyArray,
) -> None:
    """Set `actions` ``[G, states]`` of a segment to its first arm that ties with its best one."""
    least_of_tile(walk, tile, best, scale, weights, least)
    at = np.uint64(tile.here)
    for i in range(len(segment) - 1, -1, -1):
        if segment[i] != g:
            continue
        mine = q[i]
        for j in range(np.uint64(tile.length)):
            before = actions[g, at + j]
            actions[g, at + j] = np.uint8(i) if mine[j] >= least[j] else before


@borrowing
def add_times(tile: Tile, factor: float, values: FloatArray, total: FloatArray) -> None:
    """Add `factor` times `values` to `total` in the states of a tile."""
    for j in range(np.uint64(tile.length)):
        total[j] += factor * values[j]


@borrowing
def clear(tile: Tile, total: FloatArray) -> None:
    """Set `total` to nothing in the states of a tile."""
    for j in range(np.uint64(tile.length)):
        total[j] = 0.0


@kernel
def maximise_by_segment(
    values: FloatArray,
    weights: FloatArray,
    pulls: IntArray,
    starts: IntArray,
    after: IntArray,
    rewards: FloatArray,
    prior: FloatArray,
    segment: IntArray,
    chances: FloatArray,
    out: FloatArray,
    actions: AnyArray,
) -> None:
    """Set `out` to the worth of each segment's best arm, and `actions` ``[G, states]`` unless it is empty."""
    room, scale = tile_room(pulls), rewards.max()
    q, best, least, total = np.empty((len(rewards), room)), np.empty(room), np.empty(room), np.empty(room)
    walk = new_walk(pulls, starts, after)
    tile = first_tile(walk)
    while tile.length > 0:
        clear(tile, total)
        for i in range(len(rewards)):
            pull_tile(walk, tile, i, rewards[i], prior, values, weights, q[i])
        for g in range(chances.shape[1]):
            best_in_segment(tile, segment, g, q, best)
            add_times(tile, chances[tile.block, g], best, total)
            if actions.shape[1] > 0:
                choose_in_segment(walk, tile, segment, g, q, best, scale, weights, least, actions)
        copy_tile(total, tile, out)
        tile = next_tile(walk, tile)


@borrowing
def add_where(
    tile: Tile, arm: int, g: int, chance: float, actions: AnyArray, q: FloatArray, total: FloatArray
) -> None:
    """Add `chance` times q to `total` in the states of a tile where the segment's action is the arm."""
    at, named = np.uint64(tile.here), np.uint8(arm)
    for j in range(np.uint64(tile.length)):
        more = chance * q[j]
        total[j] += more if actions[g, at + j] == named else 0.0


@kernel
def follow_by_segment(
    values: FloatArray,
    weights: FloatArray,
    pulls: IntArray,
    starts: IntArray,
    after: IntArray,
    rewards: FloatArray,
    prior: FloatArray,
    segment: IntArray,
    chances: FloatArray,
    actions: AnyArray,
    out: FloatArray,
) -> None:
    """Set `out` to the worth of pulling for each segment the arm that `actions` ``[G, states]`` names."""
    room = tile_room(pulls)
    q, total = np.empty(room), np.empty(room)
    walk = new_walk(pulls, starts, after)
    tile = first_tile(walk)
    while tile.length > 0:
        clear(tile, total)
        for i in range(len(rewards)):
            g = segment[i]
            pull_tile(walk, tile, i, rewards[i], prior, values, weights, q)
            add_where(tile, i, g, chances[tile.block, g], actions, q, total)
        copy_tile(total, tile, out)
        tile = next_tile(walk, tile)


@kernel
def commit_by_segment(
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
    """Set `out` to remaining times what the next customer pays in expectation, each from the best arm."""
    room = tile_room(pulls)
    q, best, total = np.empty((len(rewards), room)), np.empty(room), np.empty(room)
    walk = new_walk(pulls, starts, after)
    tile = first_tile(walk)
    while tile.length > 0:
        clear(tile, total)
        for i in range(len(rewards)):
            reward_tile(walk, tile, i, remaining * rewards[i], prior, weights, q[i])
        for g in range(chances.shape[1]):
            best_in_segment(tile, segment, g, q, best)
            add_times(tile, chances[tile.block, g], best, total)
        copy_tile(total, tile, out)
        tile = next_tile(walk, tile)
