"""Index values of all states of every arm, by step, and the sweeps that need nothing else."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from elsv._typing import AnyArray, FloatArray
from elsv.beliefs.abilities import factors
from elsv.choice import best_arm
from elsv.errors import InvalidInputError
from elsv.indices.base import Index, Setting
from elsv.indices.tables import Triangles, triangles
from elsv.lattice.numbering import Layer
from elsv.lattice.steps import Step, gain_step, table_step
from elsv.lattice.sweeps import Sweeps
from elsv.problem import Problem, distinct_priors
from elsv.triangle import number, size, states
from elsv.values.separable import SeparableValue

_BATCH = 1 << 16
_WINDOW = 64  # steps whose index tables are held at once


class IndexTables:
    """Index values of all states of every arm at a step, one table for each distinct prior."""

    def __init__(self, problem: Problem, index: Index, horizon: int) -> None:
        members, self.group = distinct_priors(problem)
        setting = Setting.of(problem)
        self._sources: list[Triangles] = [triangles(index, setting.arm(i), horizon - 1) for i in members]
        self._horizon = horizon
        self._fixed = None if index.uses_step else self._stack(horizon)
        self._window: dict[int, FloatArray] = {}
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """The most that the tables take."""
        held = 1 if self._fixed is not None else min(_WINDOW, self._horizon)
        return 8 * held * len(self._sources) * size(self._horizon)

    def at(self, step: int) -> FloatArray:
        """Return the tables ``[groups, size]`` of at least the states with fewer than `step` pulls."""
        if self._fixed is not None:
            return self._fixed
        with self._lock:
            if step not in self._window:
                # Steps are asked for downwards, but tables are cheap only in increasing order.
                first = max(1, step - _WINDOW + 1)
                self._window = {earlier: self._stack(earlier) for earlier in range(first, step + 1)}
            return self._window[step]

    def _stack(self, step: int) -> FloatArray:
        return np.stack([source(step) for source in self._sources])


@dataclass(frozen=True)
class ByIndex:
    """The arm with the largest reward times index in all states of a layer (paper Algorithm 2)."""

    tables: IndexTables
    reach: int = 0

    @property
    def bytes(self) -> int:
        """Memory that it takes besides the values."""
        return self.tables.bytes

    def decide(self, sweeps: Sweeps, layer: Layer) -> AnyArray:
        """Look every arm up in its table."""
        actions = np.empty(layer.size, np.uint8)
        table, group = self.tables.at(layer.step), self.tables.group
        for first in range(0, layer.size, _BATCH):
            stop = min(first + _BATCH, layer.size)
            index = table[group, number(*layer.counts(first, stop))]
            actions[first:stop] = best_arm(sweeps.arms.rewards * index, float(sweeps.arms.rewards.max()))
        return actions

    def step(self, problem: Problem, layer: Layer) -> Step:
        """Return a sweep that chooses and pulls in one, and writes no arms down."""
        return table_step(problem, self.tables.at(layer.step), self.tables.group)


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

    def step(self, problem: Problem, layer: Layer) -> Step:
        """Return the sweep of a layer; the problem's belief must have weights."""
        if factors(problem.belief):
            raise InvalidInputError(
                "one step in place is for a problem whose belief has weights, got independent arms"
            )
        members, group = distinct_priors(problem)
        return gain_step(problem, np.stack([self._gains(layer.step, i) for i in members], axis=1), group)

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
