r"""`Plan`, the default policy: within about one per cent of the Bayes optimum (past the paper).

Without an order the finite-horizon Gittins index decides (the Gittins index, for a discount). With an order
it searches d pulls ahead among a few candidate arms and commits at the frontier,

.. math:: V(s) = \max_i\; p_i(s) \bigl(r_i + V(s{+}\text{success}_i)\bigr)
    + (1 - p_i(s))\, V(s{+}\text{failure}_i), \qquad V(\text{frontier}) = R \max_l r_l\, p_l,

with R the pulls left. Few pulls may change nothing where many would, so it also weighs pulling one arm for a
long time, to commit as soon as that is better. Both are worths of policies that can be followed, so lower
bounds on the best one; the second is used where it gains clearly more over committing at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from elsv._typing import FloatArray, IntArray
from elsv.choice import best_arm
from elsv.errors import InvalidInputError
from elsv.indices.base import Index, Setting
from elsv.indices.finite_gittins import FiniteGittins
from elsv.indices.gittins import Gittins
from elsv.planning.lookahead import check_step
from elsv.planning.tree import make_tree
from elsv.problem import Problem
from elsv.state import State
from elsv.values.commit import remaining

EFFORT = 512
MOST_CANDIDATES = 3
DEEPEST = 30  # pulls that a search of all candidates looks ahead
ALIKE = 3.0  # standard deviations within which an arm may still turn out to be the best
CLEARLY = 2.0  # how many times the gain of a search that of pulling one arm must be to be preferred
NOTHING = 1e-6  # gain, relative to committing at once, that the quadrature cannot tell from none
_RULE = (16.0, 17.0)  # panels and cut of the quadrature: means within about 1e-6 (`elsv.beliefs.chain`)


@dataclass(frozen=True, eq=False)
class Plan:
    """The finite-horizon Gittins index without an order; search with one.

    Parameters
    ----------
    problem
        Gives rewards, order, horizon or discount.
    effort
        Most frontier states for one decision. Results depend on it and on nothing like the time taken.

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
        return best_arm(self.scores(state, step, rng))

    def scores(self, state: State, step: int, rng: np.random.Generator | None = None) -> FloatArray:
        """Return what pulling each arm is worth, or its index without an order, shape ``[..., N]``."""
        check_step(self.problem, step)
        if self.problem.order is None:
            index: Index = Gittins() if self.problem.horizon is None else FiniteGittins()
            return self.problem.rewards * index(state.alpha, state.beta, step, Setting.of(self.problem))
        turn = -1 if self.problem.order == "increasing" else 1
        rows = (-1, self.problem.arms)
        alpha = np.ascontiguousarray(state.alpha.reshape(rows)[:, ::turn])
        beta = np.ascontiguousarray(state.beta.reshape(rows)[:, ::turn])
        q = self._search(alpha, beta, np.ascontiguousarray(self.problem.rewards[::turn]), step)
        return np.ascontiguousarray(q[:, ::turn]).reshape(state.alpha.shape)

    def _search(self, alpha: FloatArray, beta: FloatArray, rewards: FloatArray, step: int) -> FloatArray:
        """Return q ``[B, N]`` for arms whose means decrease."""
        from elsv.beliefs._chain_kernels import batch_moments

        mean, variance, unused = np.empty_like(alpha), np.empty_like(alpha), np.empty(len(alpha))
        batch_moments(alpha, beta, *_RULE, mean, variance, unused)
        worth = rewards * mean
        left = remaining(self.problem, step)
        # A pull from which nothing is learnt: the search can only find more.
        later = left - 1 if self.problem.discount is None else left * self.problem.discount
        q: FloatArray = worth + later * worth.max(axis=1, keepdims=True)
        order, number = candidates(worth, rewards * np.sqrt(variance))
        for size in range(min(2, self.problem.arms), min(MOST_CANDIDATES, self.problem.arms) + 1):
            here = np.flatnonzero(number == size)
            if len(here):
                chosen = np.sort(order[here, :size], axis=1)
                roots = Roots(alpha[here], beta[here], rewards, chosen, left * worth[here].max(axis=1))
                q[here[:, None], chosen] = self._search_among(roots, left)
        return q

    def _search_among(self, roots: Roots, left: float) -> FloatArray:
        """Return q of the candidates ``[B, C]``, pulling no others before committing."""
        from elsv.planning._plan_kernels import search_ahead, search_stops

        arms = roots.chosen.shape[1]
        finite = self.problem.horizon is not None
        pulls = round(left) if finite else None
        discount = 1.0 if self.problem.discount is None else self.problem.discount
        depth = depth_of(arms, self.effort, pulls)
        tree = make_tree(arms, depth)
        ahead, stops = np.empty(roots.chosen.shape), np.empty(roots.chosen.shape)
        counts = (roots.alpha, roots.beta, roots.rewards, roots.chosen)
        after = left - depth if finite else left
        search_ahead(*counts, after, discount, *_RULE, tree.successes, tree.failures, tree.successors, ahead)
        if depth == pulls:
            return ahead
        search_stops(*counts, left, discount, *_RULE, most_stops(arms, self.effort, pulls), stops)
        return prefer(ahead, stops, roots.committed)


@dataclass(frozen=True)
class Roots:
    """States to search from, arms in decreasing order of their means, and the arms to search among."""

    alpha: FloatArray  # [B, N]
    beta: FloatArray  # [B, N]
    rewards: FloatArray  # [N]
    chosen: IntArray  # [B, C]
    committed: FloatArray  # [B], what committing at once is worth


def prefer(ahead: FloatArray, stops: FloatArray, committed: FloatArray) -> FloatArray:
    """Return `stops` ``[..., C]`` where it gains clearly more over `committed` ``[...]``, else `ahead`."""
    gain = np.maximum(ahead.max(axis=-1) - committed, NOTHING * committed)
    better = stops.max(axis=-1) - committed > CLEARLY * gain
    return np.where(better[..., None], stops, ahead)


def candidates(worth: FloatArray, spread: FloatArray) -> tuple[IntArray, IntArray]:
    """Return arms in the order of how well they may do ``[B, N]``, and how many to search ``[B]``.

    The best one comes first, then by expected reward plus one standard deviation. With up to
    `MOST_CANDIDATES` arms all are searched; else those that `ALIKE` standard deviations lift to the best.
    """
    rows, arms = worth.shape
    best = worth.argmax(axis=1)
    hope = worth + spread
    hope[np.arange(rows), best] = np.inf
    order = np.argsort(-hope, axis=1, kind="stable")
    if arms <= MOST_CANDIDATES:
        return order, np.full(rows, arms)
    alike = (worth + ALIKE * spread >= worth.max(axis=1, keepdims=True)).sum(axis=1)
    return order, np.minimum(alike, MOST_CANDIDATES)


def depth_of(arms: int, effort: int, left: int | None) -> int:
    """Return how many pulls of `arms` arms half of the effort looks ahead, in frontier states; at least 1."""
    most = DEEPEST if left is None else min(left, DEEPEST)
    depth = 1
    while depth < most and 2 * comb(depth + 2 * arms, 2 * arms - 1) <= effort:
        depth += 1
    return depth


def most_stops(arms: int, effort: int, left: int | None) -> int:
    """Return how many pulls of one arm a quarter of the effort, shared by the arms, allows; at least 1."""
    most = max(1, effort // (4 * arms) - 1)
    return most if left is None else min(most, left)
