r"""Beliefs from draws of any joint prior: a demand curve, a Gaussian process, PyMC or Stan output.

M draws :math:`\theta_m` of the means, of weight :math:`w_m`, stand for the prior. After
:math:`s_i` successes and :math:`f_i` failures the weights are

.. math:: w_m \prod_i \theta_{mi}^{s_i} (1-\theta_{mi})^{f_i},

so that :math:`W(s) = W(s{+}\text{success}_i) + W(s{+}\text{failure}_i)` holds to rounding, and everything is
exact for that discrete prior. How well it stands for the prior that was meant shows in the effective number
of draws, :math:`(\sum w)^2 / \sum w^2`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.notices import say_once
from elsv._base.numbers import numbers
from elsv._base.typing import FloatArray, IntArray, Rng
from elsv.beliefs.base import Belief, CountedBest, MethodUsed, check_level, grouped, mean_of, state_by_state
from elsv.beliefs.points import check_count, drawn_points, match_means
from elsv.errors import InvalidInputError
from elsv.state import Arms, State

FEW = 300.0  # effective draws below which a notice is given
_ONCE = 1 << 24  # numbers in one table of weights
_SEED = 20_261_115
_DRAWS, _PRIOR_SEED = 4096, 20_261_116  # of the prior of a belief without points


@dataclass(frozen=True, eq=False)
class Samples(CountedBest):
    """Posterior of means whose prior is given by draws.

    Parameters
    ----------
    draws
        Means ``[M, N]``, each row one draw of all arms.
    prior
        The counts ``[N, 2]`` of a problem before any data: what a state has beyond them is data.
    weights
        Of the draws; default: equal.

    Examples
    --------
    >>> belief = Samples([[0.2, 0.1], [0.6, 0.5]], prior=[[1, 1], [1, 1]])
    >>> belief.mean(State([2, 1], [1, 1])).round(3)  # one success of the first arm
    array([0.5, 0.4])
    """

    draws: FloatArray = field(repr=False)  # [M, N]
    prior: FloatArray = field(repr=False)  # [N, 2]
    weights: FloatArray = field(repr=False)  # [M], sum 1
    repeats: ClassVar[bool] = True

    def __init__(self, draws: ArrayLike, prior: ArrayLike, weights: ArrayLike | None = None) -> None:
        table, start = check_draws(draws), numbers("prior", prior)
        if start.shape != (table.shape[1], 2):
            raise InvalidInputError(
                f"samples must have one column for each of {len(start)} arms, got {table.shape[1]}"
            )
        given = check_weights(weights, len(table))
        share = np.ones(len(table)) if given is None else given
        for name, value in (("draws", table), ("prior", start), ("weights", share / share.sum())):
            value.flags.writeable = False
            object.__setattr__(self, name, value)

    @cached_property
    def _logs(self) -> FloatArray:
        """Logarithms of the means, then of one less them, ``[2 N, M]``."""
        inside = np.clip(self.draws, 1e-300, 1 - 1e-16)
        return np.ascontiguousarray(np.concatenate([np.log(inside), np.log1p(-inside)], axis=1).T)

    @cached_property
    def _squares(self) -> tuple[FloatArray, FloatArray]:
        """The prior's means ``[N]``, and the draws' squared distances from them ``[M, N]``."""
        middle = self.weights @ self.draws
        return middle, (self.draws - middle) ** 2

    @cached_property
    def _log_weights(self) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.log(self.weights)

    @cached_property
    def _along(self) -> IntArray:
        """The draws along the direction in which they differ most."""
        away = self.draws - self.weights @ self.draws
        direction = np.linalg.eigh((self.weights[:, None] * away).T @ away)[1][:, -1]
        sign = np.sign(direction[np.abs(direction).argmax()])
        return np.argsort(away @ (sign * direction), kind="stable")

    def mean(self, state: State, rng: Rng | None = None) -> FloatArray:
        """Return posterior means, shape ``[..., N]``; `rng` is not used."""
        out = np.empty(state.rows()[0].shape)
        for here, weight in self._shares(state):
            out[here] = weight @ self.draws
        return out.reshape(state.alpha.shape)

    def mean_and_variance(self, state: State) -> tuple[FloatArray, FloatArray]:
        """Return `mean` and `variance` at the cost of one."""
        mean = np.empty(state.rows()[0].shape)
        variance = np.empty_like(mean)
        middle, squares = self._squares
        for here, weight in self._shares(state):
            mean[here] = weight @ self.draws
            variance[here] = np.maximum(weight @ squares - (mean[here] - middle) ** 2, 0.0)
        return mean.reshape(state.alpha.shape), variance.reshape(state.alpha.shape)

    def log_weight(self, state: State) -> FloatArray:
        r"""Return :math:`\log \sum_m w_m \prod_i \theta_{mi}^{s_i}(1-\theta_{mi})^{f_i}`, ``[...]``."""
        alpha, beta = self._rows(state)
        out = np.empty(len(alpha))
        for here, log in self._batches(alpha, beta):
            top = log.max(axis=1)
            out[here] = top + np.log(np.exp(log - top[:, None]).sum(axis=1))
        return out.reshape(state.shape)

    def effective(self, state: State) -> FloatArray:
        r"""Return the effective number of draws, :math:`(\sum w)^2/\sum w^2`, ``[...]``."""
        out = np.empty(len(state.rows()[0]))
        for here, weight in self._shares(state, notice=False):
            out[here] = 1 / (weight**2).sum(axis=1)
        return out.reshape(state.shape)

    def error(self, state: State) -> FloatArray:
        """Return the standard error of a mean, that of as many draws as are effective, ``[...]``."""
        spread: FloatArray = np.sqrt(self.variance(state).max(axis=-1) / self.effective(state))
        return spread

    def describe_method(self, state: State) -> MethodUsed:
        """Say how the means are computed in one state, and how many draws still count."""
        number, left = len(self.draws), float(self.effective(state))
        words = f"{number:,} draws of the prior, weighted by the data: effectively {left:,.0f}"
        return MethodUsed("samples", words, {"draws": number, "effective": left})

    def quantile(self, state: State, level: float) -> FloatArray:
        """Return posterior quantiles at `level`, shape ``[..., N]``."""
        wanted = check_level(level)
        rank = np.argsort(self.draws, axis=0)
        out = np.empty(state.rows()[0].shape)
        for here, weight in self._shares(state):
            for i in range(state.arms):
                below = np.cumsum(weight[:, rank[:, i]], axis=1)
                at = (below < wanted).sum(axis=1)
                out[here, i] = self.draws[rank[np.minimum(at, len(rank) - 1), i], i]
        return out.reshape(state.alpha.shape)

    def draw(self, state: State, rng: Rng) -> FloatArray:
        """Return one joint draw of the means for every instance, shape ``[..., N]``."""
        alpha, beta = self._rows(state)
        uniform = rng.random(len(alpha))
        won, lost, starts, order = grouped(alpha, beta)
        out = np.empty_like(alpha)
        for here, weight in self._shares(State.trusted(won, lost)):
            for k, below in zip(range(*here.indices(len(won))), np.cumsum(weight, axis=1), strict=True):
                rows = order[starts[k] : starts[k + 1]]
                at = np.searchsorted(below, uniform[rows] * below[-1])
                out[rows] = self.draws[np.minimum(at, len(self.draws) - 1)]
        return out.reshape(state.alpha.shape)

    @property
    def most_points(self) -> int:
        """How many points there are: all draws."""
        return len(self.draws)

    def points(self, state: State, count: int) -> tuple[FloatArray, FloatArray]:
        """Return joint points ``[..., M, N]`` and weights ``[..., M]``.

        All draws if there are no more than `count`, else `count` of them. These lie at even steps of the
        weight along the direction in which draws differ most: a draw of large weight comes several times.
        They are shuffled, so that the first of them are spread as well. (Even steps along the draws as they
        are given would take one corner of draws that are evenly spread themselves.)
        """
        size = check_count(count)
        rows = state.rows()[0]
        if len(self.draws) <= size:
            theta = np.broadcast_to(self.draws, (len(rows), *self.draws.shape))
            share = np.empty((len(rows), len(self.draws)))
            for here, weight in self._shares(state):
                share[here] = weight
        else:
            theta, share = np.empty((len(rows), size, state.arms)), np.full((len(rows), size), 1 / size)
            steps = (np.random.default_rng(_SEED).permutation(size) + 0.5) / size
            for here, weight in self._shares(state):
                for row, share_of in zip(range(*here.indices(len(rows))), weight, strict=True):
                    below = np.cumsum(share_of[self._along])
                    at = np.searchsorted(below, steps * below[-1])
                    theta[row] = self.draws[self._along[np.minimum(at, len(self.draws) - 1)]]
        shape = (*state.shape, share.shape[1])
        return theta.reshape(*shape, state.arms), share.reshape(shape)

    def _joint(self, one: State) -> tuple[FloatArray, FloatArray]:
        return self.draws, next(self._shares(one))[1][0]

    def _rows(self, state: State) -> tuple[FloatArray, FloatArray]:
        if state.arms != len(self.prior):
            raise InvalidInputError(
                f"these samples are of {len(self.prior)} arms, got a state of {state.arms}"
            )
        return state.rows()

    def _batches(self, alpha: FloatArray, beta: FloatArray):  # type: ignore[no-untyped-def]
        """Yield some states and the logarithms of their weights ``[b, M]``, not normalised."""
        data = np.concatenate([alpha - self.prior[:, 0], beta - self.prior[:, 1]], axis=1)
        size = max(1, _ONCE // len(self.draws))
        for first in range(0, len(data), size):
            here = slice(first, min(first + size, len(data)))
            used = np.flatnonzero(data[here].any(axis=0))
            if 4 * len(used) > data.shape[1]:  # fewer are worth a copy
                log = data[here] @ self._logs
            else:
                log = data[here][:, used] @ self._logs[used]
            log += self._log_weights
            yield here, log

    def _shares(self, state: State, notice: bool = True):  # type: ignore[no-untyped-def]
        """Yield some states and their weights ``[b, M]``, of sum 1."""
        for here, log in self._batches(*self._rows(state)):
            log -= log.max(axis=1, keepdims=True)
            weight = np.exp(log, out=log)
            weight /= weight.sum(axis=1, keepdims=True)
            if notice and 1 / np.einsum("bm,bm->b", weight, weight).max() < min(FEW, 0.5 * len(self.draws)):
                say_once(
                    f"fewer than {FEW:.0f} of the {len(self.draws):,} draws of the prior still count after "
                    "these data: answers are rough; give more draws, or draws from the posterior so far"
                )
            yield here, weight


def check_draws(draws: ArrayLike) -> FloatArray:
    """Return draws of means as ``[M, N]``; leading axes, such as chains and draws, are taken together."""
    try:
        given = np.asarray(draws)
    except ValueError as error:
        raise InvalidInputError(f"samples must have as many numbers in every row: {error}") from error
    table = numbers("samples", given)
    if table.ndim < 2 or table.size == 0:
        raise InvalidInputError(f"samples must have shape [draws, arms], got {table.shape}")
    table = np.ascontiguousarray(table.reshape(-1, table.shape[-1]))
    if not (table.min() >= 0 and table.max() <= 1):
        bad = table[~((table >= 0) & (table <= 1))][0]
        raise InvalidInputError(f"samples must be means from 0 to 1, got {bad:g}")
    return table


def check_weights(weights: ArrayLike | None, draws: int) -> FloatArray | None:
    """Return weights of so many draws ``[M]``, or None where there are none."""
    if weights is None:
        return None
    share = numbers("weights", weights)
    if share.shape != (draws,) or not (share.min() >= 0 and 0 < share.sum() < np.inf):
        raise InvalidInputError(
            f"weights must be {draws} numbers that are not negative, one for each draw, "
            f"and not all 0, got shape {share.shape}"
        )
    return share


class Reweighted:
    r"""A belief with points by need: its means, and draws of its prior that are made once.

    A belief that has `log_weight` says that its data are successes and failures of the arms. So draws of its
    prior, each of weight :math:`\prod_i \theta_i^{s_i} (1-\theta_i)^{f_i}`, stand for it in every state, and
    only the means are asked for anew. Where too few of them still count, it is drawn from in the state.
    """

    repeats: ClassVar[bool] = True
    most_points: ClassVar[int] = _DRAWS

    def __init__(self, belief: Belief, arms: Arms) -> None:
        self.belief, self.arms = belief, arms
        self.draw = belief.draw

    @cached_property
    def _prior(self) -> Samples:
        start = (np.repeat(part[None], _DRAWS, axis=0) for part in self.arms.prior.T)
        drawn = self.belief.draw(State.trusted(*start), np.random.default_rng(_PRIOR_SEED))
        return Samples(drawn, self.arms.prior)

    def mean(self, state: State, rng: Rng | None = None) -> FloatArray:
        """Return the belief's own means, shape ``[..., N]``."""
        return mean_of(self.belief, state, rng)

    def variance(self, state: State) -> FloatArray:
        """Return posterior variances, shape ``[..., N]``: the belief's own, or those of the draws."""
        own: Any = getattr(self.belief, "variance", None)
        return np.asarray(own(state)) if own is not None else self._prior.variance(state)

    def points(self, state: State, count: int) -> tuple[FloatArray, FloatArray]:
        """Return joint points ``[..., M, N]`` and weights ``[..., M]``; they have the belief's means."""
        size = min(count, _DRAWS)

        def find(alpha: FloatArray, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
            one = State.trusted(alpha, beta)
            if self._prior.effective(one) < FEW:
                return drawn_points(self.belief, one, size)
            theta, weight = self._prior.points(one, size)
            return theta, match_means(theta, self.mean(one, np.random.default_rng(_PRIOR_SEED)), weight)

        theta, weight = state_by_state(state, find, (size, state.arms), (size,))
        return theta, weight


def with_points(belief: Belief, arms: Arms) -> Belief:
    """Return a belief with points: itself if it has any, or if only draws tell what it is."""
    if hasattr(belief, "points") or getattr(belief, "log_weight", None) is None:
        return belief
    return Reweighted(belief, arms)
