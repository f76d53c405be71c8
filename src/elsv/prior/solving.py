r"""Rows of a prior that, under a structure, imply given means or given intervals.

The rows of a problem are what is believed of each arm by itself. Under a structure the means that they imply
differ. Every mean depends on all rows, and there is no formula back. The rows are found by least squares
(Levenberg and Marquardt), on row means as log odds and row counts as logarithms. A small pull towards the
start decides between rows that do nearly as well. It also keeps rows readable where what is wanted is
impossible: equal means, say, under an order, which always spreads them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from elsv._base.typing import FloatArray, Rng
from elsv.beliefs import Belief, Independent
from elsv.beliefs.abilities import marginals, quantiles
from elsv.beliefs.base import mean_of
from elsv.problem import Problem
from elsv.state import State

Residuals = Callable[[FloatArray], FloatArray]  # [B, P] to [B, R]

_STEP = 1e-4  # of a difference quotient
_FURTHEST = 2.0  # that a step may change a row, in log odds
_MOST_STEPS = 40
_PULL_OF_MEANS = 1e-3
_PULL_OF_INTERVALS = 1e-4
_FIRMER = 10.0  # how much more an interval counts than a mean beside it
_NORMAL = 1.645  # quantile of a normal distribution, to begin with
_INSIDE = 1e-12  # from 0 and 1, for log odds


def rows_for(
    belief: Belief, start: FloatArray, means: FloatArray, ends: FloatArray, coverage: float = 0.9
) -> FloatArray:
    r"""Return rows ``[N, 2]`` under which the belief has given means, or given central intervals.

    Least squares of :math:`(\mathrm{logit}\,E[\mu_i] - \mathrm{logit}\,m_i)/\sigma_i` for means, where
    :math:`\sigma_i` is the spread of the row by itself and its count stays, and of the log odds of both
    ends, relative to the width between them, for intervals.

    The search begins at the rows `start` ``[N, 2]``. Wanted are the `means` ``[N]`` and the `ends` ``[N, 2]``
    of intervals with probability `coverage`. NaN: none; an arm with neither keeps its row.
    """
    by_mean, by_ends = ~np.isnan(means), ~np.isnan(ends[:, 0])
    few, counts, levels = int(by_mean.sum()), start.sum(axis=1), tails(coverage)
    most = few + int(by_ends.sum())
    odds = log_odds(start[:, 0] / counts)
    begin = np.concatenate([odds[by_mean], odds[by_ends], np.log(counts[by_ends])])
    middle, wanted = log_odds(means[by_mean]), log_odds(ends[by_ends].T)  # [2, by ends]
    spread = 1 / np.sqrt((1 + counts[by_mean]) * means[by_mean] * (1 - means[by_mean]))
    width = (wanted[1] - wanted[0]) / _FIRMER
    back = np.sqrt(
        np.concatenate([_PULL_OF_MEANS / spread**2, np.full(len(begin) - few, _PULL_OF_INTERVALS)])
    )

    def state(x: FloatArray) -> State:
        alpha, beta = (np.broadcast_to(column, (len(x), len(counts))).copy() for column in start.T)
        for arms, places, total in (
            (by_mean, slice(0, few), counts[by_mean]),
            (by_ends, slice(few, most), np.exp(np.clip(x[:, most:], -7.0, 25.0))),
        ):
            share = chance(x[:, places])
            alpha[:, arms], beta[:, arms] = share * total, (1 - share) * total
        return State(alpha, beta)

    def residuals(x: FloatArray) -> FloatArray:
        near = back * (x - begin)
        if most == few:
            found = log_odds(mean_of(belief, state(x)))[:, by_mean]
            return np.concatenate([(found - middle) / spread, near], axis=1)
        mean, quantile = marginals(belief, state(x), levels)
        missed = (log_odds(mean)[:, by_mean] - middle) / spread
        off = (log_odds(quantile)[:, :, by_ends] - wanted[:, None]) / width
        return np.concatenate([missed, *off, near], axis=1)

    found = state(least_squares(residuals, begin)[None])
    return np.stack([found.alpha[0], found.beta[0]], axis=1)


def rows_alone(start: FloatArray, ends: FloatArray, coverage: float) -> FloatArray:
    """Return rows that have given intervals by themselves, without a structure; NaN: the row stays."""
    said = ~np.isnan(ends[:, 0])
    if not said.any():
        return start
    odds = log_odds(ends[said])
    mean, spread = chance(odds.mean(axis=1)), (odds[:, 1] - odds[:, 0]) / (2 * _NORMAL)
    count = np.maximum(1 / (spread**2 * mean * (1 - mean)) - 1, 0.5)
    rows = start.copy()
    rows[said] = np.stack([mean * count, (1 - mean) * count], axis=1)
    return rows_for(Independent(), rows, np.full(len(rows), np.nan), ends, coverage)


@dataclass(frozen=True)
class _OfEachPrior:
    """The belief before any data of a mixture, whose belief itself depends on the prior's rows."""

    problem: Problem

    def mean(self, state: State, rng: Rng | None = None) -> FloatArray:
        return self._each(state, lambda belief, start: mean_of(belief, start, rng))

    def draw(self, state: State, rng: Rng) -> FloatArray:
        return self._each(state, lambda belief, start: belief.draw(start, rng))

    def quantile(self, state: State, level: float) -> FloatArray:
        return self._each(state, lambda belief, start: quantiles(belief, start, (level,))[0])

    def _each(self, state: State, ask: Callable[[Belief, State], FloatArray]) -> FloatArray:
        """Return what the belief of each problem with rows ``[B, N]`` says before any data, ``[B, N]``."""
        rows = np.stack([state.alpha, state.beta], axis=-1)
        problems = map(self.problem.with_prior, rows)
        return np.stack([ask(one.belief, State.initial(one)) for one in problems])


