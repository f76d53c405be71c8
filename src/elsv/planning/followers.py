"""Policies that choose and pull in one sweep over a layer, which may take the place of the layer after it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from elsv._typing import AnyArray, FloatArray
from elsv.choice import best_arm
from elsv.errors import InvalidInputError
from elsv.indices.base import Index, Setting
from elsv.indices.tables import Triangles, triangles
from elsv.planning.arena import Arena, Blocks
from elsv.planning.lattice import Layer
from elsv.problem import Problem, distinct_priors
from elsv.triangle import number, size, states
from elsv.values.separable import SeparableValue

_BATCH = 1 << 16
_WINDOW = 64  # steps whose index tables are held at once


class Step(Protocol):
    """A sweep over some blocks of a layer."""

    def __call__(self, values: FloatArray, weights: FloatArray, blocks: Blocks, out: FloatArray) -> None:
        """Set `out`, which may be `values`, to their worth from values and weights of the next layer."""
        ...


@runtime_checkable
class Follower(Protocol):
    """A deterministic policy that chooses and pulls in one sweep, writes no arms down and needs no room."""

    def follow(self, problem: Problem, layer: Layer) -> Step:
        """Return the sweep of a layer."""
        ...


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
class IndexChoice:
    """The arm with the largest reward times index (paper Algorithm 2)."""

    tables: IndexTables

    def choose(self, arena: Arena, layer: Layer, actions: AnyArray) -> None:
        """Look every arm up in its table."""
        table, group = self.tables.at(layer.step), self.tables.group
        for first in range(0, layer.size, _BATCH):
            stop = min(first + _BATCH, layer.size)
            index = table[group, number(*layer.counts(first, stop))]
            actions[first:stop] = best_arm(arena.problem.rewards * index, arena.problem.scale)

    def follow(self, problem: Problem, layer: Layer) -> Step:
        """Return a sweep that chooses and pulls in one, and writes no arms down."""
        from elsv.planning._follow_kernels import follow_tables

        rewards, prior = problem.rewards, problem.prior
        index = self.tables.at(layer.step), self.tables.group

        def step(values: FloatArray, weights: FloatArray, blocks: Blocks, out: FloatArray) -> None:
            follow_tables(values, weights, *blocks, rewards, prior, *index, out)

        return step


@dataclass(frozen=True)
class OptimalChoice:
    """The best arm: the Bayes optimum itself, beside other policies."""

    def follow(self, problem: Problem, layer: Layer) -> Step:
        """Return the sweep of a layer."""
        from elsv.planning._lattice_kernels import maximise

        rewards, prior, no_actions = problem.rewards, problem.prior, np.empty(0, np.uint8)

        def step(values: FloatArray, weights: FloatArray, blocks: Blocks, out: FloatArray) -> None:
            maximise(values, weights, *blocks, rewards, prior, out, no_actions)

        return step


@dataclass(frozen=True)
class OneStepChoice:
    r"""One step of lookahead on a separable value with the ordered belief (paper Algorithm 1, depth 1).

    A pull of arm i changes only that arm's term of :math:`v = c \sum_i r_i \upsilon(s_i)`, so that but for
    what all arms share

    .. math:: q(s, i) = r_i \bigl[p_i(s)\, (1 + c\, \upsilon(s_i{+}\text{success}) - c\, \upsilon(s_i))
        + (1 - p_i(s))\, (c\, \upsilon(s_i{+}\text{failure}) - c\, \upsilon(s_i))\bigr],

    two tables for each arm. Without a value the arm with the best expected reward is pulled. An arm whose
    index is infinite comes first.
    """

    value: SeparableValue | None = None

    def follow(self, problem: Problem, layer: Layer) -> Step:
        """Return the sweep of a layer."""
        from elsv.planning._follow_kernels import follow_one_step

        if problem.order is None:
            raise InvalidInputError(
                "OneStepChoice is for a problem with an order, got one without; use LookaheadChoice there"
            )
        rewards, prior = problem.rewards, problem.prior
        members, group = distinct_priors(problem)
        won, lost, shared = np.stack([self._gains(layer.step, i) for i in members], axis=1)

        def step(values: FloatArray, weights: FloatArray, blocks: Blocks, out: FloatArray) -> None:
            follow_one_step(values, weights, *blocks, rewards, prior, won, lost, shared, group, out)

        return step

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
