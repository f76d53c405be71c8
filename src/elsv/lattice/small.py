"""The numbered states of a search of a few arms, in arrays that compiled code can go through."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from elsv._typing import IntArray
from elsv.lattice.numbering import Lattice, Layer, states_up_to


class Layers(NamedTuple):
    """The layers 0 … d + 1 of a lattice of C arms, and those of its tails: of its last 0 … C - 1 arms."""

    pulls: IntArray  # [blocks of all layers, C]
    after: IntArray  # [blocks of all layers, C]
    starts: IntArray  # [blocks + 1 of each layer, one layer after the other]
    first_block: IntArray  # [d + 3]
    first_state: IntArray  # [d + 3], where each layer begins when all are stored in a row
    tail_sizes: IntArray  # [blocks of all layers of all tails], number of states
    tail_blocks: IntArray  # [C, d + 3], first block of each layer of the tail of so many arms
    tail_states: IntArray  # [C, d + 3], first state of each layer


@lru_cache(maxsize=64)
def search_layers(arms: int, depth: int) -> Layers:
    """Return the states of `arms` arms for a search of `depth` pulls."""
    layers = _layers(arms, depth)
    tails = [_layers(b, depth) for b in range(1, arms)]
    sizes = [np.ones(1, dtype=np.int64), *(np.diff(layer.starts) for tail in tails for layer in tail)]
    # No arms: one state, and none after a pull.
    blocks, states = [_places([1] + [0] * (depth + 1))], [_places([1] + [0] * (depth + 1))]
    for tail in tails:
        blocks.append(blocks[-1][-1] + _places([len(layer.pulls) for layer in tail]))
        states.append(_places([layer.size for layer in tail]))
    return Layers(
        np.concatenate([layer.pulls for layer in layers]),
        np.concatenate([layer.after for layer in layers]),
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


def _layers(arms: int, depth: int) -> list[Layer]:
    lattice = Lattice(arms, depth + 1)
    return [lattice.layer(made) for made in range(depth + 2)]


def _places(sizes: list[int]) -> IntArray:
    """Return where parts of these sizes begin when they are stored in a row, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
