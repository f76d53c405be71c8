r"""Compiled sweeps back from the frontier of a search to its root, over a small lattice in one call.

The states are those of `elsv.lattice.small` with the root at its origin. With W of the layer past the
frontier, every earlier layer is :math:`W(s) = W(s{+}\text{success}) + W(s{+}\text{failure})`, and
:math:`W p_l(s) = W(s{+}\text{success}_l)`.

A block of a search fits into the fastest cache, so it is no use to cut it into tiles. Runs of consecutive
states that differ in the successes of arm i and of later arms alone stay runs after a pull of arm i.
"""

from __future__ import annotations

import numpy as np

from elsv._jit import kernel, merged
from elsv._typing import FloatArray
from elsv.lattice._tile_kernels import pull_free, pull_weighted
from elsv.lattice.small import Layers


@merged
def add_weights(m: int, layers: Layers, weights: FloatArray, first: int, later: int) -> None:
    """Set W of layer m, stored from `first` on, by a pull of the last arm to layer m + 1, from `later` on."""
    last = layers.pulls.shape[1] - 1
    for block in range(layers.first_block[m], layers.first_block[m + 1]):
        width = layers.pulls[block, last] + 1
        start, end = layers.starts[block + m], layers.starts[block + m + 1]
        lost = later + layers.after[block, last]
        for row in range((end - start) // width):
            at, fail = np.uint64(first + start + row * width), np.uint64(lost + row * (width + 1))
            for j in range(np.uint64(width)):
                weights[at + j] = weights[fail + j] + weights[fail + j + np.uint64(1)]


@merged
def commit(
    m: int,
    layers: Layers,
    rewards: FloatArray,
    prior: FloatArray,
    left: float,
    weights: FloatArray,
    later: int,
    out: FloatArray,
) -> None:
    """Set `out` to `left` times the best expected reward in the states of layer m (times W, if weighted)."""
    for block in range(layers.first_block[m], layers.first_block[m + 1]):
        start, size = layers.starts[block + m], layers.starts[block + m + 1] - layers.starts[block + m]
        for j in range(size):
            out[start + j] = 0.0
        stride = size
        for i in range(len(rewards)):
            width, reward = layers.pulls[block, i] + 1, left * rewards[i]
            stride //= width
            length = stride * width
            for run in range(size // length):
                at = np.uint64(start + run * length)
                if len(weights) > 0:
                    win = np.uint64(later + layers.after[block, i] + run * (length + stride) + stride)
                    for j in range(np.uint64(length)):
                        out[at + j] = max(out[at + j], reward * weights[win + j])
                    continue
                scale = 1.0 / (prior[i, 0] + prior[i, 1] + (width - 1))
                for won in range(width):
                    worth = (prior[i, 0] + won) * scale * reward
                    for j in range(np.uint64(stride)):
                        out[at + j] = max(out[at + j], worth)
                    at += np.uint64(stride)


@merged
def maximise(
    m: int,
    layers: Layers,
    rewards: FloatArray,
    prior: FloatArray,
    values: FloatArray,
    weights: FloatArray,
    room: FloatArray,
    out: FloatArray,
) -> None:
    """Set `out` to the best arm's worth in the states of layer m; `values` and `weights` are of the next."""
    last = len(rewards) - 1
    for block in range(layers.first_block[m], layers.first_block[m + 1]):
        start, size = layers.starts[block + m], layers.starts[block + m + 1] - layers.starts[block + m]
        stride = size
        for i in range(len(rewards)):
            width, lost = layers.pulls[block, i] + 1, layers.after[block, i]
            stride //= width
            length = stride * width
            for run in range(size // length):
                at, fail = run * length, lost + run * (length + stride)
                if len(weights) > 0:
                    pull_weighted(rewards[i], fail, fail + stride, length, values, weights, at, room)
                    continue
                scale = 1.0 / (prior[i, 0] + prior[i, 1] + (width - 1))
                for won in range(1 if i == last else width):
                    begin, missed = at + won * stride, fail + won * stride
                    # As `elsv.lattice._tile_kernels` rounds it, whose tiles are these blocks.
                    p = (prior[i, 0] + won) * scale if i < last - 1 else prior[i, 0] * scale + won * scale
                    slope, states = (scale, width) if i == last else (0.0, stride)
                    pull_free(rewards[i], p, slope, 0, missed, missed + stride, states, values, begin, room)
            at = np.uint64(start)
            for j in range(np.uint64(size)):
                out[at + j] = room[j] if i == 0 else max(out[at + j], room[j])


@kernel
def back_up(
    rewards: FloatArray,
    prior: FloatArray,
    left: float,
    discount: float,
    layers: Layers,
    weights: FloatArray,
    q: FloatArray,
) -> None:
    """Set q ``[B, C]`` of the roots from W of the last layer; `weights` ``[B, states]`` is filled up.

    Without weights, ``[B, 0]``, the arms are independent, and `prior` ``[B, C, 2]`` are the roots' counts.
    `rewards` are ``[B, C]``; `left` counts the pulls, or discounted pulls, that remain at the frontier.
    """
    depth = len(layers.first_block) - 3
    states = layers.first_state
    largest = states[depth + 1] - states[depth]
    values, spare, room = np.empty(largest), np.empty(largest), np.empty(largest)
    for n in range(len(rewards)):
        own, known = rewards[n], weights[n]
        weighted = len(known) > 0
        for m in range(depth, -1, -1):
            if weighted:
                add_weights(m, layers, known, states[m], states[m + 1])
            if m == depth:
                commit(m, layers, own, prior[n], left, known, states[m + 1], values)
            elif m > 0:
                later = known[states[m + 1] :] if weighted else known
                maximise(m, layers, own, prior[n], values, later, room, spare)
                values, spare = spare, values
            else:
                for c in range(len(own)):
                    lost = layers.after[0, c]
                    won = lost + 1
                    if weighted:
                        q[n, c] = (own[c] * known[states[1] + won] + values[lost] + values[won]) / known[0]
                    else:
                        p = prior[n, c, 0] / (prior[n, c, 0] + prior[n, c, 1])
                        q[n, c] = p * (own[c] + values[won]) + (1 - p) * values[lost]
            if discount != 1.0:
                for s in range(states[m + 1] - states[m]):
                    values[s] *= discount
