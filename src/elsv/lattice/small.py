"""The numbered states of a search of a few arms, in arrays that compiled code can go through.

A search goes from layer to layer of a lattice by `steps`: so many pulls of one arm in a row, 1 to choose
anew after each.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate
from math import comb
from typing import NamedTuple

import numpy as np

from elsv._base.cache import remembered
from elsv._base.typing import FloatArray, IntArray
from elsv.lattice.numbering import Lattice, Layer, layer_size, states_up_to

COARSEST = 4  # a step is at most a quarter of the way behind it


class Layers(NamedTuple):
    """The layers that L steps of a search of C arms, d pulls in all, come to, and the one a pull further.

    After them all layers 0 … d + 1 of its tails: of its last 0 … C - 1 arms.
    """

    steps: IntArray  # [L + 1], pulls to the next layer; the last is 1
    ways: FloatArray  # [longest step + 1, longest step + 1], in how many orders k pulls give j successes
    pulls: IntArray  # [blocks of all layers, C]
    after: IntArray  # [blocks of all layers, C], where the block begins that a step of each arm leads to
    starts: IntArray  # [blocks + 1 of each layer, one layer after the other]
    first_block: IntArray  # [L + 3]
    first_state: IntArray  # [L + 3], where each layer begins when all are stored in a row
    tail_sizes: IntArray  # [blocks of all layers of all tails], number of states
    tail_blocks: IntArray  # [C, d + 3], first block of each layer of the tail of so many arms
    tail_states: IntArray  # [C, d + 3], first state of each layer


def singles(depth: int) -> tuple[int, ...]:
    """Return the steps of a search that chooses anew after each of `depth` pulls."""
    return (1,) * depth


@remembered
def search_layers(arms: int, steps: tuple[int, ...]) -> Layers:
    """Return the states of `arms` arms for a search that goes by these steps."""
    depth = sum(steps)
    lattice = Lattice(arms, depth + 1)
    places = [0, *accumulate(steps), depth + 1]
    layers = [lattice.layer(made) for made in places]
    after = [
        lattice.block_start(layer.pulls[:, None, :] + step * np.eye(arms, dtype=np.int64))
        for layer, step in zip(layers, (*steps, 1), strict=False)
    ]
    tails = [_layers(b, depth) for b in range(1, arms)]
    sizes = [np.ones(1, dtype=np.int64), *(np.diff(layer.starts) for tail in tails for layer in tail)]
    # No arms: one state, and none after a pull.
    blocks, states = [_places([1] + [0] * (depth + 1))], [_places([1] + [0] * (depth + 1))]
    for tail in tails:
        blocks.append(blocks[-1][-1] + _places([len(layer.pulls) for layer in tail]))
        states.append(_places([layer.size for layer in tail]))
    longest = range(max(steps, default=1) + 1)
    return Layers(
        np.array((*steps, 1), dtype=np.int64),
        np.array([[comb(k, j) for j in longest] for k in longest], dtype=np.float64),
        np.concatenate([layer.pulls for layer in layers]),
        np.concatenate([*after, layers[-1].after]),
        np.concatenate([layer.starts for layer in layers]),
        _places([len(layer.pulls) for layer in layers]),
        _places([layer.size for layer in layers]),
        np.concatenate(sizes),
        np.stack(blocks),
        np.stack(states),
    )


def depth_within(arms: int, states: int, most: int) -> int:
    """Return how many pulls of `arms` arms lead to at most `states` states in all; from 1 to `most`."""
    depth = 1
    while depth < most and states_up_to(arms, depth + 1) <= states:
        depth += 1
    return depth


@lru_cache(maxsize=256)
def steps_within(arms: int, states: int, most: int) -> tuple[int, ...]:
    """Return the finest steps that lead to `most` pulls within so many states.

    A step is at most 1/c of the way behind it. c is the largest with which the steps arrive; where none does,
    steps of a quarter go as far as the states allow. The first step is 1, however many states that takes.
    """
    depth = depth_within(arms, states, most)
    if depth == most:
        return singles(most)
    # Steps of at most 1/c are single pulls for the first 2c, which `depth` of them must have room for.
    for part in range(max(depth // 2, COARSEST), COARSEST - 1, -1):
        steps = _steps(arms, states, most, part)
        if sum(steps) == most:
            break
    return steps


def _steps(arms: int, states: int, most: int, part: int) -> tuple[int, ...]:
    """Return steps of at most that part of the way behind them, as far as the states allow."""
    steps, depth, total = [1], 1, 1 + layer_size(arms, 1)
    while depth < most:
        step = min(max(1, depth // part), most - depth)
        total += layer_size(arms, depth + step)
        if total > states:
            break
        steps.append(step)
        depth += step
    return tuple(steps)


def _layers(arms: int, depth: int) -> list[Layer]:
    lattice = Lattice(arms, depth + 1)
    return [lattice.layer(made) for made in range(depth + 2)]


def _places(sizes: list[int]) -> IntArray:
    """Return where parts of these sizes begin when they are stored in a row, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
