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

from elsv._typing import AnyArray, FloatArray, IntArray
from elsv.choice import best_arm
from elsv.errors import InvalidInputError
from elsv.indices.base import Index, Setting
from elsv.indices.finite_gittins import FiniteGittins
from elsv.indices.gittins import Gittins
from elsv.planning.layers import depth_within, search_layers
from elsv.planning.lookahead import check_step
from elsv.problem import Problem
from elsv.state import State
from elsv.values.commit import remaining

EFFORT = 1 << 16
MOST_CANDIDATES = 3
DEEPEST = 40  # pulls that a search looks ahead
PATIENCE = 3  # how many times as many pulls of a single arm are weighed
LONG_WAY = 5  # how many times as many pulls must be left for a search to count as stalled
MOST_FREE = 10  # independent arms that are all searched
TRUSTED = 10  # they are with at most min(d, this) times d pulls left
STALLED = 1e-6  # gain over committing at once, relative to it, that is as good as none
WORTHWHILE = 1e-3  # such a gain that makes many pulls of one arm worth it
ALIKE = 3.0  # standard deviations within which an arm may still turn out to be the best
_RULE = (12.0, 20.0)  # panels and cut of the quadrature: scores within about 1e-8 of themselves


@dataclass(frozen=True, eq=False)
class Plan:
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
    >>> int(Plan(problem)(State.initial(problem), 1))
    1
    """

    problem: Problem
    effort: int = EFFORT
    merges_equal_states = True

    def __post_init__(self) -> None:
        if isinstance(self.effort, bool) or not isinstance(self.effort, int | np.integer) or self.effort < 1:
            raise InvalidInputError(
                f"effort must be a whole number of states, at least 1, got {self.effort!r}"
            )

    def __call__(self, state: State, step: int, rng: np.random.Generator | None = None) -> IntArray:
        """Return the arm for every instance, shape ``[...]``; `rng` is not used."""
        return best_arm(self.scores(state, step, rng), self.problem.scale)

    def scores(self, state: State, step: int, rng: np.random.Generator | None = None) -> FloatArray:
        """Return what pulling each arm is worth, or reward times index, shape ``[..., N]``."""
        check_step(self.problem, step)
        if self.problem.order is None:
            return self._free(state, step)
        turn = -1 if self.problem.order == "increasing" else 1
        rows = (-1, self.problem.arms)
        alpha = np.ascontiguousarray(state.alpha.reshape(rows)[:, ::turn])
        beta = np.ascontiguousarray(state.beta.reshape(rows)[:, ::turn])
        q = self._plan(alpha, beta, np.ascontiguousarray(self.problem.rewards[::turn]), step)
        return np.ascontiguousarray(q[:, ::turn]).reshape(state.alpha.shape)

    def _free(self, state: State, step: int) -> FloatArray:
        """Return scores ``[..., N]`` of independent arms."""
        from elsv.planning._ahead_kernels import search_free

        problem, left = self.problem, remaining(self.problem, step)
        if problem.horizon is None or not searches_free(problem.arms, self.effort, round(left)):
            index: Index = Gittins() if problem.horizon is None else FiniteGittins()
            return problem.rewards * index(state.alpha, state.beta, step, Setting.of(problem))
        depth = depth_of(problem.arms, self.effort, round(left))
        q = np.empty((state.alpha.size // problem.arms, problem.arms))
        alpha, beta = (np.ascontiguousarray(counts.reshape(q.shape)) for counts in (state.alpha, state.beta))
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
        from elsv.planning._ahead_kernels import search_ahead

        q = np.empty(chosen.shape)
        after = left if self.problem.horizon is None else left - depth
        layers = search_layers(chosen.shape[1], depth)
        counts = (roots.alpha, roots.beta, roots.rewards, chosen)
        search_ahead(*counts, after, self._discount, *_RULE, layers, q)
        return q

    def _stops(self, roots: Roots, most: int, left: float) -> FloatArray:
        """Return the worth of pulling each arm up to `most` times, to commit when better, ``[B, N]``."""
        from elsv.planning._stops_kernels import search_stops

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


def undecided(worth: FloatArray, spread: FloatArray) -> AnyArray:
    """Return in which of the states ``[B]`` a search may pay.

    It may where few enough arms are there to search all, and where `ALIKE` standard deviations lift
    another arm to the best.
    """
    if worth.shape[1] <= MOST_CANDIDATES:
        return np.ones(len(worth), dtype=bool)
    hopeful = worth + ALIKE * spread >= worth.max(axis=1, keepdims=True)
    return np.asarray(hopeful.sum(axis=1) > 1)


def candidates(worth: FloatArray, stops: FloatArray, count: int) -> IntArray:
    """Return `count` arms ``[B, C]`` in their order: the best one, and those most worth many pulls."""
    score = stops.copy()
    score[np.arange(len(worth)), worth.argmax(axis=1)] = np.inf
    return np.sort(np.argsort(-score, axis=1, kind="stable")[:, :count], axis=1)


def prefer(ahead: FloatArray, stops: FloatArray, committed: FloatArray) -> FloatArray:
    """Return `stops` ``[..., N]`` where `ahead` gains nothing over `committed` ``[...]`` and it does."""
    stalled = ahead.max(axis=-1) - committed <= STALLED * committed
    worthwhile = stops.max(axis=-1) - committed > WORTHWHILE * committed
    return np.where((stalled & worthwhile)[..., None], stops, ahead)


def depth_of(arms: int, effort: int, left: int | None) -> int:
    """Return how many pulls of `arms` arms the effort looks ahead; at least 1."""
    return depth_within(arms, effort, DEEPEST if left is None else min(left, DEEPEST))


def most_stops(depth: int, left: int | None) -> int:
    """Return how many pulls of one arm are weighed besides a search of this depth."""
    return PATIENCE * depth if left is None else min(PATIENCE * depth, left)


def searches_free(arms: int, effort: int, left: int) -> bool:
    """Return whether a search of independent arms is nearer the optimum than their index.

    By exact evaluation (docs/planning.md): 3, 5, 10, 20 pulls ahead are, up to about 20, 40, 130, 300 pulls.
    """
    depth = depth_of(arms, effort, left)
    return arms <= MOST_FREE and left <= min(depth, TRUSTED) * depth


def is_long_way(depth: int, left: int | None) -> bool:
    """Return whether so many pulls are left that a search of this depth may stall."""
    return left is None or left > LONG_WAY * depth
