"""Policies on whole layers that need nothing but tables of each arm by itself."""

from __future__ import annotations

from dataclasses import dataclass

from elsv._base.triangle import number
from elsv._base.typing import AnyArray
from elsv.beliefs.abilities import factors
from elsv.errors import InvalidInputError
from elsv.indices.tables import IndexTables
from elsv.lattice.numbering import Layer
from elsv.lattice.steps import Sweep
from elsv.lattice.sweeps import Sweeps
from elsv.policies.layers import Room, batch_bytes
from elsv.problem import Problem
from elsv.values.layers import gain_sweep
from elsv.values.separable import SeparableValue

BATCH = 1 << 14


@dataclass(frozen=True)
class ByIndex:
    """The arm with the largest reward times index in all states of a layer (paper Algorithm 2)."""

    tables: IndexTables
    reach: int = 0

    def decide(self, sweeps: Sweeps, layer: Layer) -> AnyArray:
        """Look every arm up in its table."""
        actions = sweeps.room_for_arms(layer)
        table, group = self.tables.at(layer.step), self.tables.group
        for first in range(0, layer.size, BATCH):
            stop = min(first + BATCH, layer.size)
            index = table[group, number(*layer.counts(first, stop))]
            actions[..., first:stop] = sweeps.best_arms(sweeps.arms.rewards * index)
        return actions

    def sweep(self, problem: Problem, step: int) -> Sweep:
        """Return a sweep that chooses and pulls in one, and writes no arms down."""
        return Sweep("table", tables=self.tables.at(step), group=self.tables.group)

    def room(self, problem: Problem, made: int) -> Room:
        """Return what `decide` takes, and the tables."""
        return Room(batch=batch_bytes(problem, made, BATCH), tables=self.tables.bytes)


@dataclass(frozen=True)
class OneStep:
    r"""One step of lookahead on a separable value under a belief with weights (paper Algorithm 1, depth 1).

    A pull of arm i changes only that arm's term of :math:`v = c \sum_i r_i \upsilon(s_i)`, so that but for
    what all arms share

    .. math:: q(s, i) = r_i \bigl[p_i(s)\, (1 + c\, \upsilon(s_i{+}\text{success}) - c\, \upsilon(s_i))
        + (1 - p_i(s))\, (c\, \upsilon(s_i{+}\text{failure}) - c\, \upsilon(s_i))\bigr],

    two tables for each arm. Without a value the arm with the best expected reward is pulled. An arm whose
    index is infinite comes first.
    """

    value: SeparableValue | None = None

    def sweep(self, problem: Problem, step: int) -> Sweep:
        """Return the sweep of a layer; the problem's belief must have weights."""
        if factors(problem.belief):
            raise InvalidInputError(
                "one step in place is for a problem whose belief has weights, got independent arms"
            )
        return self.on_card(problem, step)

    def on_card(self, problem: Problem, step: int) -> Sweep:
        """Return the same; a GPU has it for independent arms too."""
        return gain_sweep(problem, self.value, step)
