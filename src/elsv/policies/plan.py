r"""`Plan`, the default policy: near the Bayes optimum wherever that was computed (past the paper).

It searches d pulls ahead among a few candidate arms and commits at the frontier,

.. math:: V(s) = \max_i\; p_i(s) \bigl(r_i + V(s{+}\text{success}_i)\bigr)
    + (1 - p_i(s))\, V(s{+}\text{failure}_i), \qquad V(\text{frontier}) = R \max_l r_l\, p_l,

with R the pulls left there. With a long way to go and an order it first weighs pulling one arm for longer, to
commit as soon as that is better. Where that gains next to nothing the best arm is pulled, elsewhere a
search decides that goes farther by steps that grow, in each of which one arm is pulled. All these scores are
the worth of a policy that could be followed, a lower bound on the best one. Without an order the
finite-horizon Gittins index decides instead, and for a discount the Gittins index, which is optimal. What
changes where customers come from segments is in `elsv.policies.plan_segments`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from elsv._base.numbers import whole
from elsv._base.typing import FloatArray, IntArray
from elsv.beliefs import Belief
from elsv.beliefs.abilities import factors, moments, repeats, weighs
from elsv.beliefs.base import mean_of
from elsv.beliefs.points import check_count
from elsv.indices.base import Index, Setting
from elsv.indices.finite_gittins import FiniteGittins
from elsv.indices.gittins import Gittins
from elsv.policies.base import BestScore, acts_as
from elsv.policies.layers import OnLayers
from elsv.policies.offered import Segment
from elsv.policies.plan_layers import plan_on_layers
from elsv.policies.plan_rules import (
    EFFORT,
    FAR,
    MOST_CANDIDATES,
    POINTS,
    candidates,
    depth_of,
    most_stops,
    prefer,
    searches_free,
    undecided,
    unsettled,
    way_ahead,
)
from elsv.policies.plan_segments import (
    free_in_segments,
    plan_in_segments,
    points_in_segments,
    searches_free_segments,
    states_in_segments,
)
from elsv.problem import Problem
from elsv.search.lookahead import check_step
from elsv.search.points_search import PointsSearch, part, search_independent
from elsv.search.segment_search import SegmentSearch
from elsv.state import State, check_width
from elsv.values.commit import remaining


@dataclass(frozen=True, eq=False)
class Plan(BestScore):
    """Search d pulls ahead; without an order, the Gittins index where the search is too short.

    Parameters
    ----------
    problem
        Gives rewards, order, horizon or discount.
    effort
        Most states that a search expands. Results depend on it and on nothing like the time taken.
    points
        How many joint points of the belief a search adds up. With an order 768 are Gauss rules of 12, 8 and
        8 points: score differences are within about 1e-6 of a pull's reward, for each pull left, up to
        T = 290. Beliefs that are sampled come to 1e-5 with 1024 (docs/planning.md).
    belief
        What is known of the means; default: the exact belief for the problem's order. Any belief will do:
        the search needs its means and points (`elsv.beliefs.points`).
    far
        How many times as many states are expanded with a long way to go under an order, where something is
        left to learn: 3 looks 22 pulls ahead for three arms, 6 looks 27, 13 looks 33. A third counts with
        more pulls left than 25 times those of a search.

    Examples
    --------
    >>> problem = Problem(rewards=[0.4, 0.7, 1.0], order="decreasing", horizon=50)
    >>> int(Plan(problem)(State.initial(problem), 1))
    1
    """

    problem: Problem
    effort: int = EFFORT
    points: int = POINTS
    belief: Belief | None = None
    far: int = FAR

    def __post_init__(self) -> None:
        check_count(self.points)
        whole("effort", self.effort)
        whole("far", self.far)

    @property
    def strides(self) -> bool:
        """Whether a long batch of decisions may ask it for some of them only, since it takes long."""
        return self.merges_equal_states

    def __call__(
        self, state: State, step: int, rng: np.random.Generator | None = None, segment: Segment = None
    ) -> IntArray:
        """Return the arm for every instance, shape ``[...]``; an exact belief does not use `rng`."""
        return super().__call__(state, step, cast(np.random.Generator, rng), segment)

    @property
    def merges_equal_states(self) -> bool:
        """Whether a batch is best asked once for equal states: the answer repeats and takes time."""
        return self.belief is None or repeats(self.belief)

    def on_layers(self, problem: Problem) -> OnLayers:
        """Return the same search from all states of a layer at once, with exact weights instead of points."""
        if not acts_as(self, Plan) or self.belief is not None or not weighs(problem.belief):
            return super().on_layers(problem)
        return plan_on_layers(problem, self.effort, self.far, self)

    def scores(self, state: State, step: int, rng: np.random.Generator | None = None) -> FloatArray:
        """Return what pulling each arm is worth, or reward times index, shape ``[..., N]``."""
        check_step(self.problem, step)
        check_width(state, self.problem)
        roots = State.trusted(*state.rows())
        if self.problem.segments.stated and self.problem.segments.count > 1:
            return self._in_segments(roots, remaining(self.problem, step), rng).reshape(state.alpha.shape)
        if self.belief is None and factors(self.problem.belief):
            return self._free(state, step)
        return self._plan(roots, step, rng).reshape(state.alpha.shape)

    def _in_segments(self, state: State, left: float, rng: np.random.Generator | None) -> FloatArray:
        """Return scores ``[B, N]``, each arm given that its segment has come."""
        problem, belief = self.problem, self.problem.belief if self.belief is None else self.belief
        free = self.belief is None and factors(belief)
        if free and not searches_free_segments(problem, self.effort, left):
            return free_in_segments(problem, state, left)
        search = SegmentSearch(problem, belief, points_in_segments(self.points))
        return plan_in_segments(
            search, states_in_segments(self.effort), state, left, *moments(belief, state, rng)
        )

    def _free(self, state: State, step: int) -> FloatArray:
        """Return scores ``[..., N]`` of independent arms."""
        problem, left = self.problem, remaining(self.problem, step)
        if problem.horizon is None or not searches_free(problem.arms, self.effort, round(left)):
            index: Index = Gittins() if problem.horizon is None else FiniteGittins()
            return problem.rewards * index(state.alpha, state.beta, step, Setting.of(problem))
        depth = depth_of(problem.arms, self.effort, round(left))
        return search_independent(state, problem.rewards, depth, left).reshape(state.alpha.shape)

    def _plan(self, state: State, step: int, rng: np.random.Generator | None) -> FloatArray:
        """Return q ``[B, N]`` by searches on points of the belief."""
        problem, left = self.problem, remaining(self.problem, step)
        belief = problem.belief if self.belief is None else self.belief
        few = problem.arms <= MOST_CANDIDATES
        mean, variance = (mean_of(belief, state, rng), None) if few else moments(belief, state, rng)
        worth = problem.rewards * mean
        # A pull from which nothing is learnt: the search can only find more.
        q: FloatArray = worth + (left - 1) * worth.max(axis=1, keepdims=True)
        if problem.arms == 1:
            return q
        search = PointsSearch(belief, problem.rewards, self.points, problem.discount or 1.0)
        here = np.arange(len(q))
        if variance is not None:
            here = np.flatnonzero(undecided(worth, problem.rewards * np.sqrt(variance)))
        roots = State.trusted(state.alpha[here], state.beta[here])
        q[here] = self._search(search, roots, worth[here], q[here], left)
        return q

    def _search(
        self, search: PointsSearch, roots: State, worth: FloatArray, q: FloatArray, left: float
    ) -> FloatArray:
        """Return q ``[B, N]`` with what a search finds for the candidates."""
        arms = self.problem.arms
        count = min(arms, MOST_CANDIDATES)
        pulls = None if self.problem.horizon is None else round(left)
        way = way_ahead(count, self.effort, pulls, self.far)
        long_way = way.stops > 0
        chosen: IntArray = np.broadcast_to(np.arange(arms), q.shape)
        if arms == count and not long_way:
            return search.ahead(roots, worth, chosen, way.steps, left)
        most = way.stops or most_stops(way.depth, pulls)
        q = q.copy()
        for block in search.blocks(len(q)):
            here = np.arange(len(q))[block]
            root, paid = part(roots, here), worth[here]
            shared = search.shared_points(root)
            stops = search.stops(root, paid, most, left, shared)
            if long_way:
                learns = unsettled(stops, left * paid.max(axis=1), way.settled)
                if not learns.any():
                    continue
                if not learns.all():
                    here, root, paid, stops = here[learns], part(root, learns), paid[learns], stops[learns]
                    shared = shared and (shared[0][learns], shared[1][learns])
            if arms == count:
                found = search.ahead(root, paid, chosen[here], way.steps, left, shared)
            else:
                arms_ahead = candidates(paid, stops, count)
                found = q[here]
                ahead = search.ahead(root, paid, arms_ahead, way.steps, left, shared)
                np.put_along_axis(found, arms_ahead, ahead, axis=1)
            q[here] = prefer(found, stops, left * paid.max(axis=1)) if long_way else found
        return q
