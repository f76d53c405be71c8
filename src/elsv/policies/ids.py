r"""Information-directed sampling: what a pull loses, squared, for what it tells of the best arm.

D. Russo and B. Van Roy, *Learning to optimize via information-directed sampling*, Advances in Neural
Information Processing Systems 27 (2014) and Operations Research 66 (2018), in their variance form.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from elsv._base.typing import FloatArray, IntArray
from elsv.beliefs import Belief
from elsv.beliefs.points import check_count, joint_points
from elsv.choice import best_arm
from elsv.policies.base import BasePolicy
from elsv.policies.layers import OnLayers
from elsv.policies.mixing import ByChances, chances_once, drawn
from elsv.policies.offered import Segment, chances_offered, within_segments
from elsv.problem import Problem
from elsv.state import State, check_width

POINTS = 512
_CHUNK = 1 << 16  # numbers in one array of points
_NO_LOSS = 1e-12  # of the largest reward; below is rounding
_NO_NEWS = _NO_LOSS**2
_NOTHING_SHOWN = 1e15


@dataclass(frozen=True, eq=False)
class InformationDirected(BasePolicy):
    r"""Pull one of two arms, with the chances that make the information ratio least.

    .. math:: \Psi(\pi) = \frac{\bigl(\sum_i \pi_i\, (E[\max_j r_j\mu_j] - r_i p_i)\bigr)^2}
        {\sum_i \pi_i\, \mathrm{Var}_{a^*}\bigl(E[r_i\mu_i \mid a^*]\bigr)}, \qquad
        a^* = \arg\max_j r_j\mu_j.

    Some mixture of two arms is always among the best. With segments everything is about the arms on offer:
    :math:`a^*` is the best one for who has come. All expectations are sums over joint points of the
    belief, so that any structure counts: what a pull of one arm tells of the others is in the variance.

    Parameters
    ----------
    problem
        Gives the rewards.
    belief
        What is known of the means.
    points
        How many joint points are asked for.
    """

    problem: Problem
    belief: Belief
    points: int = POINTS

    def __post_init__(self) -> None:
        check_count(self.points)

    def __call__(
        self, state: State, step: int, rng: np.random.Generator, segment: Segment = None
    ) -> IntArray:
        """Return an arm for every instance, drawn with its chances."""
        check_width(state, self.problem)
        return drawn(chances_offered(self.problem, chances_once(self, state, step), segment), rng)

    def chances(self, state: State, step: int) -> FloatArray:
        """Return the probability of each arm, ``[..., N]``; two of a segment at most have one above zero."""
        check_width(state, self.problem)
        alpha, beta = state.rows()
        out = np.empty(alpha.shape)
        size = max(1, _CHUNK // (self.points * state.arms))
        for first in range(0, len(alpha), size):
            here = slice(first, first + size)
            theta, weight = joint_points(self.belief, State.trusted(alpha[here], beta[here]), self.points)
            worth = theta * (self.problem.rewards / self.problem.scale)

            def chosen(arms: list[int], worth: FloatArray = worth, weight: FloatArray = weight) -> FloatArray:
                return least_ratio(*losses_and_news(worth[..., arms], weight))

            out[here] = within_segments(self.problem.segments, state.arms, chosen)
        return out.reshape(state.alpha.shape)

    def on_layers(self, problem: Problem) -> OnLayers:
        """Return each arm with its chance."""
        return ByChances(self)


def losses_and_news(worth: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""Return what a pull is expected to lose, and the variance of what it shows of the best arm, ``[B, N]``.

    Parameters
    ----------
    worth
        Joint points of :math:`r_i\mu_i`, ``[B, M, N]``.
    weight
        Of the points, ``[B, M]``.
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
    ratio = np.where(between | (one == other), _ratio(a + b * q, c + d * q), np.inf)
    at = best_arm(-ratio)
    rows = np.arange(len(loss))
    chances = np.zeros(loss.shape)
    chances[rows, one[at]] = q[rows, at]
    chances[rows, other[at]] += 1.0 - q[rows, at]
    return chances


def _ratio(loss: FloatArray, news: FloatArray) -> FloatArray:
    """Return the squared loss over what is shown; where nothing is, a number that is large as the loss is."""
    some = np.where(news > 0, news, 1.0)
    return np.where(news > 0, loss**2 / some, _NOTHING_SHOWN * loss)


@lru_cache(maxsize=16)
def _pairs(arms: int) -> tuple[IntArray, IntArray]:
    """Return every arm with itself, then every pair of arms, the lower number first."""
    first, second = np.triu_indices(arms, 1)
    alone = np.arange(arms)
    return np.concatenate([alone, first]), np.concatenate([alone, second])
