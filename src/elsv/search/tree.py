r"""The states that d pulls can lead to, equal ones merged.

A state d pulls below the root is the root plus (successes, failures) of every arm: 2N whole numbers
that sum to d, of which there are :math:`\binom{d+2N-1}{2N-1}`. The layers 0 to d are numbered one after
the other, 8,008 states for 3 arms and d = 10. The numbering depends on N and d alone, so it is made
once and shared by every root.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from elsv._base.cache import memory
from elsv._base.typing import FloatArray, IntArray
from elsv.errors import InvalidInputError
from elsv.lattice.numbering import shares

# A tree of 20 million states takes a few gigabytes: beyond it, refuse with the numbers.
MOST_STATES = 20_000_000


@dataclass(frozen=True)
class Tree:
    """Merged states of the layers 0 … depth; the last `frontier` of them are the frontier."""

    successes: FloatArray  # [states, N], gained since the root
    failures: FloatArray  # [states, N]
    successors: IntArray  # [interior, N, 2]: the state after a failure, after a success

    @property
    def interior(self) -> int:
        """Number of states above the frontier."""
        return len(self.successors)

    @property
    def bytes(self) -> int:
        """Memory that the arrays take."""
        return self.successes.nbytes + self.failures.nbytes + self.successors.nbytes


def states_within(arms: int, depth: int) -> int:
    """Return the number of merged states of the layers 0 … depth."""
    return comb(depth + 2 * arms, 2 * arms)


def make_tree(arms: int, depth: int) -> Tree:
    """Return the numbered, merged states for `arms` arms and `depth` pulls; kept for the next call."""
    tree: Tree | None = memory.get(("tree", arms, depth))
    if tree is None:
        tree = _numbered(arms, depth)
        memory.put(("tree", arms, depth), tree, tree.bytes)
    return tree


def _numbered(arms: int, depth: int) -> Tree:
    total = states_within(arms, depth)
    if total * arms > MOST_STATES:
        raise InvalidInputError(
            f"depth {depth} with {arms} arms has {total:,} states, more than {MOST_STATES // arms:,}; "
            "use a smaller depth"
        )
    parts = 2 * arms
    layers = [shares(parts, made)[::-1] for made in range(depth + 1)]
    counts = np.concatenate(layers)
    # A state's key in a number system with room for every count: within a layer keys fall.
    place = (depth + 1) ** np.arange(parts - 1, -1, -1, dtype=object)
    interior = states_within(arms, depth - 1)
    successors = np.empty((interior, parts), dtype=np.int64)
    for made in range(depth):
        here, there = states_within(arms, made - 1), states_within(arms, made)
        keys, later = (-(layers[m] * place).sum(axis=1) for m in (made, made + 1))
        for part in range(parts):
            found = np.searchsorted(later, keys - place[part])
            successors[here : here + len(keys), part] = there + found
    # Part 2i counts the failures of arm i, part 2i + 1 its successes.
    failures, successes = counts[:, 0::2].astype(np.float64), counts[:, 1::2].astype(np.float64)
    return Tree(successes, failures, successors.reshape(interior, arms, 2))
