r"""Compiled walk through the blocks of a layer, and what is worked out for each part of one.

A block is gone through in **tiles**: runs of consecutive states that differ in the successes of the last two
arms only, as many rows (states that differ in the last arm only) as fit into the fastest cache. A pull of
any arm but the last takes a tile to two runs of consecutive states; a pull of the last arm takes each row to
one.
"""

from __future__ import annotations

import numpy as np

from elsv._jit import inlined
from elsv._typing import FloatArray, IntArray
from elsv.choice import TIE_TOLERANCE

TILE = 1024  # states; a tile has at least one row, however long


@inlined
def enter_block(pulls: IntArray, strides: IntArray, moves: IntArray) -> int:
    """Set what one success of arm j adds to a state's number, here and after a pull of i; return the size.

    ``strides[j]`` is for this block, and for the block n + e_i when j >= i. ``moves[i, j]`` is for n + e_i.
    """
    arms = len(pulls)
    size = 1
    for j in range(arms - 1, -1, -1):
        strides[j] = size
        size *= pulls[j] + 1
    for i in range(arms):
        for j in range(arms):
            moves[i, j] = strides[j] + (strides[j] // (pulls[i] + 1) if j < i else 0)
    return int(size)


@inlined
def rows_of_tile(digits: IntArray, pulls: IntArray) -> int:
    """Return how many rows the tile has that starts at `digits`, the successes of all arms but the last."""
    arms = len(pulls)
    if arms == 1:
        return 1
    return int(min(pulls[arms - 2] + 1 - digits[arms - 2], max(1, TILE // (pulls[arms - 1] + 1))))


@inlined
def next_tile(digits: IntArray, pulls: IntArray, rows: int) -> None:
    """Advance `digits` by the rows of a tile."""
    j = len(digits) - 2
    if j < 0:
        return
    digits[j] += rows
    while j > 0 and digits[j] > pulls[j]:
        digits[j] = 0
        j -= 1
        digits[j] += 1


@inlined
def failure_start(i: int, digits: IntArray, moves: IntArray, after: IntArray) -> int:
    """Return the number of the tile's first state after a failure of arm i."""
    at = after[i]
    for j in range(len(digits) - 1):
        at += digits[j] * moves[i, j]
    return int(at)


@inlined
def chances(
    i: int, digits: IntArray, pulls: IntArray, rows: int, prior: FloatArray, chance: FloatArray
) -> None:
    """Set P(success) of arm i in the states of a tile, the arms being independent."""
    arms = len(pulls)
    length = pulls[arms - 1] + 1
    scale = 1.0 / (prior[i, 0] + prior[i, 1] + pulls[i])
    for row in range(rows):
        successes = digits[i] + row if i == arms - 2 else digits[i]
        for j in range(length):
            won = j if i == arms - 1 else successes
            chance[row * length + j] = (prior[i, 0] + won) * scale


@inlined
def pull_row(
    reward: float,
    p: float,
    slope: float,
    lost: int,
    won: int,
    length: int,
    values: FloatArray,
    at: int,
    q: FloatArray,
) -> None:
    """Set q[at : at + length], the worth of one pull in consecutive states; P(success) is p + slope j.

    The states after a failure and a success start at `lost` and `won`. Unsigned numbers spare the
    check for negative ones, without which the loops would not be vectorised.
    """
    fail, win, here = np.uint64(lost), np.uint64(won), np.uint64(at)
    if slope == 0.0:
        gain, rest = p * reward, 1.0 - p
        for j in range(np.uint64(length)):
            q[here + j] = gain + p * values[win + j] + rest * values[fail + j]
    else:
        for j in range(np.uint64(length)):
            chance = p + slope * np.float64(np.int64(j))
            q[here + j] = chance * (reward + values[win + j]) + (1.0 - chance) * values[fail + j]


@inlined
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


@inlined
def pull_tile(
    i: int,
    digits: IntArray,
    strides: IntArray,
    moves: IntArray,
    pulls: IntArray,
    after: IntArray,
    rows: int,
    reward: float,
    prior: FloatArray,
    values: FloatArray,
    weights: FloatArray,
    q: FloatArray,
) -> None:
    """Set q to the worth of pulling arm i in the states of a tile (times W, if weighted)."""
    arms = len(pulls)
    length = pulls[arms - 1] + 1
    lost = failure_start(i, digits, moves, after)
    step = length + 1 if i == arms - 1 else length
    if len(weights) > 0:
        if i < arms - 1:
            pull_weighted(reward, lost, lost + strides[i], rows * length, values, weights, 0, q)
        else:
            for row in range(rows):
                at = lost + row * step
                pull_weighted(reward, at, at + 1, length, values, weights, row * length, q)
        return
    scale = 1.0 / (prior[i, 0] + prior[i, 1] + pulls[i])
    p = (prior[i, 0] + (digits[i] if i < arms - 1 else 0)) * scale
    for row in range(rows):
        at = lost + row * step
        chance = p + row * scale if i == arms - 2 else p
        slope = scale if i == arms - 1 else 0.0
        pull_row(reward, chance, slope, at, at + strides[i], length, values, row * length, q)


@inlined
def add_tile(
    digits: IntArray,
    moves: IntArray,
    pulls: IntArray,
    after: IntArray,
    rows: int,
    weights: FloatArray,
    out: FloatArray,
) -> None:
    """Set `out` to W of a tile, the sum over the last arm's outcomes; to 1 if the arms are independent."""
    arms = len(pulls)
    length = pulls[arms - 1] + 1
    if len(weights) == 0:
        out[: rows * length] = 1.0
        return
    lost = failure_start(arms - 1, digits, moves, after)
    for row in range(rows):
        fail, at = np.uint64(lost + row * (length + 1)), np.uint64(row * length)
        for j in range(np.uint64(length)):
            out[at + j] = weights[fail + j] + weights[fail + j + np.uint64(1)]


@inlined
def copy_tile(source: FloatArray, first: int, length: int, out: FloatArray) -> None:
    """Copy a tile to its place in the layer."""
    at = np.uint64(first)
    for j in range(np.uint64(length)):
        out[at + j] = source[j]


@inlined
def tile_room(pulls: IntArray) -> int:
    """Return the most states that a tile of these blocks can have."""
    return int(max(TILE, pulls[:, pulls.shape[1] - 1].max() + 1))


@inlined
def reward_tile(
    i: int,
    digits: IntArray,
    strides: IntArray,
    moves: IntArray,
    pulls: IntArray,
    after: IntArray,
    rows: int,
    reward: float,
    prior: FloatArray,
    weights: FloatArray,
    q: FloatArray,
) -> None:
    """Set q to the expected reward of one pull of arm i in the states of a tile (times W, if weighted)."""
    arms = len(pulls)
    length = pulls[arms - 1] + 1
    if len(weights) == 0:
        chances(i, digits, pulls, rows, prior, q)
        for j in range(rows * length):
            q[j] *= reward
        return
    won = failure_start(i, digits, moves, after) + strides[i]
    for row in range(rows):
        win = np.uint64(won + row * (length + 1 if i == arms - 1 else length))
        at = np.uint64(row * length)
        for j in range(np.uint64(length)):
            q[at + j] = reward * weights[win + j]


@inlined
def least_tied(best: float, unit: float) -> float:
    """Return the least score that ties with `best` (`elsv.choice`), scores being multiples of `unit`."""
    if np.isinf(best):
        return best
    return best - TIE_TOLERANCE * max(unit, abs(best))


@inlined
def first_best(q: FloatArray, j: int, unit: float) -> int:
    """Return the arm of column j by the tie rule."""
    best = q[0, j]
    for i in range(1, q.shape[0]):
        best = max(best, q[i, j])
    least = least_tied(best, unit)
    for i in range(q.shape[0]):
        if q[i, j] >= least:
            return i
    return 0
