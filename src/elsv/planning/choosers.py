"""The arm that a policy pulls in every state of a layer, and how the layer's worth follows from it.

Each class here is the whole-layer form of a policy. All use the tie rule of `elsv.choice`; `OneStepChoice`
applies it to what the arms do not share.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from elsv._typing import AnyArray, FloatArray, IntArray
from elsv.beliefs import Chain
from elsv.choice import best_arm
from elsv.errors import InvalidInputError
from elsv.indices.base import Index, Setting
from elsv.indices.tables import Triangles, triangles
from elsv.planning.arena import Arena, Blocks
from elsv.planning.frontiers import Frontier
from elsv.planning.lattice import Layer
from elsv.planning.optimal import Actions
from elsv.planning.shares import best_shares
from elsv.problem import Problem
from elsv.state import State
from elsv.triangle import number, size, states
from elsv.values.separable import SeparableValue

_BATCH = 1 << 16
_MOST_BEST = 20_000  # states of four ordered arms and more for which P(best) is integrated; minutes
_WINDOW = 64  # steps whose index tables are held at once


@runtime_checkable
class Chooser(Protocol):
    """A deterministic policy on whole layers."""

    @property
    def reach(self) -> int:
        """How many layers past the present one it reads."""
        ...

    def choose(self, arena: Arena, layer: Layer, actions: AnyArray) -> None:
        """Set the arm of every state."""
        ...


@runtime_checkable
class Mixture(Protocol):
    """A policy that pulls arm i with a probability that is known for every state."""

    @property
    def reach(self) -> int:
        """How many layers past the present one it reads."""
        ...

    def shares(self, arena: Arena, layer: Layer) -> FloatArray:
        """Return the probabilities, ``[N, states]``; called for the last layer first, then down."""
        ...


@dataclass(frozen=True)
class FixedChoice:
    """One arm, whatever happens."""

    arm: int
    reach: int = 0

    def choose(self, arena: Arena, layer: Layer, actions: AnyArray) -> None:
        """Set the same arm everywhere."""
        actions[:] = self.arm


class Step(Protocol):
    """A sweep over some blocks of a layer."""

    def __call__(self, values: FloatArray, weights: FloatArray, blocks: Blocks, out: FloatArray) -> None:
        """Set `out`, which may be `values`, to their worth from values and weights of the next layer."""
        ...


@runtime_checkable
class Follower(Protocol):
    """A deterministic policy that chooses and pulls in one sweep, writes no arms down and needs no room."""

    @property
    def reach(self) -> int:
        """How many layers past the present one it reads."""
        ...

    def follow(self, problem: Problem, layer: Layer) -> Step:
        """Return the sweep of a layer."""
        ...


LayerPolicy = Chooser | Follower | Mixture


def distinct_priors(problem: Problem) -> tuple[IntArray, IntArray]:
    """Return an arm of each distinct prior, and for every arm which of these has its prior."""
    _, members, group = np.unique(problem.prior, axis=0, return_index=True, return_inverse=True)
    return members.astype(np.int64), group.reshape(-1).astype(np.int64)


class IndexTables:
    """Index values of all states of every arm at a step, one table for each distinct prior."""

    def __init__(self, problem: Problem, index: Index, horizon: int) -> None:
        members, self.group = distinct_priors(problem)
        setting = Setting.of(problem)
        self._sources: list[Triangles] = [triangles(index, setting.arm(int(i)), horizon - 1) for i in members]
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
    reach: int = 0

    def choose(self, arena: Arena, layer: Layer, actions: AnyArray) -> None:
        """Look every arm up in its table."""
        table, group = self.tables.at(layer.step), self.tables.group
        for first in range(0, layer.size, _BATCH):
            stop = min(first + _BATCH, layer.size)
            index = table[group, number(*layer.counts(first, stop))]
            actions[first:stop] = best_arm(arena.problem.rewards * index)

    def follow(self, problem: Problem, layer: Layer) -> Step:
        """Return a sweep that chooses and pulls in one, and writes no arms down."""
        from elsv.planning._choice_kernels import follow_tables

        rewards, prior = problem.rewards, problem.prior
        index = self.tables.at(layer.step), self.tables.group

        def step(values: FloatArray, weights: FloatArray, blocks: Blocks, out: FloatArray) -> None:
            follow_tables(values, weights, *blocks, rewards, prior, *index, out)

        return step


@dataclass(frozen=True)
class OptimalChoice:
    """The best arm: the Bayes optimum itself, beside other policies."""

    reach: int = 0

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
    reach: int = 0

    def follow(self, problem: Problem, layer: Layer) -> Step:
        """Return the sweep of a layer."""
        from elsv.planning._choice_kernels import follow_one_step

        if problem.order is None:
            raise InvalidInputError(
                "OneStepChoice is for a problem with an order, got one without; use LookaheadChoice there"
            )
        rewards, prior = problem.rewards, problem.prior
        members, group = distinct_priors(problem)
        gains = [self._gains(layer.step, int(i)) for i in members]
        won, lost = np.stack([w for w, _ in gains]), np.stack([v for _, v in gains])

        def step(values: FloatArray, weights: FloatArray, blocks: Blocks, out: FloatArray) -> None:
            follow_one_step(values, weights, *blocks, rewards, prior, won, lost, group, out)

        return step

    def _gains(self, step: int, arm: int) -> tuple[FloatArray, FloatArray]:
        """Return what a success and a failure are worth, per unit of reward, in every state of an arm."""
        successes, pulls = states(step)
        if self.value is None:
            return np.ones(len(pulls)), np.zeros(len(pulls))
        table, failed = self.value.table(step + 1, arm), number(successes, pulls + 1)
        here = table[: len(pulls)]
        first = np.isneginf(here)
        start = np.where(first, 0.0, here)
        won = 1.0 + self.value.weight * (table[failed + 1] - start)
        lost = self.value.weight * (table[failed] - start)
        return np.where(first, np.inf, won), np.where(first, np.inf, lost)


@dataclass(frozen=True)
class LookaheadChoice:
    """Lookahead of any depth: d sweeps from the frontier for each step, not a search for each state.

    With `first`, an arm whose index is infinite comes before all search.
    """

    frontier: Frontier
    depth: int = 1
    ordered: bool = True
    first: IndexTables | None = None

    @property
    def reach(self) -> int:
        """The depth and what the frontier's value reads beyond it."""
        return self.depth + self.frontier.reach

    def choose(self, arena: Arena, layer: Layer, actions: AnyArray) -> None:
        """Back the frontier up to the layer and compare."""
        values = self.values_after(arena, layer)
        arena.give(arena.maximise(layer, values, self.ordered, actions))
        if self.first is not None:
            self._prefer_infinite(arena, layer, actions, self.first)

    def values_after(self, arena: Arena, layer: Layer) -> FloatArray:
        """Return what the search finds in the next layer, in room taken from the arena."""
        top = min(layer.made + self.depth, arena.horizon)
        values = self.frontier.fill(arena, arena.layer(top), self.ordered)
        for made in range(top - 1, layer.made, -1):
            values = arena.maximise(arena.layer(made), values, self.ordered)
        return values

    @staticmethod
    def _prefer_infinite(arena: Arena, layer: Layer, actions: AnyArray, tables: IndexTables) -> None:
        from elsv.planning._choice_kernels import prefer_infinite

        table = tables.at(layer.step)
        if np.isposinf(table).any():
            arena.sweep(layer, lambda b: prefer_infinite(table, tables.group, b[0], b[1], actions))


