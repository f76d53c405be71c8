"""Value functions on whole layers of the lattice, for lookahead from every state at once (past the paper).

The values that `elsv.values` gives one batch of states at a time, times the weight W of each state when
the belief has an order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from elsv._typing import FloatArray
from elsv.planning.arena import Arena
from elsv.planning.lattice import Layer
from elsv.values.base import ValueFunction, check_values
from elsv.values.commit import BlockCommitValue, CommitValue
from elsv.values.separable import SeparableValue

_BATCH = 1 << 16


class Frontier(Protocol):
    """A value function that can fill a whole layer."""

    @property
    def reach(self) -> int:
        """How many layers past its own it reads."""
        ...

    def fill(self, arena: Arena, layer: Layer, ordered: bool) -> FloatArray:
        """Return v of the layer's own step (times W, if ordered), in room taken from the arena."""
        ...


def frontier_of(value: ValueFunction) -> Frontier:
    """Return how `value` fills a layer: in one sweep if it is known, else in batches of states."""
    if isinstance(value, SeparableValue):
        return SeparableFrontier(value)
    if isinstance(value, BlockCommitValue):
        return BlockCommitFrontier(value)
    if isinstance(value, CommitValue):
        return CommitFrontier()
    return BatchFrontier(value)


@dataclass(frozen=True)
class SeparableFrontier:
    """The paper's separable value."""

    value: SeparableValue
    reach: int = 0

    def fill(self, arena: Arena, layer: Layer, ordered: bool) -> FloatArray:
        """Look every arm up in its table."""
        from elsv.planning._choice_kernels import separable_values

        arms = range(arena.problem.arms)
        tables, group = np.stack([self.value.table(layer.step, i) for i in arms]), np.array(arms)
        weights, out = arena.weights(layer.made, ordered), arena.take(layer.size)
        scale = self.value.weight * arena.problem.rewards
        arena.sweep(layer, lambda b: separable_values(tables, group, scale, weights, b[0], b[1], out))
        return out


@dataclass(frozen=True)
class CommitFrontier:
    """What is earned by committing now; nothing once the horizon is reached."""

    reach: int = 1

    def fill(self, arena: Arena, layer: Layer, ordered: bool) -> FloatArray:
        """Multiply the best expected reward by the pulls that remain."""
        from elsv.planning._choice_kernels import commit_values

        out = arena.take(layer.size)
        if layer.made == arena.horizon:
            out[:] = 0.0
            return out
        weights = arena.weights(layer.made + 1, ordered)
        rewards, prior, left = arena.problem.rewards, arena.problem.prior, float(arena.horizon - layer.made)
        arena.sweep(layer, lambda blocks: commit_values(weights, *blocks, rewards, prior, left, out))
        return out


@dataclass(frozen=True)
class BlockCommitFrontier:
    """The best of pulling one arm k times and committing then, over arms and block lengths k.

    The expectation over the outcomes of k pulls is k sweeps that pull the arm, from the commit value of the
    layer k further on.
    """

    value: BlockCommitValue

    @property
    def reach(self) -> int:
        """The longest block, and one layer for the commit value after it."""
        return max(self.value.blocks) + 1

    def fill(self, arena: Arena, layer: Layer, ordered: bool) -> FloatArray:
        """Take the best of all arms and block lengths that fit into what remains."""
        best = CommitFrontier().fill(arena, layer, ordered)
        for length in self.value.lengths(arena.horizon - layer.made):
            for arm in range(arena.problem.arms):
                worth = CommitFrontier().fill(arena, arena.layer(layer.made + length), ordered)
                for made in range(layer.made + length - 1, layer.made - 1, -1):
                    worth = arena.pull(arena.layer(made), worth, arm, ordered)
                np.maximum(best, worth, out=best)
                arena.give(worth)
        return best


@dataclass(frozen=True)
class BatchFrontier:
    """Any value function, called on batches of states."""

    value: ValueFunction
    reach: int = 0

    def fill(self, arena: Arena, layer: Layer, ordered: bool) -> FloatArray:
        """Call the value function on all states."""
        out = arena.take(layer.size)
        for here, state in layer.batches(arena.problem, _BATCH):
            out[here] = check_values(self.value, np.asarray(self.value(state, layer.step)), layer.step)
        weights = arena.weights(layer.made, ordered)
        if len(weights):
            np.multiply(out, weights, out=out, where=weights > 0)
        return out
