"""Policies on whole layers that need nothing but tables of each arm by itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsv._base.triangle import number, states
from elsv._base.typing import AnyArray, FloatArray
from elsv.beliefs.abilities import factors
from elsv.errors import InvalidInputError
from elsv.indices.tables import IndexTables
from elsv.lattice.numbering import Layer
from elsv.lattice.steps import Sweep
from elsv.lattice.sweeps import Sweeps
from elsv.policies.layers import Room, batch_bytes
from elsv.problem import Problem, distinct_priors
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
        return Sweep("gain", tables=self.gains(problem, step), group=distinct_priors(problem)[1])

    def gains(self, problem: Problem, step: int) -> FloatArray:
        """Return what a success, a failure and another arm's pull are worth: ``[3, priors, states]``."""
        return np.stack([self._gains(step, i) for i in distinct_priors(problem)[0]], axis=1)

    def _gains(self, step: int, arm: int) -> FloatArray:
        """Return what a success, a failure and another arm's pull are worth, per reward: ``[3, states]``."""
        successes, pulls = states(step)
        if self.value is None:
            return np.stack([np.ones(len(pulls)), np.zeros(len(pulls)), np.zeros(len(pulls))])
        table, failed = self.value.table(step + 1, arm), number(successes, pulls + 1)
        here = table[: len(pulls)]
        first = np.isneginf(here)
        start = np.where(first, 0.0, here)
        won = 1.0 + self.value.weight * (table[failed + 1] - start)
        lost = self.value.weight * (table[failed] - start)
        return np.stack(
            [np.where(first, np.inf, won), np.where(first, np.inf, lost), self.value.weight * start]
        )