def before_data(problem: Problem) -> Belief:
    """Return a belief whose states are prior rows: what each row implies under the structure."""
    return _OfEachPrior(problem) if hasattr(problem.belief, "prior") else problem.belief


def least_squares(residuals: Residuals, start: FloatArray) -> FloatArray:
    """Return where the sum of squares is least, from `start`, by the method of Levenberg and Marquardt."""
    x: FloatArray = start.copy()
    damping = 1e-3
    error = residuals(x[None])[0]
    for _ in range(_MOST_STEPS):
        slopes = (residuals(x + _STEP * np.eye(len(x))) - error).T / _STEP  # [R, P]
        curvature, downhill = slopes.T @ slopes, -slopes.T @ error
        before = float(error @ error)
        for _ in range(10):
            bend = curvature + damping * np.diag(np.diag(curvature))
            step = np.clip(np.linalg.lstsq(bend, downhill, rcond=None)[0], -_FURTHEST, _FURTHEST)
            tried = residuals((x + step)[None])[0]
            if (after := float(tried @ tried)) < before:
                break
            damping *= 5
        else:
            return x
        x, error, damping = x + step, tried, max(damping / 8, 1e-10)
        if before - after < 1e-7 * before + 1e-16:
            return x
    return x


def tails(coverage: float) -> tuple[float, float]:
    """Return the levels of the ends of a central interval."""
    return (1 - coverage) / 2, (1 + coverage) / 2


def log_odds(chance: FloatArray) -> FloatArray:
    """Return log p/(1-p), finite at both ends."""
    inside = np.clip(chance, _INSIDE, 1 - _INSIDE)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def chance(odds: FloatArray) -> FloatArray:
    """Return the probability of given log odds, not quite 0 or 1."""
    return np.asarray(np.clip(1 / (1 + np.exp(-np.clip(odds, -40, 40))), _INSIDE, 1 - _INSIDE))
