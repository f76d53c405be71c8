r"""Compiled walk through the blocks of a layer, and what is worked out for each part of one.

A block is processed in **tiles**: runs of consecutive states that differ in the successes of the last two
arms only, as many rows (states that differ in the last arm only) as fit into the fastest cache. A pull of
any arm but the last takes a tile to two runs of consecutive states; a pull of the last arm takes each row to
one. A sweep goes from where it `begin`s by `next_tile` while the tile has states.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsv._base.jit import borrowing, inlined
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv._choice_kernels import least_tied

TILE = 1024  # states; a tile has at least one row, however long


class Given(NamedTuple):
    """What a sweep is given: the next layer, blocks of this one, the arms, and who comes."""

    values: FloatArray  # [states], of the next layer
    weights: FloatArray  # [states], W of the next layer; empty: the arms are independent
    pulls: IntArray  # [B, N]
    starts: IntArray  # [B], number of each block's first state
    after: IntArray  # [B, N], number of the first state of the block n + e_i in the next layer
    rewards: FloatArray  # [N]
    prior: FloatArray  # [N, 2]
    segment: IntArray  # [N], the segment of each arm
    chances: FloatArray  # [B, G], the probability that each segment comes next


class Walk(NamedTuple):
    """What a sweep is given, and the numbering of the block that it is in."""

    given: Given
    strides: IntArray  # [N], what one success of arm j adds to a state's number
    moves: IntArray  # [N, N], the same after a pull of arm i
    digits: IntArray  # [N], successes of all arms but the last in the first row of the tile


class Tile(NamedTuple):
    """Some rows of a block."""

    block: int
    here: int  # number of the first state
    rows: int
    width: int  # states in a row
    length: int  # states; none past the last tile


@inlined
def tile_room(given: Given) -> int:
    """Return the most states that a tile of these blocks can have."""
    return int(max(TILE, given.pulls[:, given.pulls.shape[1] - 1].max() + 1))


@borrowing
def tile_at(walk: Walk, block: int, here: int) -> Tile:
    """Return the tile of a block that starts at the walk's digits, which is the state `here`."""
    last = walk.given.pulls.shape[1] - 1
    rows, width = 1, walk.given.pulls[block, last] + 1
    if last > 0:
        left = walk.given.pulls[block, last - 1] + 1 - walk.digits[last - 1]
        rows = left if left * width <= TILE else min(left, max(1, TILE // width))
    return Tile(block, here, rows, width, rows * width)


@borrowing
def enter_block(walk: Walk, block: int) -> Tile:
    """Set what one success of arm j adds to a state's number; return the block's first tile.

    ``strides[j]`` is for this block, and for the block n + e_i when j >= i. ``moves[i, j]`` is for n + e_i.
    """
    if block == len(walk.given.pulls):
        return Tile(block, 0, 0, 0, 0)
    arms = walk.given.pulls.shape[1]
    size = 1
    for j in range(arms - 1, -1, -1):
        walk.digits[j] = 0
        walk.strides[j] = size
        size *= walk.given.pulls[block, j] + 1
    for i in range(arms):
        for j in range(arms):
            wider = walk.strides[j] // (walk.given.pulls[block, i] + 1) if j < i else 0
            walk.moves[i, j] = walk.strides[j] + wider
    return tile_at(walk, block, walk.given.starts[block])


@inlined
def begin(given: Given) -> tuple[Walk, Tile]:
    """Return a walk through the blocks, and its first tile."""
    arms = given.pulls.shape[1]
    strides, moves = np.empty(arms, np.int64), np.empty((arms, arms), np.int64)
    walk = Walk(given, strides, moves, np.empty(arms, np.int64))
    return walk, enter_block(walk, 0)


@borrowing
def next_tile(walk: Walk, tile: Tile) -> Tile:
    """Return the tile after this one."""
    j = walk.given.pulls.shape[1] - 2
    if j < 0:
        return enter_block(walk, tile.block + 1)
    walk.digits[j] += tile.rows
    while j > 0 and walk.digits[j] > walk.given.pulls[tile.block, j]:
        walk.digits[j] = 0
        j -= 1
        walk.digits[j] += 1
    if walk.digits[0] > walk.given.pulls[tile.block, 0]:
        return enter_block(walk, tile.block + 1)
    return tile_at(walk, tile.block, tile.here + tile.length)


@borrowing
def successes(walk: Walk, i: int, row: int) -> int:
    """Return the successes of arm i, not the last, in a row of the tile."""
    return int(walk.digits[i] + row if i == len(walk.digits) - 2 else walk.digits[i])


@borrowing
def table_start(walk: Walk, tile: Tile, i: int) -> int:
    """Return the number of arm i's state without successes in the tile's block (`elsv._base.triangle`)."""
    n = walk.given.pulls[tile.block, i]
    return int(n * (n + 1) // 2)


@borrowing
def failure_start(walk: Walk, tile: Tile, i: int) -> int:
    """Return the number of the tile's first state after a failure of arm i."""
    at = walk.given.after[tile.block, i]
    for j in range(len(walk.digits) - 1):
        at += walk.digits[j] * walk.moves[i, j]
    return int(at)


@borrowing
def odds(walk: Walk, tile: Tile, i: int) -> tuple[float, float]:
    """Return P(success) of arm i in the tile's first state and what one success adds to it, without order."""
    prior = walk.given.prior
    scale = 1.0 / (prior[i, 0] + prior[i, 1] + walk.given.pulls[tile.block, i])
    return (prior[i, 0] + (walk.digits[i] if i < len(walk.digits) - 1 else 0)) * scale, scale


@borrowing
def pull_free(
    reward: float,
    p: float,
    slope: float,
    first: int,
    lost: int,
    won: int,
    length: int,
    values: FloatArray,
    at: int,
    q: FloatArray,
) -> None:
    """Set q[at : at + length], the worth of one pull in consecutive states.

    P(success) is p + slope j, where j counts from `first`. The states after a failure and a success start
    at `lost` and `won`. Unsigned numbers spare the check for negative ones, without which the loops would
    not be vectorised.
    """
    fail, win, here = np.uint64(lost), np.uint64(won), np.uint64(at)
    if slope == 0.0:
        gain, rest = p * reward, 1.0 - p
        for j in range(np.uint64(length)):
            q[here + j] = gain + p * values[win + j] + rest * values[fail + j]
    else:
        for j in range(np.uint64(length)):
            chance = p + slope * np.float64(first + np.int64(j))
            q[here + j] = chance * (reward + values[win + j]) + (1.0 - chance) * values[fail + j]


@borrowing
def pull_weighted(
    reward: float,
    lost: int,
    won: int,
    length: int,
    values: FloatArray,
    weights: FloatArray,
    at: int,
    q: FloatArray,
) -> None:
    """Set q[at : at + length] to W times the worth of one pull in consecutive states."""
    fail, win, here = np.uint64(lost), np.uint64(won), np.uint64(at)
    for j in range(np.uint64(length)):
        q[here + j] = reward * weights[win + j] + values[win + j] + values[fail + j]


@borrowing
def pull_tile(walk: Walk, tile: Tile, i: int, q: FloatArray) -> None:
    """Set q to the worth of pulling arm i in the states of a tile (times W, if weighted)."""
    values, weights, reward = walk.given.values, walk.given.weights, walk.given.rewards[i]
    last = len(walk.digits) - 1
    lost, stride = failure_start(walk, tile, i), walk.strides[i]
    step = tile.width + 1 if i == last else tile.width
    if len(weights) > 0:
        # The rows are one run unless the last arm is pulled.
        length = tile.width if i == last else tile.length
        for row in range(1 if length == tile.length else tile.rows):
            fail = lost + row * step
            pull_weighted(reward, fail, fail + stride, length, values, weights, row * length, q)
        return
    p, scale = odds(walk, tile, i)
    # An arm before the last two has the same chance in all rows.
    length = tile.length if i < last - 1 else tile.width
    for row in range(1 if length == tile.length else tile.rows):
        fail, chance = lost + row * step, p + row * scale if i == last - 1 else p
        slope = scale if i == last else 0.0
        pull_free(reward, chance, slope, 0, fail, fail + stride, length, values, row * length, q)


@borrowing
def add_tile(walk: Walk, tile: Tile, out: FloatArray) -> None:
    """Set `out` to W of a tile, the sum over the last arm's outcomes; to 1 if the arms are independent."""
    weights = walk.given.weights
    if len(weights) == 0:
        out[: tile.length] = 1.0
        return
    lost = failure_start(walk, tile, len(walk.digits) - 1)
    for row in range(tile.rows):
        fail, at = np.uint64(lost + row * (tile.width + 1)), np.uint64(row * tile.width)
        for j in range(np.uint64(tile.width)):
            out[at + j] = weights[fail + j] + weights[fail + j + np.uint64(1)]


@borrowing
def reward_tile(walk: Walk, tile: Tile, i: int, times: float, q: FloatArray) -> None:
    """Set q to `times` the reward expected of arm i in the states of a tile (times W, if weighted)."""
    reward, weights, alpha = times * walk.given.rewards[i], walk.given.weights, walk.given.prior[i, 0]
    if len(weights) == 0:
        scale = odds(walk, tile, i)[1]
        for row in range(tile.rows):
            for j in range(tile.width):
                won = j if i == len(walk.digits) - 1 else successes(walk, i, row)
                q[row * tile.width + j] = (alpha + won) * scale * reward
        return
    step = tile.width + 1 if i == len(walk.digits) - 1 else tile.width
    won = failure_start(walk, tile, i) + walk.strides[i]
    for row in range(tile.rows):
        win, at = np.uint64(won + row * step), np.uint64(row * tile.width)
        for j in range(np.uint64(tile.width)):
            q[at + j] = reward * weights[win + j]


@borrowing
def copy_tile(source: FloatArray, tile: Tile, out: FloatArray) -> None:
    """Copy a tile to its place in the layer."""
    at = np.uint64(tile.here)
    for j in range(np.uint64(tile.length)):
        out[at + j] = source[j]


@borrowing
def raise_tile(best: FloatArray, tile: Tile, rival: FloatArray) -> None:
    """Set `best` to the larger of the two in every state of a tile."""
    for j in range(tile.length):
        best[j] = max(best[j], rival[j])


@borrowing
def best_in_segment(walk: Walk, tile: Tile, g: int, q: FloatArray, best: FloatArray) -> None:
    """Set `best` to the largest q of the segment's arms in the states of a tile."""
    first, segment = 0, walk.given.segment
    while segment[first] != g:
        first += 1
    mine = q[first]
    for j in range(tile.length):
        best[j] = mine[j]
    for i in range(first + 1, len(q)):
        if segment[i] == g:
            raise_tile(best, tile, q[i])


@borrowing
def choose_in_segment(
    walk: Walk,
    tile: Tile,
    g: int,
    q: FloatArray,
    best: FloatArray,
    scale: float,
    least: FloatArray,
    actions: AnyArray,
) -> None:
    """Set `actions` of a tile to the segment's first arm that ties with its best one.

    q are scores, times W if weighted. That is `elsv._choice_kernels.first_best` of every column, but arm by
    arm and without branches, so that it is vectorised.
    """
    add_tile(walk, tile, least)
    for j in range(tile.length):
        least[j] = least_tied(best[j], scale * least[j])
    at = np.uint64(tile.here)
    for i in range(len(q) - 1, -1, -1):
        if walk.given.segment[i] != g:
            continue
        mine = q[i]
        for j in range(np.uint64(tile.length)):
            before = actions[at + j]
            actions[at + j] = np.uint8(i) if mine[j] >= least[j] else before


@borrowing
def add_times(tile: Tile, factor: float, values: FloatArray, total: FloatArray, first: bool) -> None:
    """Add `factor` times `values` to `total` in the states of a tile; the first time nothing is there."""
    for j in range(np.uint64(tile.length)):
        total[j] = factor * values[j] if first else total[j] + factor * values[j]
