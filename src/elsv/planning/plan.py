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
from typing import Any

import numpy as np

from elsv._typing import AnyArray, FloatArray, IntArray
from elsv.beliefs import Belief, belief_of
from elsv.beliefs.points import check_count, joint_points
from elsv.choice import best_arm
from elsv.errors import InvalidInputError
from elsv.indices.base import Index, Setting
from elsv.indices.finite_gittins import FiniteGittins
from elsv.indices.gittins import Gittins
from elsv.planning.layers import depth_within, search_layers
from elsv.planning.lookahead import check_step
from elsv.planning.points_search import PointsSearch
from elsv.problem import Problem
from elsv.state import State
from elsv.values.commit import remaining

EFFORT = 1 << 16
POINTS = 768
MOST_CANDIDATES = 3
DEEPEST = 40  # pulls that a search looks ahead
PATIENCE = 3  # how many times as many pulls of a single arm are weighed
LONG_WAY = 5  # how many times as many pulls must be left for a search to count as stalled
MOST_FREE = 10  # independent arms that are all searched
TRUSTED = 10  # they are with at most min(d, this) times d pulls left
STALLED = 1e-6  # gain over committing at once, relative to it, that is as good as none
WORTHWHILE = 1e-3  # such a gain that makes many pulls of one arm worth it
ALIKE = 3.0  # standard deviations within which an arm may still turn out to be the best


@dataclass(frozen=True, eq=False)
class Plan:
    """Search d pulls ahead; without an order, the Gittins index where the search is too short.

    Parameters
    ----------
    problem
        Gives rewards, order, horizon or discount.
    effort
        Most states that a search expands. Results depend on it and on nothing like the time taken.
    points
        How many joint points of the belief a search adds up.
    belief
        What is known of the means; default: the exact belief for the problem's order. Any belief will do:
        the search needs its means and points (`elsv.beliefs.points`).

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
    merges_equal_states = True

    def __post_init__(self) -> None:
        check_count(self.points)
        if isinstance(self.effort, bool) or not isinstance(self.effort, int | np.integer) or self.effort < 1:
            raise InvalidInputError(
                f"effort must be a whole number of states, at least 1, got {self.effort!r}"
            )

    def __call__(self, state: State, step: int, rng: np.random.Generator | None = None) -> IntArray:
        """Return the arm for every instance, shape ``[...]``; `rng` is not used."""
        return best_arm(self.scores(state, step, rng))

    def scores(self, state: State, step: int, rng: np.random.Generator | None = None) -> FloatArray:
        """Return what pulling each arm is worth, or reward times index, shape ``[..., N]``."""
        check_step(self.problem, step)
        if self.belief is None and self.problem.order is None:
            return self._free(state, step)
        rows = (-1, self.problem.arms)
        roots = State.trusted(*(np.ascontiguousarray(c.reshape(rows)) for c in (state.alpha, state.beta)))
        return self._plan(roots, step, rng).reshape(state.alpha.shape)

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

    def _plan(self, state: State, step: int, rng: np.random.Generator | None) -> FloatArray:
        """Return q ``[B, N]`` by searches on points of the belief."""
        problem, left = self.problem, remaining(self.problem, step)
        belief = belief_of(problem) if self.belief is None else self.belief
        few = problem.arms <= MOST_CANDIDATES
        mean, variance = (belief.mean(state, rng), None) if few else moments(belief, state, rng)
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
        depth = depth_of(count, self.effort, pulls)
        chosen: IntArray = np.broadcast_to(np.arange(arms), q.shape)
        long_way = is_long_way(depth, pulls)
        if arms == count and not long_way:
            return search.ahead(roots, worth, chosen, depth, left)
        stops = search.stops(roots, worth, most_stops(depth, pulls), left)
        if arms > count:
            chosen = candidates(worth, stops, count)
        q = q.copy()
        np.put_along_axis(q, chosen, search.ahead(roots, worth, chosen, depth, left), axis=1)
        return prefer(q, stops, left * worth.max(axis=1)) if long_way else q


def undecided(worth: FloatArray, spread: FloatArray) -> AnyArray:
    """Return in which of the states ``[B]`` `ALIKE` standard deviations lift another arm to the best."""
    hopeful = worth + ALIKE * spread >= worth.max(axis=1, keepdims=True)
    return np.asarray(hopeful.sum(axis=1) > 1)


def moments(belief: Belief, state: State, rng: np.random.Generator | None) -> tuple[FloatArray, FloatArray]:
    """Return means and variances ``[B, N]``; the variances from the belief's points if it has none."""
    both: Any = getattr(belief, "mean_and_variance", None)
    if both is not None:
        mean, variance = both(state)
        return mean, variance
    mean = belief.mean(state, rng)
    own: Any = getattr(belief, "variance", None)
    if own is not None:
        return mean, own(state)
    theta, weight = joint_points(belief, state, POINTS)
    return mean, np.einsum("...m,...mi->...i", weight, (theta - mean[..., None, :]) ** 2)


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
