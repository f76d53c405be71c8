r"""Compiled sweeps back from the frontier of a search to its root, over a small lattice in one call.

The states are those of `elsv.lattice.small` with the root at its origin. With W of the layer past the
frontier, every earlier layer is :math:`W(s) = W(s{+}\text{success}) + W(s{+}\text{failure})`, and
:math:`W p_l(s) = W(s{+}\text{success}_l)`.

Layers are counted as `elsv.lattice.small` lists them. Between two of them lies one pull, or a step of k pulls
of one arm, after which j successes stand in :math:`\binom{k}{j}` orders:
:math:`W(s) = \sum_j \binom{k}{j} W(s{+}j\ \text{successes})`, and :math:`k\,W p_l(s)` has another factor j.

A state is worth an average over the segment of the next customer, :math:`\sum_g q_g(s) \max_{i \in A_g}`. The
chances q depend on the pulls alone: a block of states has one row of them. Steps of several pulls are for one
segment only.

Numbers have the precision of the given arrays. A block of a search fits into the fastest cache, so it is not
cut into tiles. Runs of consecutive states that differ only in the successes of arm i and of later arms stay
runs after a pull of arm i.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsv._base.jit import borrowing, helper, kernel, merged
from elsv._base.typing import FloatArray, IntArray
from elsv.lattice._tile_kernels import pull_free, pull_weighted
from elsv.lattice.small import Layers


@merged
def add_weights(m: int, layers: Layers, weights: FloatArray, first: int, later: int) -> None:
    """Set W of layer m, stored from `first` on, by pulls of the first arm to layer m + 1, from `later` on.

    That arm takes a block to runs that are as long as itself.
    """
    step = layers.steps[m]
    for block in range(layers.first_block[m], layers.first_block[m + 1]):
        start, size = layers.starts[block + m], layers.starts[block + m + 1] - layers.starts[block + m]
        stride = size // (layers.pulls[block, 0] + 1)
        at, fail = np.uint64(first + start), np.uint64(later + layers.after[block, 0])
        win = fail + np.uint64(stride)
        ways = weights.dtype.type(step)
        for j in range(np.uint64(size)):
            weights[at + j] = weights[fail + j] + ways * weights[win + j]
        for won in range(2, step + 1):
            ways = weights.dtype.type(layers.ways[step, won])
            win += np.uint64(stride)
            for j in range(np.uint64(size)):
                weights[at + j] += ways * weights[win + j]


class Root(NamedTuple):
    """The C arms of a search, and who comes to them."""

    rewards: FloatArray  # [C]
    segment: IntArray  # [C], the segment of each arm; every segment has an arm
    came: FloatArray  # [G], the shares, or where they are learnt the prior and the arrivals up to the root
    learnt: bool
    chance: FloatArray  # [G], room for the chances in a block


@borrowing
def fill_chances(block: int, layers: Layers, root: Root) -> None:
    """Set the chance of each segment in the states of a block."""
    for g in range(len(root.chance)):
        root.chance[g] = root.came[g]
    if root.learnt:
        for i in range(len(root.segment)):
            root.chance[root.segment[i]] += layers.pulls[block, i]
    total = 0.0
    for g in range(len(root.chance)):
        total += root.chance[g]
    for g in range(len(root.chance)):
        root.chance[g] /= total


@borrowing
def add_segment(g: int, root: Root, best: FloatArray, start: int, size: int, out: FloatArray) -> None:
    """Add the chance of segment g times what its best arm is worth to the states of a block."""
    share, at = out.dtype.type(root.chance[g]), np.uint64(start)
    for j in range(np.uint64(size)):
        out[at + j] = share * best[j] if g == 0 else out[at + j] + share * best[j]


@merged
def commit(
    m: int,
    layers: Layers,
    root: Root,
    left: float,
    n: int,
    prior: FloatArray | None,
    weights: FloatArray,
    best: FloatArray,
    out: FloatArray,
) -> None:
    """Set `out` to `left` times the best expected reward in the states of layer m (times W, if weighted)."""
    rewards, alone = root.rewards, len(root.chance) == 1
    into = out if alone else best
    for block in range(layers.first_block[m], layers.first_block[m + 1]):
        start, size = layers.starts[block + m], layers.starts[block + m + 1] - layers.starts[block + m]
        first = start if alone else 0
        fill_chances(block, layers, root)
        for g in range(len(root.chance)):
            for j in range(size):
                into[first + j] = 0.0
            stride = size
            for i in range(len(rewards)):
                width, reward = layers.pulls[block, i] + 1, out.dtype.type(left * rewards[i])
                stride //= width
                if root.segment[i] != g:
                    continue
                length = stride * width
                for run in range(size // length):
                    at = np.uint64(first + run * length)
                    if prior is None:
                        win = np.uint64(layers.after[block, i] + run * (length + stride) + stride)
                        for j in range(np.uint64(length)):
                            into[at + j] = max(into[at + j], reward * weights[win + j])
                    else:
                        alpha = prior[n, i, 0]
                        scale = 1.0 / (alpha + prior[n, i, 1] + (width - 1))
                        for won in range(width):
                            worth = (alpha + won) * scale * reward
                            for j in range(np.uint64(stride)):
                                into[at + j] = max(into[at + j], worth)
                            at += np.uint64(stride)
            if not alone:
                add_segment(g, root, best, start, size, out)


@merged
def maximise(
    m: int,
    layers: Layers,
    root: Root,
    values: FloatArray,
    n: int,
    prior: FloatArray | None,
    weights: FloatArray,
    room: FloatArray,
    best: FloatArray,
    out: FloatArray,
) -> None:
    """Set `out` to what the states of layer m are worth; `values` and `weights` are those of the next."""
    rewards = root.rewards
    last, alone = len(rewards) - 1, len(root.chance) == 1
    into = out if alone else best
    for block in range(layers.first_block[m], layers.first_block[m + 1]):
        start, size = layers.starts[block + m], layers.starts[block + m + 1] - layers.starts[block + m]
        first = np.uint64(start if alone else 0)
        fill_chances(block, layers, root)
        for g in range(len(root.chance)):
            stride, arms = size, 0
            for i in range(len(rewards)):
                width, lost = layers.pulls[block, i] + 1, layers.after[block, i]
                stride //= width
                if root.segment[i] != g:
                    continue
                length = stride * width
                for run in range(size // length):
                    at, fail = run * length, lost + run * (length + stride)
                    if prior is None:
                        reward = room.dtype.type(rewards[i])
                        pull_weighted(reward, fail, fail + stride, length, values, weights, at, room)
                    else:
                        alpha = prior[n, i, 0]
                        scale = 1.0 / (alpha + prior[n, i, 1] + (width - 1))
                        for won in range(1 if i == last else width):
                            begin, missed = at + won * stride, fail + won * stride
                            # As `elsv.lattice._tile_kernels` rounds it, whose tiles are these blocks.
                            p = (alpha + won) * scale if i < last - 1 else alpha * scale + won * scale
                            slope, states = (scale, width) if i == last else (0.0, stride)
                            win = missed + stride
                            pull_free(rewards[i], p, slope, 0, missed, win, states, values, begin, room)
                for j in range(np.uint64(size)):
                    into[first + j] = room[j] if arms == 0 else max(into[first + j], room[j])
                arms += 1
            if not alone:
                add_segment(g, root, best, start, size, out)


@helper
def pulls_at_once(step: int, discount: float) -> float:
    """Return how many pulls at once the pulls of a step are worth."""
    total = 0.0
    for _ in range(step):
        total = total * discount + 1.0
    return total


@merged
def leap(
    m: int,
    layers: Layers,
    rewards: FloatArray,
    pays: float,
    values: FloatArray,
    weights: FloatArray,
    room: FloatArray,
    out: FloatArray,
) -> None:
    """Do what `maximise` does for a step of several pulls of one arm, which count as `pays` at once."""
    step = layers.steps[m]
    for block in range(layers.first_block[m], layers.first_block[m + 1]):
        start, size = layers.starts[block + m], layers.starts[block + m + 1] - layers.starts[block + m]
        stride = size
        for i in range(len(rewards)):
            width = layers.pulls[block, i] + 1
            stride //= width
            length = stride * width
            # Runs are short for the last arm. So sums go through all of them at once, and what stands
            # between two runs is left out afterwards.
            apart = length + step * stride
            span = np.uint64(size // length * apart - step * stride)
            for won in range(step + 1):
                ways = room.dtype.type(layers.ways[step, won])
                pay = room.dtype.type(layers.ways[step, won] * rewards[i] * pays * won / step)
                to = np.uint64(layers.after[block, i] + won * stride)
                if won == 0:
                    for j in range(span):
                        room[j] = values[to + j]
                else:
                    for j in range(span):
                        room[j] += pay * weights[to + j] + ways * values[to + j]
            for run in range(size // length):
                at, of = np.uint64(start + run * length), np.uint64(run * apart)
                for j in range(np.uint64(length)):
                    out[at + j] = room[of + j] if i == 0 else max(out[at + j], room[of + j])


@kernel
def back_up(
    rewards: FloatArray,
    prior: FloatArray | None,
    segment: IntArray,
    came: FloatArray,
    learnt: bool,
    left: float,
    discount: float,
    layers: Layers,
    weights: FloatArray,
    rooms: FloatArray,
    q: FloatArray,
) -> None:
    """Set q ``[B, C]`` of the roots, each arm's given that its segment has come, from W of the last layer.

    `weights` ``[B, states]`` is filled up. With the roots' counts `prior` ``[B, C, 2]`` there are none, ``[B,
    0]``: the arms are independent, and every step is one pull. (What only these need is not compiled for a
    `prior` of None.) `rewards` are ``[B, C]``, `segment` ``[B, C]`` and `came` ``[B, G]`` are those of
    `Root`; `left` counts the pulls, or discounted pulls, that remain at the frontier. `rooms` ``[4, states of
    the frontier]`` is overwritten; three will do for one segment.
    """
    depth = len(layers.first_block) - 3
    states = layers.first_state
    values, spare, room, best = rooms[0], rooms[1], rooms[2], rooms[len(rooms) - 1]
    chance = np.empty(came.shape[1])
    for n in range(len(rewards)):
        own, known = rewards[n], weights[n]
        root = Root(own, segment[n], came[n], learnt, chance)
        for m in range(depth, -1, -1):
            later = known
            if prior is None:
                add_weights(m, layers, known, states[m], states[m + 1])
                later = known[states[m + 1] :]
            if m == depth:
                commit(m, layers, root, left, n, prior, later, best, values)
            elif m > 0:
                if layers.steps[m] == 1:
                    maximise(m, layers, root, values, n, prior, later, room, best, spare)
                elif prior is None:
                    leap(m, layers, own, pulls_at_once(layers.steps[m], discount), values, later, room, spare)
                values, spare = spare, values
            else:
                for c in range(len(own)):
                    lost = layers.after[0, c]
                    won = lost + 1
                    if prior is None:
                        q[n, c] = (own[c] * later[won] + values[lost] + values[won]) / known[0]
                    else:
                        p = prior[n, c, 0] / (prior[n, c, 0] + prior[n, c, 1])
                        q[n, c] = p * (own[c] + values[won]) + (1 - p) * values[lost]
            if discount != 1.0 and m > 0:
                for s in range(states[m + 1] - states[m]):
                    values[s] *= values.dtype.type(discount ** layers.steps[m - 1])
