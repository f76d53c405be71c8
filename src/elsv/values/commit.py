r"""The worth of committing to one arm, at once or after a block of pulls (past the paper).

.. math::

    v_t(s) = (T - t + 1) \max_i r_i p_i(s), \qquad
    v_t(s) = \max_{i, k}\; k\, r_i p_i(s) + (T - t + 1 - k)\, E\bigl[\max_l r_l p_l(S_{i,k})\bigr]

with :math:`p_i(s) = E[\mu_i \mid s]` and :math:`S_{i,k}` the state after k pulls of arm i. Both are convex in
the belief, so lookahead on them sees what information is worth, which a separable value cannot express. Depth
1 on the first is the online knowledge gradient; it stalls where one pull cannot change the best arm, which
is what depth and blocks are for. Both are 0 at step T + 1, so lookahead is exact near the horizon.

With several segments of customers :math:`\max_i r_i p_i` becomes :math:`\sum_g q_g \max_{i \in A_g} r_i p_i`.
A block of k pulls of an arm of segment g takes :math:`k/q_g` customers; those of other segments get their
best arm.

With a discount the rewards from step t on count :math:`1, \gamma, \gamma^2, \dots`: 1/(1 − γ) takes the place
of T − t + 1 and :math:`(1-\gamma^k)/(1-\gamma)` that of k.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np

from elsv._base.numbers import shown
from elsv._base.typing import FloatArray
from elsv.beliefs import Belief
from elsv.beliefs.abilities import factors, log_weight
from elsv.errors import InvalidInputError
from elsv.lattice.numbering import Layer
from elsv.lattice.small import singles
from elsv.lattice.sweeps import Sweep, Sweeps
from elsv.problem import Problem
from elsv.state import State, check_width
from elsv.values.base import nothing

BLOCKS = (1, 2, 4, 8, 16)
MOST_BLOCK = 10_000
_FEW_WAYS = 60  # pulls whose binomials are whole numbers of 63 bits
_CHUNK = 1 << 17  # numbers in one array of outcomes


class _OnBelief:
    """What both values have: a problem, and a belief that is the problem's own unless given."""

    problem: Problem
    belief: Belief | None

    @cached_property
    def _belief(self) -> Belief:
        return self.problem.belief if self.belief is None else self.belief


@dataclass(frozen=True, eq=False)
class CommitValue(_OnBelief):
    """What is earned by committing now to the arm with the best expected reward.

    Parameters
    ----------
    problem
        Gives rewards, horizon or discount.
    belief
        Gives the means; default: the exact belief for the problem's order.
    """

    problem: Problem
    belief: Belief | None = None

    def __call__(self, state: State, step: int) -> FloatArray:
        """Return the value of every instance at `step`, shape ``[...]``."""
        left = remaining(self.problem, step)
        if left == 0:
            return np.zeros(state.shape)
        check_width(state, self.problem)
        worth: FloatArray = self.problem.rewards * self._belief.mean(state)
        segments = self.problem.segments
        return left * segments.expected_best(worth, segments.chances_in(state, self.problem))

    layer_reach = 1  # layers past its own that `on_layer` reads

    def on_layer(self, sweeps: Sweeps, layer: Layer, belief: Belief) -> FloatArray | None:
        """Return the values of all states of a layer, or None where the search has another belief."""
        return committed(sweeps, layer, belief) if self._belief == belief else None

    def search_sweep(self, problem: Problem, step: int, depth: int) -> Sweep | None:
        """Return the sweep that searches so many pulls ahead; None where the problem has another belief."""
        steps = singles(min(depth, problem.steps - step + 1))
        return Sweep("search", steps=steps) if self._belief == problem.belief else None


