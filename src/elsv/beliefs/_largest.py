r"""Which arm is best, and how good it is: integrals over the largest :math:`v = \max_i r_i\mu_i`.

With :math:`G(c_1, \dots, c_N)` the probability that every :math:`\mu_j \le c_j`, arm i is best at v with
density :math:`\partial G/\partial c_i / r_i` at :math:`c_j = v/r_j`. The range of v is cut where an arm may
have a mean near 1, and up to a cut at the reward h it is followed in :math:`u = \mathrm{logit}(v/h)`: there
h - v does not cancel, and whatever power of the distance an arm begins or ends with is smooth. On a panel of
u the densities of all arms together must come to what G grows by. Panels are halved until they do, and what
is left of the difference is the error. (Arms could err in opposite directions, so the last Legendre
coefficients of every arm must be small too.)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from elsv._typing import AnyArray, FloatArray
from elsv.beliefs._largest_kernels import collect, spread
from elsv.beliefs._largest_panels_kernels import NEAR_ONE, contend, lay_panels
from elsv.errors import InvalidInputError

_MIDDLE = np.zeros(1)
_SMOOTH = 4.0  # powers of a distance that a rule takes for smooth
_ROUNDS = 60
_PATIENCE = 6  # rounds without progress
_USELESS = 0.01  # error of a probability that is refused
_MOST_PANELS = 4000
_ROOM = 256  # panels to begin with that there is room for at first

# From logits of v/r_j [V, C] and a number D: G [V], and in the first D its derivatives by the logits [D, C].
Evaluate = Callable[[FloatArray, int], tuple[FloatArray, FloatArray]]


class Largest(NamedTuple):
    """What is known of the largest reward."""

    chance: FloatArray  # [C], that an arm is the best one
    mean: float  # E[max]
    error: float  # of a chance, and of the mean as a share of the largest reward


class _Rule(NamedTuple):
    """Gauss–Legendre nodes on a panel."""

    nodes: FloatArray  # [K]
    weights: FloatArray  # [K]
    last: FloatArray  # [2, K], the last two Legendre coefficients of what the nodes show


@cache
def _rule(points: int) -> _Rule:
    nodes, weights = legendre.leggauss(points)
    basis = (np.arange(points) + 0.5)[:, None] * legendre.legvander(nodes, points - 1).T * weights
    return _Rule(nodes, weights, basis[-2:])


class _Spans(NamedTuple):
    """Panels of u."""

    left: FloatArray  # [P]
    right: FloatArray  # [P]
    reward: FloatArray  # [P], h
    before: FloatArray  # [P], G at the left end
    after: FloatArray  # [P], G at the right end
    straight: AnyArray  # [P], true where nodes are placed in v and not in u

    def only(self, chosen: AnyArray) -> _Spans:
        """Return some of the panels."""
        return _Spans(*(column[chosen] for column in self))

    def halves(self, middle: FloatArray, between: FloatArray) -> _Spans:
        """Return the panels on both sides of `middle`, where G is `between`."""
        return _Spans(
            np.concatenate([self.left, middle]),
            np.concatenate([middle, self.right]),
            np.tile(self.reward, 2),
            np.concatenate([self.before, between]),
            np.concatenate([between, self.after]),
            np.tile(self.straight, 2),
        )


class _Panels(NamedTuple):
    """Panels of u and what they add."""

    spans: _Spans
    chance: FloatArray  # [P, C]
    worth: FloatArray  # [P], integral of v
    error: FloatArray  # [P]

    def with_finer(self, kept: AnyArray, finer: _Panels) -> _Panels:
        """Return the panels that are kept, and others."""
        spans = zip(self.spans, finer.spans, strict=True)
        return _Panels(
            _Spans(*(np.concatenate([mine[kept], other]) for mine, other in spans)),
            *(np.concatenate([mine[kept], other]) for mine, other in zip(self[1:], finer[1:], strict=True)),
        )


class Contenders:
    """Arms that can be best, and the way from the largest reward to their means.

    Parameters
    ----------
    rewards
        Of the arms, ``[C]``.
    low, high
        Logits between which nearly all of an arm's probability lies, ``[C]``.
    power
        Near a mean of 1 an arm's density is like 1 - x to this power, less one, ``[C]``.
    """

    def __init__(self, rewards: FloatArray, low: FloatArray, high: FloatArray, power: FloatArray) -> None:
        self.arms, self.unit = len(rewards), float(rewards.max())
        rewards, alive = rewards / self.unit, np.empty(len(rewards), np.int64)
        count, floor, self.top = contend(rewards, low, high, alive)
        self.floor = (float(rewards[floor]), float(low[floor]))
        self.alive = alive[:count]
        self.rewards, self.low, self.high = rewards[self.alive], low[self.alive], high[self.alive]
        self.cut = (self.high > NEAR_ONE) & (self.rewards < self.top)
        self.rough = ((power != np.rint(power)) & (power < _SMOOTH))[self.alive]

    def largest(self, evaluate: Evaluate, tolerance: float, noise: float) -> Largest:
        """Integrate over the largest reward.

        Parameters
        ----------
        evaluate
            G and its derivatives for the arms that are `alive`.
        tolerance
            Error that is aimed for.
        noise
            Rounding error of G, below which nothing is refined.
        """
        # Where digits count, another two of them cost little.
        rule, tolerance = (_rule(6), tolerance) if tolerance > 1e-6 else (_rule(10), 0.01 * tolerance)
        spans = self._first_spans(evaluate)
        panels = self._integrate(
            spans.only(_beyond(spans.after - spans.before, 0.05 * tolerance)), evaluate, rule
        )
        stalled = 0
        for _ in range(_ROUNDS):
            before = panels.error.sum()
            if before <= 0.8 * tolerance or len(panels.error) > _MOST_PANELS:
                break
            coarse = _beyond(panels.error, 0.4 * tolerance) & (panels.error > noise)
            if not coarse.any():
                break
            panels = panels.with_finer(~coarse, self._halves(panels.spans.only(coarse), evaluate, rule))
            stalled = stalled + 1 if panels.error.sum() > 0.99 * before else 0
            if stalled == _PATIENCE:
                break
        mass = panels.chance.sum()
        error = float(panels.error.sum() + abs(1 - mass) + noise)
        refuse(error)
        chance = np.zeros(self.arms)
        chance[self.alive] = np.minimum(panels.chance.sum(axis=0) / mass, 1.0)
        return Largest(chance, self.unit * float(panels.worth.sum() / mass), error)

    def _first_spans(self, evaluate: Evaluate) -> _Spans:
        """Return the panels to begin with."""
        room = _ROOM
        while True:
            panels = np.empty((4, room))
            count = lay_panels(
                self.rewards, self.low, self.high, self.cut, self.rough, *self.floor, self.top, panels
            )
            if count < room:
                break
            room = count + 1
        if not count:
            refuse(1.0)
        left, right, reward = panels[0, :count], panels[1, :count], panels[2, :count]
        # A panel begins where the one before it ends, if in another u.
        below = self._below(panels[0, : count + 1], panels[2, : count + 1], evaluate)
        return _Spans(left, right, reward, below[:-1], below[1:], panels[3, :count] > 0)

    def _below(self, u: FloatArray, reward: FloatArray, evaluate: Evaluate) -> FloatArray:
        """Return G."""
        limit = spread(u, u, reward, np.zeros(len(u), bool), _MIDDLE, self.rewards, self.cut)[1]
        return evaluate(limit, 0)[0]

    def _integrate(self, spans: _Spans, evaluate: Evaluate, rule: _Rule) -> _Panels:
        """Integrate over panels."""
        left, right, reward, before, after, straight = spans
        v, limit, rate = spread(left, right, reward, straight, rule.nodes, self.rewards, self.cut)
        density = evaluate(limit, len(v))[1]
        return _Panels(
            spans, *collect(density, rate, v, np.maximum(after - before, 0.0), rule.weights, rule.last)
        )

    def _halves(self, spans: _Spans, evaluate: Evaluate, rule: _Rule) -> _Panels:
        """Integrate over both halves of every panel."""
        left, right, reward, _, _, straight = spans
        # With a reward of 1 alone the logit is u itself.
        middle = spread(left, right, np.ones(len(left)), straight, _MIDDLE, np.ones(1), np.ones(1, bool))[1][
            :, 0
        ]
        return self._integrate(spans.halves(middle, self._below(middle, reward, evaluate)), evaluate, rule)


def best_of_states(
    alpha: FloatArray,
    beta: FloatArray,
    rewards: FloatArray,
    best_of: Callable[[FloatArray, FloatArray, FloatArray], Largest],
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return P(arm is best) ``[B, N]``, E[max] and the error ``[B]``, one state after another."""
    found = [best_of(a, b, rewards) for a, b in zip(alpha, beta, strict=True)]
    chance = np.array([one.chance for one in found]).reshape(alpha.shape)
    return chance, np.array([one.mean for one in found]), np.array([one.error for one in found])


def refuse(error: float) -> None:
    """Raise if an error of this size makes the answer useless."""
    if not error < _USELESS:
        raise InvalidInputError(
            f"P(best) can only be computed to ±{error:.1g} for these counts; "
            "scale counts above 1e12 down, and those below 1e-12 up"
        )


def _beyond(values: FloatArray, budget: float) -> AnyArray:
    """Return which `values` remain when the smallest are left out that come to `budget` together."""
    rank = values.argsort()
    beyond = np.empty(len(rank), bool)
    beyond[rank] = values[rank].cumsum() > budget
    return beyond


def expit(u: FloatArray) -> FloatArray:
    """Return 1/(1 + exp(-u))."""
    small = np.exp(-np.abs(u))
    return np.asarray(np.where(u > 0, 1.0, small) / (1 + small))


def log_expit(u: FloatArray) -> FloatArray:
    """Return log of 1/(1 + exp(-u))."""
    return np.asarray(np.minimum(u, 0.0) - np.log1p(np.exp(-np.abs(u))))
