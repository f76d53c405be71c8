r"""`Plan`, the default policy: within one per cent of the Bayes optimum where that is known (past the paper).

It searches d pulls ahead among a few candidate arms and commits at the frontier,

.. math:: V(s) = \max_i\; p_i(s) \bigl(r_i + V(s{+}\text{success}_i)\bigr)
    + (1 - p_i(s))\, V(s{+}\text{failure}_i), \qquad V(\text{frontier}) = R \max_l r_l\, p_l,

with R the pulls left there. With a long way to go even d pulls may change nothing. With an order it then
weighs pulling one arm for longer, to commit as soon as that is better; all these scores are the worth of a
policy that could be followed, a lower bound on the best one. Without an order the finite-horizon Gittins
index decides instead, and for a discount the Gittins index, which is optimal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsv._typing import FloatArray, IntArray
from elsv.beliefs.abilities import factors
from elsv.errors import InvalidInputError
from elsv.indices.base import Index, Setting
from elsv.indices.finite_gittins import FiniteGittins
from elsv.indices.gittins import Gittins
from elsv.policies.base import BestScore, acts_as
from elsv.policies.layers import OnLayers
from elsv.policies.plan_layers import plan_on_layers
from elsv.policies.plan_rules import (
    EFFORT,
    MOST_CANDIDATES,
    candidates,
    depth_of,
    is_long_way,
    most_stops,
    prefer,
    searches_free,
    undecided,
)
from elsv.problem import Problem
from elsv.search.layers import search_layers
from elsv.search.lookahead import check_step
from elsv.state import State, check_width
from elsv.values.commit import remaining

_RULE = (12.0, 20.0)  # panels and cut of the quadrature: scores within about 1e-8 of themselves


@dataclass(frozen=True, eq=False)
class Plan(BestScore):
    """Search d pulls ahead; without an order, the Gittins index where the search is too short.

    Parameters
    ----------
    problem
        Gives rewards, order, horizon or discount.
    effort
        Most states that a search expands. Results depend on it and on nothing like the time taken.

    Examples
    --------
    >>> problem = Problem(rewards=[0.4, 0.7, 1.0], order="decreasing", horizon=50)
    >>> int(Plan(problem)(State.initial(problem), 1, np.random.default_rng(0)))
    1
    """

    problem: Problem
    effort: int = EFFORT

    def __post_init__(self) -> None:
        if isinstance(self.effort, bool) or not isinstance(self.effort, int | np.integer) or self.effort < 1:
            raise InvalidInputError(
                f"effort must be a whole number of states, at least 1, got {self.effort!r}"
            )

    @property
    def merges_equal_states(self) -> bool:
        """Whether a batch is best asked once for equal states: the answer repeats and takes time."""
        return True

    def on_layers(self, problem: Problem) -> OnLayers:
        """Return the same search from all states of a layer at once, with exact weights."""
        if not acts_as(self, Plan):
            return super().on_layers(problem)
        return plan_on_layers(problem, self.effort, self)

    def scores(self, state: State, step: int, rng: np.random.Generator | None = None) -> FloatArray:
        """Return what pulling each arm is worth, or reward times index, shape ``[..., N]``."""
        check_step(self.problem, step)
        check_width(state, self.problem)
        if factors(self.problem.belief):
            return self._free(state, step)
        turn = -1 if self.problem.order == "increasing" else 1
        alpha, beta = state.rows(turn)
        q = self._plan(alpha, beta, np.ascontiguousarray(self.problem.rewards[::turn]), step)
        return np.ascontiguousarray(q[:, ::turn]).reshape(state.alpha.shape)

    def _free(self, state: State, step: int) -> FloatArray:
        """Return scores ``[..., N]`` of independent arms."""
        from elsv.search._ahead_kernels import search_free

        problem, left = self.problem, remaining(self.problem, step)
        if problem.horizon is None or not searches_free(problem.arms, self.effort, round(left)):
            index: Index = Gittins() if problem.horizon is None else FiniteGittins()
            return problem.rewards * index(state.alpha, state.beta, step, Setting.of(problem))
        depth = depth_of(problem.arms, self.effort, round(left))
        alpha, beta = state.rows()
        q = np.empty(alpha.shape)
        search_free(alpha, beta, problem.rewards, left - depth, search_layers(problem.arms, depth), q)
        return q.reshape(state.alpha.shape)

    def _plan(self, alpha: FloatArray, beta: FloatArray, rewards: FloatArray, step: int) -> FloatArray:
        """Return q ``[B, N]`` for arms whose means decrease."""
        from elsv.beliefs._chain_kernels import batch_moments

        mean, variance, unused = np.empty_like(alpha), np.empty_like(alpha), np.empty(len(alpha))
        batch_moments(alpha, beta, *_RULE, mean, variance, unused)
        worth = rewards * mean
        left = remaining(self.problem, step)
        # A pull from which nothing is learnt: the search can only find more.
        q: FloatArray = worth + (left - 1) * worth.max(axis=1, keepdims=True)
        if self.problem.arms > 1:
            here = np.flatnonzero(undecided(worth, rewards * np.sqrt(variance)))
            roots = Roots(alpha[here], beta[here], rewards, worth[here])
            q[here] = self._search(roots, q[here], left)
        return q

    def _search(self, roots: Roots, q: FloatArray, left: float) -> FloatArray:
        """Return q ``[B, N]`` with what a search finds for the candidates."""
        arms = len(roots.rewards)
        count = min(arms, MOST_CANDIDATES)
        pulls = None if self.problem.horizon is None else round(left)
        depth = depth_of(count, self.effort, pulls)
        chosen = np.broadcast_to(np.arange(arms), roots.alpha.shape)
        long_way = is_long_way(depth, pulls)
        if arms == count and not long_way:
            return self._ahead(roots, np.ascontiguousarray(chosen), depth, left)
        stops = self._stops(roots, most_stops(depth, pulls), left)
        if arms > count:
            chosen = candidates(roots.worth, stops, count)
        q = q.copy()
        np.put_along_axis(q, chosen, self._ahead(roots, np.ascontiguousarray(chosen), depth, left), axis=1)
        return prefer(q, stops, left * roots.worth.max(axis=1)) if long_way else q

    def _ahead(self, roots: Roots, chosen: IntArray, depth: int, left: float) -> FloatArray:
        """Return the worth of pulling each candidate, searching on and committing, ``[B, C]``."""
        from elsv.search._ahead_kernels import search_ahead

        q = np.empty(chosen.shape)
        after = left if self.problem.horizon is None else left - depth
        layers = search_layers(chosen.shape[1], depth)
        counts = (roots.alpha, roots.beta, roots.rewards, chosen)
        search_ahead(*counts, after, self._discount, *_RULE, layers, q)
        return q

    def _stops(self, roots: Roots, most: int, left: float) -> FloatArray:
        """Return the worth of pulling each arm up to `most` times, to commit when better, ``[B, N]``."""
        from elsv.search._stops_kernels import search_stops

        q = np.empty(roots.alpha.shape)
        search_stops(roots.alpha, roots.beta, roots.rewards, left, self._discount, *_RULE, most, q)
        return q

    @property
    def _discount(self) -> float:
        return 1.0 if self.problem.discount is None else self.problem.discount


@dataclass(frozen=True)
class Roots:
    """States to search from, arms in decreasing order of their means."""

    alpha: FloatArray  # [B, N]
    beta: FloatArray  # [B, N]
    rewards: FloatArray  # [N]
    worth: FloatArray  # [B, N], expected rewards
