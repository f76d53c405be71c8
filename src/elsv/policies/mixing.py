r"""Policies that draw their arm with chances that they can tell.

`InformationDirected` weighs what a pull loses, squared, against what it tells of the best arm: D. Russo and
B. Van Roy, *Learning to optimize via information-directed sampling*, Advances in Neural Information
Processing Systems 27 (2014) and Operations Research 66 (2018), in their variance form.

`TopTwo` pulls the arm that is best in a draw, or a challenger from draws where another one is: D. Russo,
*Simple Bayesian algorithms for best arm identification*, Conference on Learning Theory (2016) and Operations
Research 68 (2020).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from elsv._base.inheritance import still_holds
from elsv._base.numbers import shown
from elsv._base.typing import FloatArray, IntArray, Rng
from elsv.beliefs import Belief
from elsv.beliefs.abilities import best_in_groups
from elsv.beliefs.points import check_count, joint_points
from elsv.choice import best_arm
from elsv.errors import InvalidInputError
from elsv.policies.base import (
    BasePolicy,
    Segment,
    best_offered,
    distinct_states,
    offered,
    within_segments,
)
from elsv.policies.layers import ByChance, LayerPolicy, by_chances
from elsv.problem import Problem
from elsv.state import State, check_width

POINTS = 512
_CHUNK = 1 << 16  # numbers in one array of points
_NO_LOSS = 1e-12  # of the largest reward; below is rounding
_NO_NEWS = _NO_LOSS**2
_NOTHING_TOLD = 1e15
BETA = 0.5
_ROUNDS = (1, 4, 16, 64, 256)  # draws in which a challenger is looked for, round by round
_MOST = sum(_ROUNDS)


def drawn(chances: FloatArray, rng: Rng) -> IntArray:
    """Return an arm for each instance, drawn with these chances ``[..., N]``."""
    below = np.cumsum(chances, axis=-1)
    mark = rng.random(chances.shape[:-1])[..., None] * below[..., -1:]
    arm = (below <= mark).sum(axis=-1)
    return np.asarray(np.minimum(arm, chances.shape[-1] - 1), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class InformationDirected(BasePolicy):
    r"""Pull one of two arms, with the chances that make the information ratio least.

    .. math:: \Psi(\pi) = \frac{\bigl(\sum_i \pi_i\, (E[\max_j r_j\mu_j] - r_i p_i)\bigr)^2}
        {\sum_i \pi_i\, \mathrm{Var}_{a^*}\bigl(E[r_i\mu_i \mid a^*]\bigr)}, \qquad
        a^* = \arg\max_j r_j\mu_j.

    Some mixture of two arms is always among the best. With segments everything is about the arms on offer:
    :math:`a^*` is the best one for who has come. All expectations are sums over joint points of the
    belief, so that any structure counts: what a pull of one arm tells of the others is in the variance.
    """

    problem: Problem
    belief: Belief
    points: int = POINTS  # how many joint points are asked for

    def __post_init__(self) -> None:
        check_count(self.points)

    def __call__(self, state: State, step: int, rng: Rng, segment: Segment = None) -> IntArray:
        """Return an arm for every instance, drawn with its chances."""
        check_width(state, self.problem)
        distinct, place = distinct_states(state)
        chances = self.chances(distinct, step)[place].reshape(state.alpha.shape)
        if (mask := offered(self.problem, segment, state.shape)) is not None:
            own = np.where(mask, chances, 0.0)
            chances = own / own.sum(axis=-1, keepdims=True)
        return drawn(chances, rng)

    def chances(self, state: State, step: int) -> FloatArray:
        """Return the probability of each arm, ``[..., N]``; two of a segment at most have one above zero."""
        check_width(state, self.problem)
        alpha, beta = state.rows()
        out = np.empty(alpha.shape)
        size = max(1, _CHUNK // (self.points * state.arms))
        for first in range(0, len(alpha), size):
            here = slice(first, first + size)
            out[here] = self._least(State.trusted(alpha[here], beta[here]))
        return out.reshape(state.alpha.shape)

    def _least(self, state: State) -> FloatArray:
        theta, weight = joint_points(self.belief, state, self.points)
        worth = theta * (self.problem.rewards / self.problem.scale)
        return within_segments(
            self.problem.segments, lambda own: least_ratio(*losses_and_news(worth[..., own], weight))
        )

    on_layers = by_chances


def losses_and_news(worth: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""Return what a pull is expected to lose, and the variance of what it shows of the best arm, ``[B, N]``.

    `worth` ``[B, M, N]`` are joint points of :math:`r_i\mu_i`, of `weight` ``[B, M]``.
    """
    share = weight / weight.sum(axis=1, keepdims=True)
    best = worth.argmax(axis=2)
    first = (best[:, :, None] == np.arange(worth.shape[2])) * share[:, :, None]  # [B, M, a*]
    chance = first.sum(axis=1)  # [B, a*]
    sums = np.swapaxes(first, 1, 2) @ worth  # [B, a*, N]
    mean = sums.sum(axis=1)
    largest = np.diagonal(sums, axis1=1, axis2=2).sum(axis=1)
    given = sums / np.where(chance > 0, chance, 1.0)[:, :, None]
    news = (chance[:, :, None] * (given - mean[:, None]) ** 2).sum(axis=1)
    loss = largest[:, None] - mean
    return np.where(loss > _NO_LOSS, loss, 0.0), np.where(news > _NO_NEWS, news, 0.0)


