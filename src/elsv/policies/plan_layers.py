"""`Plan` in all states of a layer at once, for exact evaluation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from elsv._base.typing import AnyArray, FloatArray
from elsv.beliefs.abilities import factors
from elsv.beliefs.samples import with_points
from elsv.errors import InvalidInputError
from elsv.indices.finite_gittins import FiniteGittins
from elsv.indices.tables import IndexTables
from elsv.lattice.numbering import Layer, states_up_to
from elsv.lattice.sweeps import Sweep, Sweeps
from elsv.policies import plan_rules as rules
from elsv.policies.layers import ByIndex, LayerPolicy, OneArm, Room, Search, StateByState
from elsv.problem import Problem
from elsv.values.base import nothing
from elsv.values.commit import CommitValue, committed

MOST_SEARCHES = 200_000  # a few minutes
_SEARCH_ROOM, _FREE_ROOM = 7e6, 0.5e6  # bytes of a search from single states; of arms apart from each other


def plan_on_layers(
    problem: Problem, effort: int, far: int, policy: Callable[..., Any], first: Callable[[], int | None]
) -> LayerPolicy:
    """Return the whole-layer form of `policy`, a planner; state by state with more arms than it searches.

    `first` gives the arm of the first decision where it is searched farther than others.
    """
    free, segments = factors(problem.belief), problem.segments
    each = StateByState(policy, bytes=_FREE_ROOM if free else _SEARCH_ROOM, repeats=True)
    if segments.count > 1:
        if problem.arms > rules.MOST_OF_SEGMENTS:
            return _limited(problem, each)
        plan = SearchOr(problem, rules.states_of(segments, effort), each)
        return _limited(problem, plan) if plan.at(problem.steps) is each else plan
    if free:
        return SearchOr(problem, effort, ByIndex(IndexTables(problem, FiniteGittins(), problem.steps)))
    if problem.arms == 1:
        return OneArm(0)
    if problem.arms > rules.MOST_CANDIDATES:
        return _limited(problem, each)
    states = rules.states_of(segments, effort, with_points(problem.belief, problem))
    return PlannedSearch(problem, states, far, first)


def _limited(problem: Problem, form: LayerPolicy) -> LayerPolicy:
    """Return a form that searches from single states, if there are not too many of them."""
    states = states_up_to(problem.arms, problem.steps - 1)
    if states > MOST_SEARCHES:
        raise InvalidInputError(
            f"plan with {problem.arms} arms under this structure is evaluated by a search from each state, "
            f"{states:,} here, more than {MOST_SEARCHES:,}; use a shorter horizon or simulate it "
            "(elsv compare)"
        )
    return form


@dataclass(frozen=True)
class PlannedSearch(LayerPolicy):
    """Search of all arms, or many pulls of one where they find more; the first decision is given.

    Values and scores are W times the worth of a state.
    """

    problem: Problem
    effort: int  # states that a search expands
    far: int = rules.FAR
    first: Callable[[], int | None] = lambda: None
    _latest: dict[int, list[FloatArray]] = field(init=False, repr=False, default_factory=dict)

    @property
    def reach(self) -> int:
        """The longest way to a frontier, and one layer for the commit value there."""
        ways = [self._way(left) for left in range(1, self.problem.steps + 1)]
        return 1 + max(max(way.depth, way.stops if way.stops == rules.PATIENCE else 0) for way in ways)

    def _way(self, left: int) -> rules.Way:
        return rules.way_ahead(self.problem.arms, self.effort, left, self.far)

    def decide(self, sweeps: Sweeps, layer: Layer) -> AnyArray:
        """Compare what the arms are worth, per unit of weight."""
        if layer.made == 0 and (first := self.first()) is not None:
            return OneArm(first).decide(sweeps, layer)
        left, belief = sweeps.horizon - layer.made, self.problem.belief
        way, many = self._way(left), self._stops(sweeps, layer, left)
        if not way.stops:
            return Search(CommitValue(self.problem), belief, way.depth).decide(sweeps, layer)
        weights = sweeps.weights(layer.made, belief)
        unit = np.where(weights > 0, weights, 1.0)[:, None]
        stops = np.stack(many, axis=1) / unit
        commit = self._commit(sweeps, layer.made)
        sure = commit[:, None] / unit
        sweeps.give(commit)
        paid = self._each(sweeps, layer, nothing(sweeps, sweeps.layer(layer.made + 1))) / unit
        segments, ahead = self.problem.segments, self._ahead(sweeps, layer, way.steps) / unit
        scores = rules.prefer(segments, ahead, stops, sure)
        settled = ~rules.unsettled(segments, stops, sure, paid)
        scores[settled] = paid[settled]
        return sweeps.best_arms(scores)

    def room(self, problem: Problem, made: int) -> Room:
        """Return what `decide` takes."""
        searched = 6.5 * problem.arms + 1 if self._way(problem.steps - made).stops else 0.125
        return Room(shared=4, passing=searched, kept=problem.arms)

    def kernel(self, problem: Problem, step: int) -> Sweep:
        """Return how a GPU searches ahead."""
        if step == 1 and (first := self.first()) is not None:
            return Sweep("arm", arm=first)
        way = self._way(problem.steps - step + 1)
        return Sweep("search", steps=way.steps, stops=way.stops)

    def _commit(self, sweeps: Sweeps, made: int) -> FloatArray:
        return committed(sweeps, sweeps.layer(made), self.problem.belief)

    def _pulls(self, sweeps: Sweeps, made: int, count: int, values: FloatArray, arm: int) -> FloatArray:
        """Return the worth of `count` pulls of an arm in the layer `made`, before `values`."""
        worth = _copied(sweeps, values)
        for at in range(made + count - 1, made - 1, -1):
            worth = sweeps.pull(sweeps.layer(at), worth, arm, self.problem.belief)
        return worth

    def _ahead(self, sweeps: Sweeps, layer: Layer, steps: tuple[int, ...]) -> FloatArray:
        """Return the worth of pulling each arm, searching on and committing, ``[states, N]``."""
        made = layer.made + sum(steps)
        values = self._commit(sweeps, made)
        for step in reversed(steps[1:]):
            made -= step
            if step == 1:
                values = sweeps.maximise(sweeps.layer(made), values, self.problem.belief)
            else:
                values = self._leap(sweeps, made, step, values)
        return self._each(sweeps, layer, values)

    def _leap(self, sweeps: Sweeps, made: int, step: int, values: FloatArray) -> FloatArray:
        """Return the worth of `step` pulls of whichever arm is best so; `values` is given back."""
        best = self._pulls(sweeps, made, step, values, 0)
        for arm in range(1, self.problem.arms):
            worth = self._pulls(sweeps, made, step, values, arm)
            np.maximum(best, worth, out=best)
            sweeps.give(worth)
        sweeps.give(values)
        return best

    def _each(self, sweeps: Sweeps, layer: Layer, values: FloatArray) -> FloatArray:
        """Return the worth of pulling each arm ``[states, N]``; `values` is given back."""
        q = np.empty((layer.size, self.problem.arms))
        for arm in range(self.problem.arms):
            worth = self._pulls(sweeps, layer.made, 1, values, arm)
            q[:, arm] = worth
            sweeps.give(worth)
        sweeps.give(values)
        return q

    def _stops(self, sweeps: Sweeps, layer: Layer, left: int) -> list[FloatArray]:
        """Return the worth of pulling each arm up to `PATIENCE` times, then committing.

        Up to the end they follow from those of the next layer, which are kept.
        """
        later, found = self._latest.pop(layer.made + 1, None), []
        self._latest.clear()
        for arm in range(self.problem.arms):
            if later is not None and left <= rules.PATIENCE:
                last, worth = layer.made, _copied(sweeps, later[arm])
                self._or_commit(sweeps, last + 1, worth)
            else:
                last = layer.made + min(left, rules.PATIENCE) - 1
                worth = self._commit(sweeps, last + 1)
            for made in range(last, layer.made - 1, -1):
                worth = sweeps.pull(sweeps.layer(made), worth, arm, self.problem.belief)
                if made > layer.made:
                    self._or_commit(sweeps, made, worth)
            found.append(worth.copy())
            sweeps.give(worth)
        if left <= rules.PATIENCE:
            self._latest[layer.made] = found
        return found

    def _or_commit(self, sweeps: Sweeps, made: int, worth: FloatArray) -> None:
        """Set `worth` to what committing in the layer is worth where that is more."""
        sure = self._commit(sweeps, made)
        np.maximum(worth, sure, out=worth)
        sweeps.give(sure)


def _copied(sweeps: Sweeps, values: FloatArray) -> FloatArray:
    """Return a copy in room that sweeps share."""
    room = sweeps.take(len(values))
    room[:] = values
    return room


@dataclass(frozen=True)
class SearchOr(LayerPolicy):
    """Search of all arms by single pulls where the planner does so, else another form.

    With segments the planner does not search where every segment's best arm is clear; here such states are
    searched too.
    """

    problem: Problem
    effort: int  # states that a search expands
    other: LayerPolicy

    @property
    def reach(self) -> int:
        """The way to the frontier, and where weights are read one layer for the commit value there."""
        depth = rules.depth_of(self.problem.arms, self.effort, self.problem.steps)
        return depth + (not factors(self.problem.belief))

    def room(self, problem: Problem, made: int) -> Room:
        """Return what `decide` takes, and the tables of an index where it is needed at all."""
        return self.at(problem.steps - made).room(problem, made)

    def kernel(self, problem: Problem, step: int) -> Sweep | None:
        """Return how a GPU searches ahead, or the sweep of the other form; it knows no segments."""
        if problem.segments.count > 1:
            return None
        return self.at(problem.steps - step + 1).kernel(problem, step)

    def decide(self, sweeps: Sweeps, layer: Layer) -> AnyArray:
        """Search if the planner does."""
        return self.at(sweeps.horizon - layer.made).decide(sweeps, layer)

    def at(self, left: int) -> LayerPolicy:
        """Return the form with so many pulls left: a search of all states of a layer, or the other one."""
        problem, depth = self.problem, rules.depth_of(self.problem.arms, self.effort, left)
        if factors(problem.belief):
            searched = rules.searches_free(problem.arms, self.effort, left)
        else:
            searched = left <= rules.LONG_WAY * depth
        return Search(CommitValue(problem), problem.belief, depth) if searched else self.other
