"""`Plan` in all states of a layer at once, for exact evaluation (past the paper)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsv._typing import AnyArray, FloatArray
from elsv.choice import best_arm
from elsv.errors import InvalidInputError
from elsv.indices.finite_gittins import FiniteGittins
from elsv.planning.arena import Arena
from elsv.planning.choosers import (
    Chooser,
    FixedChoice,
    FunctionChoice,
    LookaheadChoice,
)
from elsv.planning.followers import IndexChoice, IndexTables
from elsv.planning.frontiers import CommitFrontier
from elsv.planning.lattice import Layer, states_up_to
from elsv.planning.plan import MOST_CANDIDATES, Plan, depth_of, is_long_way, most_stops, prefer, searches_free
from elsv.planning.solve import horizon_of

MOST_SEARCHES = 200_000  # a few minutes


def plan_chooser(plan: Plan) -> Chooser:
    """Return the whole-layer form of `plan`; with more ordered arms than it searches, state by state."""
    problem, horizon = plan.problem, horizon_of(plan.problem)
    if problem.order is None:
        index = IndexChoice(IndexTables(problem, FiniteGittins(), horizon))
        return FreeChoice(problem.arms, plan.effort, horizon, index)
    if problem.arms == 1:
        return FixedChoice(0)
    if problem.arms <= MOST_CANDIDATES:
        return PlanChoice(problem.arms, plan.effort, horizon)
    states = states_up_to(problem.arms, horizon - 1)
    if states > MOST_SEARCHES:
        raise InvalidInputError(
            f"plan with {problem.arms} ordered arms is evaluated exactly by a search from each state, "
            f"{states:,} here, more than {MOST_SEARCHES:,}; use a shorter horizon or simulate it instead"
        )
    return FunctionChoice(plan)


@dataclass(frozen=True)
class PlanChoice:
    """Search of all arms, or many pulls of one where that stalls."""

    arms: int
    effort: int
    horizon: int

    @property
    def reach(self) -> int:
        """The longer way to the frontier, and one layer for the commit value there."""
        depth = self._depth(self.horizon)
        return 1 + (most_stops(depth, None) if is_long_way(depth, self.horizon) else depth)

    def choose(self, arena: Arena, layer: Layer, actions: AnyArray) -> None:
        """Compare what the arms are worth, per unit of weight."""
        left = arena.horizon - layer.made
        depth = self._depth(left)
        if not is_long_way(depth, left):
            LookaheadChoice(CommitFrontier(), depth).choose(arena, layer, actions)
            return
        weights = arena.weights(layer.made)
        unit = np.where(weights > 0, weights, 1.0)[:, None]
        committed = CommitFrontier().fill(arena, layer, True)
        ahead, stops = _ahead(arena, layer, depth), _stops(arena, layer, most_stops(depth, left))
        scores = prefer(ahead / unit, stops / unit, committed / unit[:, 0])
        actions[:] = best_arm(scores, arena.problem.scale)
        arena.give(committed)

    def _depth(self, left: int | None) -> int:
        return depth_of(self.arms, self.effort, left)


@dataclass(frozen=True)
class FreeChoice:
    """Search of independent arms, or their index where the search is too short."""

    arms: int
    effort: int
    horizon: int
    index: IndexChoice

    @property
    def reach(self) -> int:
        """The way to the frontier; no weights are read."""
        return depth_of(self.arms, self.effort, self.horizon)

    def choose(self, arena: Arena, layer: Layer, actions: AnyArray) -> None:
        """Search if the planner does."""
        left = arena.horizon - layer.made
        if searches_free(self.arms, self.effort, left):
            depth = depth_of(self.arms, self.effort, left)
            LookaheadChoice(CommitFrontier(), depth).choose(arena, layer, actions)
        else:
            self.index.choose(arena, layer, actions)


def _ahead(arena: Arena, layer: Layer, depth: int) -> FloatArray:
    """Return W times the worth of pulling each arm, searching on and committing, ``[states, N]``."""
    values = LookaheadChoice(CommitFrontier(), depth).values_after(arena, layer)
    q = np.empty((layer.size, arena.problem.arms))
    for arm in range(arena.problem.arms):
        copy = arena.take(len(values))
        copy[:] = values
        worth = arena.pull(layer, copy, arm, True)
        q[:, arm] = worth
        arena.give(worth)
    arena.give(values)
    return q


def _stops(arena: Arena, layer: Layer, most: int) -> FloatArray:
    """Return W times the worth of pulling one arm up to `most` times, then committing, ``[states, N]``."""
    q = np.empty((layer.size, arena.problem.arms))
    for arm in range(arena.problem.arms):
        worth = CommitFrontier().fill(arena, arena.layer(layer.made + most), True)
        for made in range(layer.made + most - 1, layer.made - 1, -1):
            worth = arena.pull(arena.layer(made), worth, arm, True)
            if made > layer.made:
                committed = CommitFrontier().fill(arena, arena.layer(made), True)
                np.maximum(worth, committed, out=worth)
                arena.give(committed)
        q[:, arm] = worth
        arena.give(worth)
    return q
