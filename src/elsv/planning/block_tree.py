r"""The states that blocks of pulls can lead to, equal ones merged (past the paper).

A schedule :math:`(k_1, \dots, k_d)` says how often the arm picked at each of d decisions is pulled before
the next one: 1, 1, 1 is plain lookahead of depth 3, and longer blocks see further with as many states. A
state is the root plus (successes, failures) of every arm. The numbering depends on the number of arms and
the schedule alone, so it is made once and shared by every root.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np

from elsv._typing import FloatArray, IntArray


@dataclass(frozen=True)
class BlockTree:
    """Merged states, layer by layer; those after `interior` are the frontier."""

    wins: FloatArray  # [states, C], gained since the root
    losses: FloatArray  # [states, C]
    block: IntArray  # [interior], length of the block pulled next
    start: IntArray  # [interior], where a state's successors begin
    successors: IntArray  # successor after j of k successes of arm i is start + i (k + 1) + j
    ways: FloatArray  # [longest + 1, longest + 1], binomial coefficients
    pulls: int  # from the root to the frontier

    @property
    def frontier(self) -> int:
        """Number of states of the last layer."""
        return len(self.wins) - len(self.block)


@lru_cache(maxsize=256)
def make_block_tree(arms: int, schedule: tuple[int, ...]) -> BlockTree:
    """Return the states below a root for `arms` arms and blocks of the lengths of `schedule`."""
    layer: dict[tuple[int, ...], int] = {(0,) * (2 * arms): 0}
    states = list(layer)
    block: list[int] = []
    start: list[int] = []
    successors: list[int] = []
    for length in schedule:
        following: dict[tuple[int, ...], int] = {}
        for state in layer:
            block.append(length)
            start.append(len(successors))
            for arm in range(arms):
                for won in range(length + 1):
                    after = list(state)
                    after[2 * arm] += won
                    after[2 * arm + 1] += length - won
                    key = tuple(after)
                    if key not in following:
                        following[key] = len(states)
                        states.append(key)
                    successors.append(following[key])
        layer = following
    counts = np.array(states, dtype=np.float64)
    longest = max(schedule)
    ways = np.array([[comb(k, j) for j in range(longest + 1)] for k in range(longest + 1)], dtype=np.float64)
    return BlockTree(
        np.ascontiguousarray(counts[:, 0::2]),
        np.ascontiguousarray(counts[:, 1::2]),
        np.array(block),
        np.array(start),
        np.array(successors),
        ways,
        sum(schedule),
    )
