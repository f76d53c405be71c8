r"""Compiled sweeps from layer m + 1 of the lattice to layer m.

Every kernel works on the blocks ``pulls`` ``[B, N]`` of layer m, whose first states are numbered ``starts``
and whose successors' blocks ``after`` (`elsv.planning.lattice.Layer`), tile by tile
(`elsv.planning._tile_kernels`). A tile is read whole before it is written, so input and output may be the
same array.

``values`` is V, the worth of a state, when ``weights`` is empty: the arms are independent and arm i succeeds
with probability :math:`(\alpha_i + s_i)/(\alpha_i + \beta_i + n_i)`. Otherwise ``weights`` holds W of layer
m + 1 and ``values`` :math:`Y = W V`, and no division is needed:

.. math:: W(s)\,q(s, i) = r_i W(s{+}\text{success}_i) + Y(s{+}\text{success}_i) + Y(s{+}\text{failure}_i).
"""

from __future__ import annotations

import numpy as np

from elsv._jit import kernel
from elsv._typing import AnyArray, FloatArray, IntArray
from elsv.planning._tile_kernels import (
    add_tile,
    copy_tile,
    enter_block,
    failure_start,
    first_best,
    next_tile,
    pull_tile,
    rows_of_tile,
    tile_room,
)


@kernel
def maximise(
    values: FloatArray,
    weights: FloatArray,
    pulls: IntArray,
    starts: IntArray,
    after: IntArray,
    rewards: FloatArray,
    prior: FloatArray,
    out: FloatArray,
    actions: AnyArray,
) -> None:
    """Set `out` to the best arm's worth, and `actions` to that arm unless it is empty."""
    arms = pulls.shape[1]
    strides, moves = np.empty(arms, np.int64), np.empty((arms, arms), np.int64)
    room = tile_room(pulls)
    q, unit = np.empty((arms, room)), np.empty(room)
    digits = np.empty(arms, np.int64)
    best = q[0]
    for b in range(len(pulls)):
        block, later = pulls[b], after[b]
        here, end = starts[b], starts[b] + enter_block(block, strides, moves)
        digits[:] = 0
        while here < end:
            rows = rows_of_tile(digits, block)
            length = rows * (block[arms - 1] + 1)
            for i in range(arms):
                pull_tile(
                    i,
                    digits,
                    strides,
                    moves,
                    block,
                    later,
                    rows,
                    rewards[i],
                    prior,
                    values,
                    weights,
                    q[i],
                )
            if len(actions) > 0:
                add_tile(digits, moves, block, later, rows, weights, unit)
                for j in range(length):
                    actions[here + j] = first_best(q, j, unit[j])
            for i in range(1, arms):
                rival = q[i]
                for j in range(length):
                    best[j] = max(best[j], rival[j])
            copy_tile(best, here, length, out)
            here += length
            next_tile(digits, block, rows)


@kernel
def add_weights(
    weights: FloatArray, pulls: IntArray, starts: IntArray, after: IntArray, out: FloatArray
) -> None:
    """Set `out` to W(s) = W(s + success) + W(s + failure) of the last arm."""
    arms = pulls.shape[1]
    strides, moves = np.empty(arms, np.int64), np.empty((arms, arms), np.int64)
    unit = np.empty(tile_room(pulls))
    digits = np.empty(arms, np.int64)
    for b in range(len(pulls)):
        block, later = pulls[b], after[b]
        here, end = starts[b], starts[b] + enter_block(block, strides, moves)
        digits[:] = 0
        while here < end:
            rows = rows_of_tile(digits, block)
            add_tile(digits, moves, block, later, rows, weights, unit)
            copy_tile(unit, here, rows * (block[arms - 1] + 1), out)
            here += rows * (block[arms - 1] + 1)
            next_tile(digits, block, rows)


@kernel
def follow(
    values: FloatArray,
    weights: FloatArray,
    pulls: IntArray,
    starts: IntArray,
    after: IntArray,
    rewards: FloatArray,
    prior: FloatArray,
    actions: AnyArray,
    out: FloatArray,
) -> None:
    """Set `out` to the worth of pulling the arm that `actions` names for each state of the layer."""
    arms = pulls.shape[1]
    strides, moves = np.empty(arms, np.int64), np.empty((arms, arms), np.int64)
    room = tile_room(pulls)
    q, chosen = np.empty(room), np.empty(room)
    digits = np.empty(arms, np.int64)
    for b in range(len(pulls)):
        block, later = pulls[b], after[b]
        here, end = starts[b], starts[b] + enter_block(block, strides, moves)
        digits[:] = 0
        while here < end:
            rows = rows_of_tile(digits, block)
            length = rows * (block[arms - 1] + 1)
            pull_tile(
                0, digits, strides, moves, block, later, rows, rewards[0], prior, values, weights, chosen
            )
            # All arms are worked out and one is picked: no branches, so this too is vectorised.
            for i in range(1, arms):
                pull_tile(
                    i, digits, strides, moves, block, later, rows, rewards[i], prior, values, weights, q
                )
                at, arm = np.uint64(here), np.uint8(i)
                for j in range(np.uint64(length)):
                    chosen[j] = q[j] if actions[at + j] == arm else chosen[j]
            copy_tile(chosen, here, length, out)
            here += length
            next_tile(digits, block, rows)


