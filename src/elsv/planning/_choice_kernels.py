"""Compiled choices and frontier values for all states of a layer (see `elsv.planning._lattice_kernels`)."""

from __future__ import annotations

import numpy as np

from elsv._jit import inlined, kernel
from elsv._typing import AnyArray, FloatArray, IntArray
from elsv.choice import TIE_TOLERANCE
from elsv.planning._tile_kernels import (
    add_tile,
    copy_tile,
    enter_block,
    first_best,
    next_tile,
    reward_tile,
    rows_of_tile,
    tile_room,
)


@inlined
def next_row(digits: IntArray, pulls: IntArray) -> None:
    """Advance the successes of all arms but the last by one row."""
    next_tile(digits, pulls, 1)


@kernel
def choose_by_tables(
    tables: FloatArray,
    group: IntArray,
    rewards: FloatArray,
    pulls: IntArray,
    starts: IntArray,
    actions: AnyArray,
) -> None:
    """Set `actions` to the arm with the best ``rewards[i] * tables[group[i], number of its state]``."""
    arms = pulls.shape[1]
    last = arms - 1
    digits = np.empty(arms, np.int64)
    scores = np.empty((arms, 1))
    for b in range(len(pulls)):
        block = pulls[b]
        here, end = starts[b], starts[b + 1]
        digits[:] = 0
        own = tables[group[last], block[last] * (block[last] + 1) // 2 :]
        reward = rewards[last]
        while here < end:
            scores[last, 0] = -np.inf
            for i in range(last):
                n = block[i]
                scores[i, 0] = rewards[i] * tables[group[i], n * (n + 1) // 2 + digits[i]]
            first = first_best(scores, 0, 1.0)
            best = scores[:, 0].max()
            # Above the limit the last arm wins, up to the best it loses; in between the tie rule decides.
            limit = best if np.isinf(best) else best + 2 * TIE_TOLERANCE * max(1.0, abs(best))
            unclear, at = 0, np.uint64(here)
            for j in range(np.uint64(block[last] + 1)):
                score = reward * own[j]
                actions[at + j] = np.uint8(last) if score > limit else np.uint8(first)
                unclear += (score > best) & (score <= limit)
            if unclear > 0:
                for j in range(block[last] + 1):
                    scores[last, 0] = reward * own[j]
                    actions[here + j] = first_best(scores, 0, 1.0)
            here += block[last] + 1
            next_row(digits, block)


@kernel
def prefer_infinite(
    tables: FloatArray, group: IntArray, pulls: IntArray, starts: IntArray, actions: AnyArray
) -> None:
    """Set `actions` to the first arm whose index is infinite, where there is one."""
    arms = pulls.shape[1]
    digits = np.empty(arms, np.int64)
    for b in range(len(pulls)):
        block = pulls[b]
        here, end = starts[b], starts[b + 1]
        digits[:] = 0
        while here < end:
            for j in range(block[arms - 1] + 1):
                digits[arms - 1] = j
                for i in range(arms):
                    n = block[i]
                    if tables[group[i], n * (n + 1) // 2 + digits[i]] == np.inf:
                        actions[here + j] = i
                        break
            here += block[arms - 1] + 1
            next_row(digits, block)


@kernel
def choose_by_mean(
    weights: FloatArray,
    pulls: IntArray,
    starts: IntArray,
    after: IntArray,
    rewards: FloatArray,
    prior: FloatArray,
    actions: AnyArray,
) -> None:
    """Set `actions` to the arm with the best expected reward; `weights` is W of the next layer."""
    arms = pulls.shape[1]
    strides, moves = np.empty(arms, np.int64), np.empty((arms, arms), np.int64)
    room = tile_room(pulls)
    q, unit = np.empty((arms, room)), np.empty(room)
    digits = np.empty(arms, np.int64)
    for b in range(len(pulls)):
        block, later = pulls[b], after[b]
        here, end = starts[b], starts[b] + enter_block(block, strides, moves)
        digits[:] = 0
        while here < end:
            rows = rows_of_tile(digits, block)
            for i in range(arms):
                reward_tile(i, digits, strides, moves, block, later, rows, rewards[i], prior, weights, q[i])
            add_tile(digits, moves, block, later, rows, weights, unit)
            for j in range(rows * (block[arms - 1] + 1)):
                actions[here + j] = first_best(q, j, unit[j])
            here += rows * (block[arms - 1] + 1)
            next_tile(digits, block, rows)


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
    arms = pulls.shape[1]
    strides, moves = np.empty(arms, np.int64), np.empty((arms, arms), np.int64)
    room = tile_room(pulls)
    q, best = np.empty(room), np.empty(room)
    digits = np.empty(arms, np.int64)
    for b in range(len(pulls)):
        block, later = pulls[b], after[b]
        here, end = starts[b], starts[b] + enter_block(block, strides, moves)
        digits[:] = 0
        while here < end:
            rows = rows_of_tile(digits, block)
            length = rows * (block[arms - 1] + 1)
            best[:length] = 0.0
            for i in range(arms):
                reward = remaining * rewards[i]
                reward_tile(i, digits, strides, moves, block, later, rows, reward, prior, weights, q)
                for j in range(length):
                    best[j] = max(best[j], q[j])
            copy_tile(best, here, length, out)
            here += length
            next_tile(digits, block, rows)


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
    arms = pulls.shape[1]
    last = arms - 1
    digits = np.empty(arms, np.int64)
    for b in range(len(pulls)):
        block = pulls[b]
        here, end = starts[b], starts[b + 1]
        digits[:] = 0
        own = tables[group[last], block[last] * (block[last] + 1) // 2 :]
        while here < end:
            others = 0.0
            for i in range(last):
                n = block[i]
                others += scale[i] * tables[group[i], n * (n + 1) // 2 + digits[i]]
            for j in range(block[last] + 1):
                out[here + j] = others + scale[last] * own[j]
                if len(weights) > 0:
                    # An infinite value of an impossible state must not become NaN.
                    out[here + j] = weights[here + j] * out[here + j] if weights[here + j] > 0 else 0.0
            here += block[last] + 1
            next_row(digits, block)
