"""The arm that a policy pulls in every state of a layer, and how the layer's worth follows from it.

Each class here is the whole-layer form of a policy. All use the tie rule of `elsv.choice`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from elsv._typing import AnyArray, FloatArray, IntArray
from elsv.beliefs import Chain
from elsv.beliefs.layer_best import best_shares
from elsv.errors import InvalidInputError
from elsv.lattice.numbering import Layer
from elsv.lattice.sweeps import Arena
from elsv.policies.followers import Follower, IndexTables
from elsv.policies.frontiers import Frontier
from elsv.policies.optimal import Actions
from elsv.state import State

_BATCH = 1 << 16
_MOST_BEST = 20_000  # states of four ordered arms and more for which P(best) is integrated; minutes


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


LayerPolicy = Chooser | Follower | Mixture


@dataclass(frozen=True)
class FixedChoice:
    """One arm, whatever happens."""

    arm: int
    reach: int = 0

    def choose(self, arena: Arena, layer: Layer, actions: AnyArray) -> None:
        """Set the same arm everywhere."""
        actions[:] = self.arm


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
        from elsv.lattice._layer_kernels import prefer_infinite

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
