r"""Numbering of all states that m pulls can lead to (past the paper).

Layer m holds the states :math:`(s_1, f_1, \dots, s_N, f_N)` whose counts sum to m, of which there are
:math:`\binom{m+2N-1}{2N-1}`; at step t the layer is m = t − 1. A layer is a row of **blocks**, one for each
way :math:`(n_1, \dots, n_N)` of sharing m pulls among the arms, in lexicographic order. A block is a dense
array of the success counts, shape :math:`(n_1+1, \dots, n_N+1)`, last arm fastest. Pulling arm i leads to
the block :math:`n + e_i` of layer m + 1, at the same success counts or with :math:`s_i` one larger.

A failure of the last arm keeps :math:`n_1, \dots, n_{N-1}` and all successes, so it maps layer m into layer
m + 1 without changing the order: a state's number is at most that of its earliest successor. Hence going
through a layer in increasing order, one may overwrite layer m + 1 by layer m in the same array.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np

from elsv._base.typing import FloatArray, IntArray
from elsv.errors import InvalidInputError
from elsv.state import Arms, State

MOST_ARMS = 256


def layer_size(arms: int, pulls: int) -> int:
    """Return the number of states after `pulls` pulls in all."""
    return comb(pulls + 2 * arms - 1, 2 * arms - 1)


def block_count(arms: int, pulls: int) -> int:
    """Return the number of ways of sharing `pulls` pulls among the arms."""
    return comb(pulls + arms - 1, arms - 1)


def states_up_to(arms: int, pulls: int) -> int:
    """Return the number of states of the layers 0 … `pulls`."""
    return comb(pulls + 2 * arms, 2 * arms)


@dataclass(frozen=True)
class Layer:
    """The states after `made` pulls: what a sweep over them needs to know."""

    made: int
    pulls: IntArray  # [B, N], the blocks in lexicographic order
    starts: IntArray  # [B + 1], number of each block's first state; the last entry is the layer's size
    after: IntArray  # [B, N], number of the first state of block n + e_i in layer made + 1
    groups: IntArray  # [made + 2], first block with n_1 = 0, 1, …; the last entry is B

    @property
    def step(self) -> int:
        """The step t = made + 1 at which these states are met."""
        return self.made + 1

    @property
    def size(self) -> int:
        """Number of states."""
        return int(self.starts[-1])

    def chunks(self, states: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of blocks with about `states` states each, cut where n_1 changes."""
        first = 0
        for stop in range(1, self.made + 2):
            begin, end = self.groups[first], self.groups[stop]
            if stop == self.made + 1 or self.starts[end] - self.starts[begin] >= states:
                yield int(begin), int(end)
                first = stop

    def counts(self, first: int, stop: int) -> tuple[IntArray, IntArray]:
        """Return successes and pulls ``[stop - first, N]`` of the states numbered first … stop - 1."""
        numbers = np.arange(first, stop)
        block = np.searchsorted(self.starts, numbers, side="right") - 1
        pulls = self.pulls[block]
        rest = numbers - self.starts[block]
        successes = np.empty_like(pulls)
        for i in range(pulls.shape[1] - 1, -1, -1):
            rest, successes[:, i] = np.divmod(rest, pulls[:, i] + 1)
        return successes, pulls

    def batches(self, problem: Arms, states: int) -> Iterator[tuple[slice, State]]:
        """Yield all states of the layer as batches of at most `states`, with their numbers."""
        for first in range(0, self.size, states):
            here = slice(first, min(first + states, self.size))
            successes, pulls = self.counts(here.start, here.stop)
            alpha: FloatArray = problem.prior[:, 0] + successes
            yield here, State.trusted(alpha, problem.prior[:, 1] + (pulls - successes))


@dataclass(frozen=True)
class Lattice:
    """The numbered states of `arms` arms after 0 … `most` pulls."""

    arms: int
    most: int

    def __post_init__(self) -> None:
        if self.arms < 1 or self.most < 0:
            raise InvalidInputError(
                f"a lattice needs an arm and no negative pulls, got {self.arms} arms and {self.most} pulls"
            )
        if self.arms > MOST_ARMS:
            raise InvalidInputError(
                f"exact answers take at most {MOST_ARMS} arms, each kept as one byte, got {self.arms}; "
                "simulate instead (elsv compare)"
            )

    @cached_property
    def _before(self) -> list[IntArray]:
        r"""Return for each arm but the last the table [r, n] of :math:`\sum_{k<n} (k+1) G(r-k)`.

        r pulls are left for arm i and those after it, whose number q gives
        :math:`G(r) = \binom{r+2q-1}{2q-1}`: how many states come before those with :math:`n_i = n`.
        """
        tables = []
        for i in range(self.arms - 1):
            later = 2 * (self.arms - 1 - i) - 1
            ways = np.array([comb(r + later, later) for r in range(self.most + 1)], dtype=np.int64)
            table = np.zeros((self.most + 1, self.most + 2), dtype=np.int64)
            for r in range(self.most + 1):
                np.cumsum(np.arange(1, r + 2) * ways[r::-1], out=table[r, 1 : r + 2])
            tables.append(table)
        return tables

    def block_start(self, pulls: IntArray) -> IntArray:
        """Return the number of the first state of each block, pulls ``[..., N]`` to ``[...]``."""
        left = pulls.sum(axis=-1)
        number = np.zeros(pulls.shape[:-1], dtype=np.int64)
        ways = np.ones_like(number)
        for i, table in enumerate(self._before):
            number += ways * table[left, pulls[..., i]]
            ways *= pulls[..., i] + 1
            left = left - pulls[..., i]
        return number

    def number(self, successes: IntArray, pulls: IntArray) -> IntArray:
        """Return the number within its layer of each state, ``[..., N]`` to ``[...]``."""
        inside = np.zeros(pulls.shape[:-1], dtype=np.int64)
        for i in range(self.arms):
            inside = inside * (pulls[..., i] + 1) + successes[..., i]
        return self.block_start(pulls) + inside

    def layer(self, made: int) -> Layer:
        """Return the states after `made` pulls; their successors too, unless they are the last."""
        pulls = shares(self.arms, made)
        sizes = np.prod(pulls + 1, axis=1)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        groups = np.searchsorted(pulls[:, 0], np.arange(made + 2))
        if made < self.most:
            after = self.block_start(pulls[:, None, :] + np.eye(self.arms, dtype=np.int64))
        else:
            after = np.zeros_like(pulls)
        return Layer(made, pulls, starts, after, groups)


def shares(arms: int, made: int) -> IntArray:
    """Return all ways of sharing `made` pulls among the arms, ``[B, N]``, in lexicographic order."""
    left = np.array([made])
    columns: list[IntArray] = []
    for _ in range(arms - 1):
        ways = left + 1
        parent = np.repeat(np.arange(len(left)), ways)
        mine = np.arange(len(parent)) - np.repeat(np.cumsum(ways) - ways, ways)
        columns = [column[parent] for column in columns] + [mine]
        left = left[parent] - mine
    return np.stack([*columns, left], axis=1)