@kernel
def pull_arm(
    values: FloatArray,
    weights: FloatArray,
    pulls: IntArray,
    starts: IntArray,
    after: IntArray,
    arm: int,
    reward: float,
    prior: FloatArray,
    out: FloatArray,
) -> None:
    """Set `out` to the worth of pulling one arm in every state."""
    arms = pulls.shape[1]
    strides, moves = np.empty(arms, np.int64), np.empty((arms, arms), np.int64)
    room = tile_room(pulls)
    q = np.empty(room)
    digits = np.empty(arms, np.int64)
    for b in range(len(pulls)):
        block, later = pulls[b], after[b]
        here, end = starts[b], starts[b] + enter_block(block, strides, moves)
        digits[:] = 0
        while here < end:
            rows = rows_of_tile(digits, block)
            length = rows * (block[arms - 1] + 1)
            pull_tile(arm, digits, strides, moves, block, later, rows, reward, prior, values, weights, q)
            copy_tile(q, here, length, out)
            here += length
            next_tile(digits, block, rows)


@kernel
def mix(
    values: FloatArray,
    weights: FloatArray,
    pulls: IntArray,
    starts: IntArray,
    after: IntArray,
    rewards: FloatArray,
    prior: FloatArray,
    shares: FloatArray,
    out: FloatArray,
) -> None:
    """Set `out` to the worth of pulling arm i with probability ``shares[i, state]``."""
    arms = pulls.shape[1]
    strides, moves = np.empty(arms, np.int64), np.empty((arms, arms), np.int64)
    room = tile_room(pulls)
    q, total = np.empty(room), np.empty(room)
    digits = np.empty(arms, np.int64)
    for b in range(len(pulls)):
        block, later = pulls[b], after[b]
        here, end = starts[b], starts[b] + enter_block(block, strides, moves)
        digits[:] = 0
        while here < end:
            rows = rows_of_tile(digits, block)
            length = rows * (block[arms - 1] + 1)
            total[:length] = 0.0
            for i in range(arms):
                pull_tile(
                    i,
                    digits,
                    strides,
                    moves,
                    block,
                    later,
                    rows,
                    rewards[i],
                    prior,
                    values,
                    weights,
                    q,
                )
                for j in range(length):
                    total[j] += shares[i, here + j] * q[j]
            copy_tile(total, here, length, out)
            here += length
            next_tile(digits, block, rows)


@kernel
def average(
    shares: FloatArray,
    weights: FloatArray,
    pulls: IntArray,
    starts: IntArray,
    after: IntArray,
    prior: FloatArray,
    out: FloatArray,
) -> None:
    r"""Set `out` to a state's expectation of `shares` of layer m + 1, whichever arm is pulled (the last).

    With weights, :math:`W(s) P(s) = W P(s{+}\text{success}) + W P(s{+}\text{failure})`.
    """
    arms = pulls.shape[1]
    last = arms - 1
    strides, moves = np.empty(arms, np.int64), np.empty((arms, arms), np.int64)
    tile = np.empty(tile_room(pulls))
    digits = np.empty(arms, np.int64)
    for b in range(len(pulls)):
        block, later = pulls[b], after[b]
        here, end = starts[b], starts[b] + enter_block(block, strides, moves)
        width = block[last] + 1
        digits[:] = 0
        while here < end:
            rows = rows_of_tile(digits, block)
            lost = failure_start(last, digits, moves, later)
            at = 0
            for _ in range(rows):
                for j in range(width):
                    won = prior[last, 0] + j
                    missed = prior[last, 1] + block[last] - j
                    if len(weights) > 0:
                        won, missed = weights[lost + j + 1], weights[lost + j]
                    both = won + missed
                    p = won / both if both > 0 else 0.5
                    tile[at] = p * shares[lost + j + 1] + (1.0 - p) * shares[lost + j]
                    at += 1
                lost += width + 1
            copy_tile(tile, here, at, out)
            here += at
            next_tile(digits, block, rows)


@kernel
def spread(
    paths: FloatArray,
    weights: FloatArray,
    pulls: IntArray,
    starts: IntArray,
    after: IntArray,
    rewards: FloatArray,
    prior: FloatArray,
    actions: AnyArray,
    out: FloatArray,
) -> float:
    """Add what `actions` sends on from layer m to `out` of layer m + 1; return the reward expected in m.

    `paths` holds the probability of each state, or with weights the number of ways to reach it: its
    probability is that number times W.
    """
    arms = pulls.shape[1]
    strides, moves = np.empty(arms, np.int64), np.empty((arms, arms), np.int64)
    digits = np.empty(arms, np.int64)
    expected = 0.0
    for b in range(len(pulls)):
        here, end = starts[b], starts[b] + enter_block(pulls[b], strides, moves)
        digits[:] = 0
        while here < end:
            for j in range(pulls[b, arms - 1] + 1):
                ways = paths[here + j]
                if ways == 0.0:
                    continue
                i = actions[here + j]
                lost = failure_start(i, digits, moves, after[b]) + j
                won = lost + strides[i]
                if len(weights) > 0:
                    expected += ways * rewards[i] * weights[won]
                    out[won] += ways
                    out[lost] += ways
                else:
                    successes = j if i == arms - 1 else digits[i]
                    p = (prior[i, 0] + successes) / (prior[i, 0] + prior[i, 1] + pulls[b, i])
                    expected += ways * rewards[i] * p
                    out[won] += ways * p
                    out[lost] += ways * (1.0 - p)
            here += pulls[b, arms - 1] + 1
            next_tile(digits, pulls[b], 1)
    return expected
