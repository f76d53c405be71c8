r"""Compiled sweeps back from the frontier of a search to its root where customers come from segments.

As in `elsv.lattice.backup_kernels`, with W of the layer past the frontier. A state is worth an average over
who comes, :math:`\sum_g q_g(s) \max_{i \in A_g}`, and who comes depends on the pulls alone, so that it is one
row of chances for a block of states.
"""

from __future__ import annotations

import numpy as np

from elsv._base.jit import kernel, merged
from elsv._base.typing import FloatArray, IntArray
from elsv.lattice._tile_kernels import pull_weighted
from elsv.lattice.backup_kernels import add_weights
from elsv.lattice.small import Layers


@merged
def fill_chances(
    block: int, layers: Layers, segment: IntArray, came: FloatArray, learnt: bool, chance: FloatArray
) -> None:
    """Set the chance of each segment in the states of a block from the counts at the root, or the shares."""
    for g in range(len(chance)):
        chance[g] = came[g]
    if learnt:
        for i in range(len(segment)):
            chance[segment[i]] += layers.pulls[block, i]
    total = 0.0
    for g in range(len(chance)):
        total += chance[g]
    for g in range(len(chance)):
        chance[g] /= total


@merged
def add_best(
    m: int,
    layers: Layers,
    rewards: FloatArray,
    segment: IntArray,
    came: FloatArray,
    learnt: bool,
    left: float,
    values: FloatArray,
    weights: FloatArray,
    room: FloatArray,
    out: FloatArray,
) -> None:
    """Set `out` to W times what the states of layer m are worth; `weights` are those of the next layer.

    Without `values`, ``[0]``, all `left` customers to come get the arms that are best there.
    """
    pulled, best, chance = room[0], room[1], np.empty(len(came))
    for block in range(layers.first_block[m], layers.first_block[m + 1]):
        start, size = layers.starts[block + m], layers.starts[block + m + 1] - layers.starts[block + m]
        fill_chances(block, layers, segment, came, learnt, chance)
        for j in range(size):
            out[start + j] = 0.0
        for g in range(len(chance)):
            for j in range(size):
                best[j] = 0.0
            stride = size
            for i in range(len(rewards)):
                width, lost = layers.pulls[block, i] + 1, layers.after[block, i]
                stride //= width
                if segment[i] != g:
                    continue
                length = stride * width
                for run in range(size // length):
                    at, fail = run * length, lost + run * (length + stride)
                    if len(values) > 0:
                        pull_weighted(rewards[i], fail, fail + stride, length, values, weights, at, pulled)
                    else:
                        here, win, reward = np.uint64(at), np.uint64(fail + stride), left * rewards[i]
                        for j in range(np.uint64(length)):
                            pulled[here + j] = reward * weights[win + j]
                for j in range(np.uint64(size)):
                    best[j] = max(best[j], pulled[j])
            at = np.uint64(start)
            share = chance[g]
            for j in range(np.uint64(size)):
                out[at + j] += share * best[j]


@kernel
def back_up_segments(
    rewards: FloatArray,
    segment: IntArray,
    came: FloatArray,
    learnt: bool,
    left: float,
    discount: float,
    layers: Layers,
    weights: FloatArray,
    q: FloatArray,
) -> None:
    """Set q ``[B, C]`` of the roots, each given that the arm's segment has come, from W of the last layer.

    `segment` ``[B, C]`` is that of each candidate, every segment having one; `came` ``[B, G]`` are the
    shares, or where they are `learnt` their prior and the arrivals. All else is as for `back_up`.
    """
    depth = len(layers.first_block) - 3
    states = layers.first_state
    largest = states[depth + 1] - states[depth]
    values, spare, room = np.empty(largest), np.empty(largest), np.empty((2, largest))
    nothing = np.empty(0)
    for n in range(len(rewards)):
        own, known = rewards[n], weights[n]
        for m in range(depth, -1, -1):
            add_weights(m, layers, known, states[m], states[m + 1])
            later = known[states[m + 1] :]
            if m == depth:
                add_best(m, layers, own, segment[n], came[n], learnt, left, nothing, later, room, values)
            elif m > 0:
                add_best(m, layers, own, segment[n], came[n], learnt, left, values, later, room, spare)
                values, spare = spare, values
            else:
                for c in range(len(own)):
                    lost = layers.after[0, c]
                    won = lost + 1
                    q[n, c] = (own[c] * known[states[1] + won] + values[lost] + values[won]) / known[0]
            if discount != 1.0:
                for s in range(states[m + 1] - states[m]):
                    values[s] *= discount
