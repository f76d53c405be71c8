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

from elsv._base.typing import AnyArray, FloatArray
from elsv.beliefs.best.integral_kernels import (
    Field,
    Rule,
    Spans,
    add_up,
    beyond,
    collect,
    first_nodes,
    open_field,
    spread,
)
from elsv.errors import InvalidInputError

_MIDDLE = np.zeros(1)
_ROUNDS = 60
_PATIENCE = 6  # rounds without progress
_USELESS = 0.01  # error of a probability that is refused
_MOST_PANELS = 4000

# From logits of v/r_j [V, C] and a number D: G [V], and in the first D its derivatives by the logits [D, C].
Evaluate = Callable[[FloatArray, int], tuple[FloatArray, FloatArray]]


class Largest(NamedTuple):
    """What is known of the largest reward."""

    chance: FloatArray  # [A], that an arm is the best one
    mean: float  # E[max]
    error: float  # of a chance, and of the mean as a share of the largest reward


class Goal(NamedTuple):
    """How exactly the largest reward is to be known."""

    rule: Rule  # on every panel
    tolerance: float  # error that is aimed for
    enough: float  # error of all panels together at which none is refined any more
    budget: float  # probability of panels that are left out at once


@cache
def _rule(points: int) -> Rule:
    nodes, weights = legendre.leggauss(points)
    basis = (np.arange(points) + 0.5)[:, None] * legendre.legvander(nodes, points - 1).T * weights
    return Rule(nodes, weights, basis[-2:])


def goal_of(tolerance: float) -> Goal:
    """Return how to come within `tolerance`; where digits count, another two of them cost little."""
    rule, goal = (_rule(6), tolerance) if tolerance > 1e-6 else (_rule(10), 0.01 * tolerance)
    return Goal(rule, goal, 0.8 * goal, 0.05 * goal)


class _Panels(NamedTuple):
    """Panels of u and what they add."""

    spans: Spans
    chance: FloatArray  # [P, C]
    worth: FloatArray  # [P], integral of v
    error: FloatArray  # [P]

    def with_finer(self, kept: AnyArray, finer: _Panels) -> _Panels:
        """Return the panels that are kept, and others."""
        spans = zip(self.spans, finer.spans, strict=True)
        return _Panels(
            Spans(*(np.concatenate([mine[kept], other]) for mine, other in spans)),
            *(np.concatenate([mine[kept], other]) for mine, other in zip(self[1:], finer[1:], strict=True)),
        )


class Contenders:
    """Arms that can be best, and the way from the largest reward to their means; see `open_field`."""

    def __init__(self, rewards: FloatArray, low: FloatArray, high: FloatArray, power: FloatArray) -> None:
        self.arms, self._field = len(rewards), open_field(rewards, low, high, power)
        self.alive = self._field.alive

    def largest(self, evaluate: Evaluate, tolerance: float, noise: float) -> Largest:
        """Integrate over the largest reward, to about `tolerance`.

        `evaluate` gives G and its derivatives for the arms that are `alive`. Nothing is refined below its
        rounding error, `noise`.
        """
        goal, field = goal_of(tolerance), self._field
        if not len(field.limit):
            refuse(1.0)
        below = evaluate(field.limit, 0)[0]
        spans, v, limit, rate = first_nodes(field, below, goal.budget, goal.rule.nodes)
        density = evaluate(limit, len(v))[1]
        panels = _Panels(spans, *collect(density, rate, v, spans, goal.rule))
        stalled = 0
        for _ in range(_ROUNDS):
            before = panels.error.sum()
            if before <= goal.enough or len(panels.error) > _MOST_PANELS:
                break
            coarse = beyond(panels.error, 0.4 * goal.tolerance) & (panels.error > noise)
            if not coarse.any():
                break
            finer = _halves(field, Spans(*(column[coarse] for column in panels.spans)), evaluate, goal.rule)
            panels = panels.with_finer(~coarse, finer)
            stalled = stalled + 1 if panels.error.sum() > 0.99 * before else 0
            if stalled == _PATIENCE:
                break
        chance = np.zeros(self.arms)
        mean, left, short = add_up(field.alive, field.unit, *panels[1:], chance)
        error = left + short + noise
        refuse(error)
        return Largest(chance, mean, error)


def _halves(field: Field, whole: Spans, evaluate: Evaluate, rule: Rule) -> _Panels:
    """Integrate over both halves of every panel."""
    left, right, reward, before, after, straight = whole
    # With a reward of 1 alone the logit is u itself.
    alone = np.ones(1), np.ones(1, bool)
    middle = spread(left, right, np.ones(len(left)), straight, _MIDDLE, *alone)[1][:, 0].copy()
    inside = spread(middle, middle, reward, np.zeros(len(left), bool), _MIDDLE, field.rewards, field.cut)[1]
    between = evaluate(inside, 0)[0]
    spans = Spans(
        np.concatenate([left, middle]),
        np.concatenate([middle, right]),
        np.tile(reward, 2),
        np.concatenate([before, between]),
        np.concatenate([between, after]),
        np.tile(straight, 2),
    )
    v, limit, rate = spread(*spans[:3], spans.straight, rule.nodes, field.rewards, field.cut)
    return _Panels(spans, *collect(evaluate(limit, len(v))[1], rate, v, spans, rule))


def best_of_states(
    alpha: FloatArray,
    beta: FloatArray,
    rewards: FloatArray,
    best_of: Callable[[FloatArray, FloatArray, FloatArray], Largest],
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return P(arm is best) ``[B, N]``, E[max] and the error ``[B]``, one state after another."""
    chance, mean, error = np.empty(alpha.shape), np.empty(len(alpha)), np.empty(len(alpha))
    for k in range(len(alpha)):
        chance[k], mean[k], error[k] = best_of(alpha[k], beta[k], rewards)
    return chance, mean, error


def refuse(error: float) -> None:
    """Raise if an error of this size makes the answer useless."""
    if not error < _USELESS:
        raise InvalidInputError(
            f"P(best) can only be computed to ±{error:.1g} for these counts; "
            "scale counts above 1e12 down, and those below 1e-12 up"
        )


def expit(u: FloatArray) -> FloatArray:
    """Return 1/(1 + exp(-u))."""
    small = np.exp(-np.abs(u))
    return np.asarray(np.where(u > 0, 1.0, small) / (1 + small))


def log_expit(u: FloatArray) -> FloatArray:
    """Return log of 1/(1 + exp(-u))."""
    return np.asarray(np.minimum(u, 0.0) - np.log1p(np.exp(-np.abs(u))))