def least_ratio(loss: FloatArray, news: FloatArray) -> FloatArray:
    """Return the chances ``[B, N]`` of two arms at most with the least ratio; ties: the first pair.

    The ratio is 0 where nothing is lost. Single arms come before pairs, which tie with them at their ends.
    """
    one, other = _pairs(loss.shape[1])
    a, b = loss[:, other], loss[:, one] - loss[:, other]
    c, d = news[:, other], news[:, one] - news[:, other]
    # (a + b q)²/(c + d q) in q, the chance of the first arm: convex, and flat at one place at most.
    with np.errstate(divide="ignore", invalid="ignore"):
        flat = a / b - 2 * c / d
    between = (flat > 0) & (flat < 1)
    q = np.where(between, flat, 1.0)
    lost, told = a + b * q, c + d * q
    # Where nothing is told the ratio is a number that is large as the loss is.
    ratio = np.where(told > 0, lost**2 / np.where(told > 0, told, 1.0), _NOTHING_TOLD * lost)
    ratio = np.where(between | (one == other), ratio, np.inf)
    at = best_arm(-ratio)
    rows = np.arange(len(loss))
    chances = np.zeros(loss.shape)
    chances[rows, one[at]] = q[rows, at]
    chances[rows, other[at]] += 1.0 - q[rows, at]
    return chances


@lru_cache(maxsize=16)
def _pairs(arms: int) -> IntArray:
    """Return every arm with itself, then every pair of arms, the lower number first: ``[2, pairs]``."""
    alone = np.arange(arms)
    return np.hstack([(alone, alone), np.triu_indices(arms, 1)])


@dataclass(frozen=True, eq=False)
class TopTwo(BasePolicy):
    r"""Pull the best arm of a draw with probability `beta`, else draw again until another arm is the best.

    After K = 341 draws in which none was, the first arm is pulled after all. With :math:`P_i` the probability
    that arm i is best,

    .. math:: \pi_j = P_j \Bigl(\beta + (1-\beta) \bigl(P_j^K
        + \sum_{i \ne j} P_i \frac{1 - P_i^K}{1 - P_i}\bigr)\Bigr).

    Made to find the best arm, it explores more than Thompson sampling does, which is `beta` = 1.
    """

    problem: Problem
    belief: Belief
    beta: float = BETA

    def __post_init__(self) -> None:
        if not 0 < self.beta <= 1:
            raise InvalidInputError(
                f"beta of top-two must lie above 0 and be at most 1, got {shown(self.beta)}; try 0.5"
            )

    def __call__(self, state: State, step: int, rng: Rng, segment: Segment = None) -> IntArray:
        """Return an arm for every instance."""
        check_width(state, self.problem)
        rows = State.trusted(*state.rows())
        who = None if segment is None else np.broadcast_to(np.asarray(segment), state.shape).reshape(-1)
        arm = self._best_of_draw(rows, who, rng)
        waiting = np.flatnonzero(rng.random(len(arm)) >= self.beta)
        for count in _ROUNDS:
            if len(waiting) == 0:
                break
            again = np.repeat(waiting, count)
            came = None if who is None else who[again]
            drawn = self._best_of_draw(rows.part(again), came, rng).reshape(-1, count)
            differs = drawn != arm[waiting, None]
            found, place = differs.any(axis=1), differs.argmax(axis=1)
            arm[waiting[found]] = drawn[found, place[found]]
            waiting = waiting[~found]
        return arm.reshape(state.shape)

    def chances(self, state: State, step: int) -> FloatArray:
        """Return the probability of each arm, ``[..., N]``."""
        groups = self.problem.segments.groups
        return self._challenged(best_in_groups(self.belief, state, self.problem.rewards, groups)[0])

    def _challenged(self, best: FloatArray) -> FloatArray:
        return within_segments(self.problem.segments, lambda own: top_two(best[..., own], self.beta))

    def on_layers(self, problem: Problem) -> LayerPolicy:
        """Return each arm with its chance, from the chances that the arms are best."""
        if not still_holds(self.belief, "log_weight", "mean", "draw"):
            return super().on_layers(problem)
        return ByChance(self.belief, self._challenged)

    def _best_of_draw(self, state: State, segment: Segment, rng: Rng) -> IntArray:
        worth = self.problem.rewards * self.belief.draw(state, rng)
        return best_offered(self.problem, worth, segment, "draws of top-two")


def top_two(best_chance: FloatArray, beta: float) -> FloatArray:
    """Return the probability ``[..., N]`` of each arm from those that it is best."""
    chance = np.clip(best_chance, 0.0, 1.0)
    challenged = chance * np.where(chance < 1 - 1e-12, (1 - chance**_MOST) / (1 - chance + 1e-300), _MOST)
    others = challenged @ (1.0 - np.eye(chance.shape[-1]))
    pulls = chance * (beta + (1.0 - beta) * (chance**_MOST + others))
    return np.asarray(pulls / pulls.sum(axis=-1, keepdims=True))