@dataclass(frozen=True)
class FunctionChoice:
    """Any function (state, step, rng) -> arms, called on batches; it must not draw random numbers."""

    function: Callable[[State, int, np.random.Generator], Any]
    reach: int = 0

    def choose(self, arena: Arena, layer: Layer, actions: AnyArray) -> None:
        """Ask for all states of the layer."""
        for here, state in layer.batches(arena.problem, _BATCH):
            arms = self._ask(state, layer.step, 0, arena.problem.arms)
            if here.start == 0 and not np.array_equal(
                arms, self._ask(state, layer.step, 1, arena.problem.arms)
            ):
                raise InvalidInputError(
                    "exact evaluation needs a policy that draws no random numbers; this one gave two answers "
                    f"at step {layer.step}; simulate it instead"
                )
            actions[here] = arms

    def _ask(self, state: State, step: int, seed: int, arms: int) -> IntArray:
        chosen = np.asarray(self.function(state, step, np.random.default_rng(seed)))
        if chosen.dtype.kind not in "iu" or chosen.size == 0 or chosen.min() < 0 or chosen.max() >= arms:
            raise InvalidInputError(
                f"a policy must return whole numbers from 0 to {arms - 1}, got {chosen!r}"
            )
        return np.broadcast_to(chosen, state.shape)


@dataclass(frozen=True)
class KnownChoice:
    """Arms that were worked out before, such as the optimal ones."""

    actions: Actions
    reach: int = 0

    def choose(self, arena: Arena, layer: Layer, actions: AnyArray) -> None:
        """Copy the arms of the layer's step."""
        actions[:] = self.actions.at(layer.step)


@dataclass(frozen=True)
class UniformMixture:
    """Every arm with equal probability."""

    reach: int = 0

    def shares(self, arena: Arena, layer: Layer) -> FloatArray:
        """Return 1/N everywhere."""
        return np.full((arena.problem.arms, layer.size), 1.0 / arena.problem.arms)


@dataclass(frozen=True)
class ThompsonMixture:
    r"""Thompson sampling: arm i with the probability that it is the best.

    :math:`P(i \text{ best} \mid s)` is a martingale: only the last layer needs quadrature, every earlier one
    is the expectation over the outcomes of one pull.
    """

    ordered: bool = True
    reach: int = 1
    _latest: dict[int, FloatArray] = field(init=False, repr=False, default_factory=dict)

    def shares(self, arena: Arena, layer: Layer) -> FloatArray:
        """Return P(arm i is best), from the next layer's or, at first, by quadrature."""
        later = self._latest.pop(layer.made + 1, None)
        if later is None:
            shares = self._quadrature(arena, layer)
        else:
            shares = np.stack([arena.average(layer, row, self.ordered) for row in later])
        self._latest[layer.made] = shares
        return shares

    def _quadrature(self, arena: Arena, layer: Layer) -> FloatArray:
        problem = arena.problem
        shares = best_shares(problem, self.ordered, layer, arena.crew)
        if shares is not None:
            return shares
        if layer.size > _MOST_BEST:
            raise InvalidInputError(
                f"thompson with {problem.arms} ordered arms needs P(best) of {layer.size:,} states, "
                f"more than {_MOST_BEST:,}; use a shorter horizon, or simulate instead (elsv compare)"
            )
        belief = Chain(problem.order or "decreasing")
        shares = np.empty((problem.arms, layer.size))
        for here, state in layer.batches(problem, _BATCH):
            shares[:, here] = belief.best(state, problem.rewards)[0].T
        return shares