@dataclass(frozen=True, eq=False)
class BlockCommitValue(_OnBelief):
    r"""The best of pulling one arm k times and committing after that, over arms and block lengths k.

    Parameters
    ----------
    problem
        Gives rewards, horizon or discount.
    blocks
        Lengths k to try; committing at once is always among the choices.
    belief
        An exact belief; default: the one for the problem's order. With an order, the chance of j successes
        in k pulls is :math:`\binom kj W(s')/W(s)`, s' the state after them.
    """

    problem: Problem
    blocks: tuple[int, ...] = BLOCKS
    belief: Belief | None = None

    def __post_init__(self) -> None:
        lengths = tuple(sorted(set(self.blocks)))
        if not lengths or lengths[0] < 1 or any(not isinstance(k, int | np.integer) for k in lengths):
            raise InvalidInputError(f"blocks must be whole numbers of pulls, at least 1, got {self.blocks!r}")
        if lengths[-1] > MOST_BLOCK:
            raise InvalidInputError(f"blocks must be at most {MOST_BLOCK:,} pulls, got {shown(lengths[-1])}")
        object.__setattr__(self, "blocks", lengths)

    def lengths(self, left: float) -> tuple[int, ...]:
        """Return the blocks that leave a pull to commit when `left` pulls remain."""
        return tuple(k for k in self.blocks if k < left)

    def __call__(self, state: State, step: int) -> FloatArray:
        """Return the value of every instance at `step`, shape ``[...]``."""
        left = remaining(self.problem, step)
        if left == 0:
            return np.zeros(state.shape)
        check_width(state, self.problem)
        rows = State.trusted(*state.rows())
        coming = self.problem.segments.chances_in(rows, self.problem)  # [B, G]
        out = np.empty(len(rows.alpha))
        if factors(self._belief):
            from elsv.values._value_kernels import best_block

            rewards, of_arm = self.problem.rewards, self.problem.segments.of_arm
            chance, lengths = np.ascontiguousarray(coming), np.array(self.blocks, dtype=np.int64)
            discount = self.problem.discount or 1.0
            best_block(rows.alpha, rows.beta, rewards, of_arm, chance, lengths, left, discount, out)
            return out.reshape(state.shape)
        size = max(1, _CHUNK // ((self.blocks[-1] + 1) * state.arms**2))
        for first in range(0, len(out), size):
            here = slice(first, first + size)
            out[here] = self._best(rows.part(here), coming[here], left)
        return out.reshape(state.shape)

    @property
    def layer_reach(self) -> int:
        """Layers past its own that `on_layer` reads: the longest block, and one after it."""
        return max(self.blocks) + 1

    layer_rooms = 3  # arrays that `on_layer` uses at one time

    def on_layer(self, sweeps: Sweeps, layer: Layer, belief: Belief) -> FloatArray | None:
        """Return the values of all states of a layer, or None where the search has another belief.

        The expectation over the outcomes of k pulls is k sweeps that pull the arm, from the commit value of
        the layer k further on. With segments a block takes as long as its customers need to come: no layer.
        """
        if self._belief != belief or self.problem.segments.count > 1:
            return None
        best = committed(sweeps, layer, belief)
        for length in self.lengths(sweeps.horizon - layer.made):
            for arm in range(self.problem.arms):
                worth = committed(sweeps, sweeps.layer(layer.made + length), belief)
                for made in range(layer.made + length - 1, layer.made - 1, -1):
                    worth = sweeps.pull(sweeps.layer(made), worth, arm, belief)
                np.maximum(best, worth, out=best)
                sweeps.give(worth)
        return best

    def _best(self, state: State, coming: FloatArray, left: float) -> FloatArray:
        """Return the values ``[B]`` under any belief."""
        segments = self.problem.segments
        worth = self.problem.rewards * self._belief.mean(state)
        typical = segments.expected_best(worth, coming)
        best = left * typical
        for k in self.lengths(left) if self.problem.horizon is not None else self.blocks:
            after = self._after_block(state, k, coming)
            for g, arms in enumerate(segments.places):
                share, own = coming[:, g, None], worth[:, arms]
                customers = k / share
                during, later = customers, left - customers
                if self.problem.discount is not None:
                    later = left * self.problem.discount**customers
                    during = left - later
                others = typical[:, None] - share * own.max(axis=1, keepdims=True)
                block = during * (others + share * own) + later * after[:, arms]
                np.maximum(best, np.where(later > 0, block, 0.0).max(axis=1), out=best)
        return best

    def _after_block(self, state: State, length: int, coming: FloatArray) -> FloatArray:
        """Return what a customer is expected to pay after `length` pulls of each arm, ``[B, N]``."""
        wins = np.arange(length + 1)
        own = np.eye(state.arms)[:, None, :]  # [N, 1, N]
        alpha = state.alpha[:, None, None, :] + own * wins[:, None]
        beta = state.beta[:, None, None, :] + own * (length - wins)[:, None]
        outcomes = State.trusted(alpha, beta)  # [B, N, length + 1, N]
        weight = log_weight(self._belief, outcomes) + _log_ways(length)
        chance = np.exp(weight - weight.max(axis=-1, keepdims=True))
        chance /= chance.sum(axis=-1, keepdims=True)
        worth = self.problem.rewards * self._belief.mean(outcomes)
        best = self.problem.segments.expected_best(worth, coming[:, None, None])
        return np.asarray((chance * best).sum(axis=-1))


def _log_ways(pulls: int) -> FloatArray:
    r"""Return :math:`\log\binom{k}{j}` for j = 0 … k pulls that succeed."""
    if pulls <= _FEW_WAYS:
        return np.log([comb(pulls, j) for j in range(pulls + 1)])
    from scipy.special import gammaln

    wins = np.arange(pulls + 1)
    return np.asarray(gammaln(pulls + 1) - gammaln(wins + 1) - gammaln(pulls - wins + 1))


def committed(sweeps: Sweeps, layer: Layer, belief: Belief) -> FloatArray:
    """Return what is earned by committing now in every state; nothing once the horizon is reached."""
    left = sweeps.horizon - layer.made
    return sweeps.best_reward(layer, float(left), belief) if left > 0 else nothing(sweeps, layer)


def remaining(problem: Problem, step: int) -> float:
    """Return how many rewards are to come at `step`, discounted if the problem is."""
    if problem.horizon is None:
        return 1.0 / (1.0 - float(problem.discount or 0.0))
    if not 1 <= step <= problem.horizon + 1:
        raise InvalidInputError(f"step must lie from 1 to the horizon {problem.horizon} + 1, got {step}")
    return float(problem.horizon - step + 1)
