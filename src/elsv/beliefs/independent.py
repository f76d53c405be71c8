r"""Beliefs without an order: every arm is Beta(:math:`\alpha_i, \beta_i`) by itself (paper §2.1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.typing import FloatArray, IntArray, Rng
from elsv.beliefs.base import (
    Measured,
    MethodUsed,
    best_one_by_one,
    check_level,
    check_rewards,
    check_tolerance,
)
from elsv.beliefs.layers import best as layers
from elsv.beliefs.points import FEW, check_count, rule_sizes, some_uniforms, uniforms
from elsv.beliefs.quadrature import log_beta
from elsv.lattice.numbering import Layer
from elsv.lattice.workers import Crew
from elsv.state import Arms, State


@dataclass(frozen=True)
class Independent(Measured):
    """Posterior of independent arms, in closed form.

    Examples
    --------
    >>> Independent().mean(State([1, 3], [1, 1]))
    array([0.5 , 0.75])
    """

    repeats: ClassVar[bool] = True
    factors: ClassVar[bool] = True

    def mean(self, state: State, rng: Rng | None = None) -> FloatArray:
        r"""Return :math:`\alpha_i/(\alpha_i+\beta_i)`, shape ``[..., N]``; `rng` is not used."""
        return state.mean

    def variance(self, state: State) -> FloatArray:
        r"""Return :math:`m(1-m)/(\alpha+\beta+1)`, shape ``[..., N]``."""
        pulls = state.alpha + state.beta
        variance: FloatArray = (state.alpha / pulls) * (state.beta / pulls) / (pulls + 1)
        return variance

    def draw(self, state: State, rng: Rng) -> FloatArray:
        """Return one draw of every mean, shape ``[..., N]``."""
        return rng.beta(state.alpha, state.beta)

    def quantile(self, state: State, level: float) -> FloatArray:
        """Return posterior quantiles at `level`, shape ``[..., N]``."""
        from scipy.special import betaincinv

        quantile: FloatArray = betaincinv(state.alpha, state.beta, check_level(level))
        return quantile

    def spread_points(self, state: State, count: int) -> tuple[FloatArray, FloatArray]:
        """Return quantiles at evenly spread uniform numbers ``[..., M, N]``, all of the same weight."""
        from scipy.special import betaincinv

        uniform = uniforms(check_count(count), state.arms)
        theta = betaincinv(state.alpha[..., None, :], state.beta[..., None, :], uniform)
        return theta, np.full(theta.shape[:-1], 1 / len(uniform))

    def sequence(self, state: State, start: int, stop: int) -> FloatArray:
        """Return points `start` to `stop` - 1 of one state, ``[M, N]``; `spread_points` begins with them."""
        alpha, beta = (counts[0].tolist() for counts in state.rows())
        columns = (_column(alpha[i], beta[i], i, state.arms, start, stop) for i in range(state.arms))
        return np.stack(list(columns), axis=-1)

    def points(self, state: State, count: int, arms: IntArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return joint points ``[..., M, A]`` of all arms, or of `arms` ``[..., A]``, and weights.

        Up to three arms: a product of Gauss rules, at most `count` points. More: quantiles at evenly spread
        uniform numbers, a power of two from `count` up.
        """
        number = check_count(count)
        if arms is not None:
            state = State.trusted(*(np.take_along_axis(c, arms, axis=-1) for c in (state.alpha, state.beta)))
        if state.arms > FEW:
            return self.spread_points(state, number)
        nodes, weights = beta_rule(state.alpha, state.beta, rule_sizes(number, state.arms)[1])
        size = nodes.shape[-1]
        places = np.indices((size,) * state.arms).reshape(state.arms, -1)  # [N, M]
        columns = [nodes[..., i, places[i]] for i in range(state.arms)]
        shares = [weights[..., i, places[i]] for i in range(state.arms)]
        return np.stack(columns, axis=-1), np.asarray(np.prod(shares, axis=0))

    some_points = points

    def arm_points(self, state: State, count: int) -> tuple[FloatArray, FloatArray]:
        """Return `count` points of every arm with the means of all arms there, and their weights.

        Shapes ``[..., N, K, N]`` and ``[..., N, K]``: a Gauss rule for the arm, and the other arms' means.
        """
        nodes, weights = beta_rule(state.alpha, state.beta, check_count(count))
        theta = np.empty((*nodes.shape, state.arms))
        theta[...] = state.mean[..., None, None, :]
        for i in range(state.arms):
            theta[..., i, :, i] = nodes[..., i, :]
        return theta, weights

    def best_with_error(
        self, state: State, rewards: ArrayLike, tolerance: float | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        r"""Return what `best` does and its measured error, for E[max] over the largest reward, ``[...]``.

        .. math:: P(i) = \int f_i(v/r_i) \prod_{j \ne i} I_{v/r_j}(\alpha_j, \beta_j)\, dv / r_i

        by quadrature, with an error of at most `tolerance` (default 1e-8).
        """
        from elsv.beliefs.best.integral import best_of_independent

        goal = check_tolerance(1e-8 if tolerance is None else tolerance)
        payoff = check_rewards(state, rewards)
        return best_one_by_one(state, partial(best_of_independent, rewards=payoff, tolerance=goal))

    def log_weight(self, state: State) -> FloatArray:
        r"""Return :math:`\sum_i \log B(\alpha_i, \beta_i)`, shape ``[...]``."""
        weight: FloatArray = log_beta(state.alpha, state.beta).sum(axis=-1)
        return weight

    def layer_best(self, arms: Arms, layer: Layer, crew: Crew) -> FloatArray | None:
        """Return P(arm i is best) in all states of a layer, ``[N, states]``; None for very many arms."""
        return layers.best_of_independent(arms, layer, crew)

    def error(self, state: State) -> FloatArray:
        """Return zero: the means are exact, ``[...]``."""
        return np.zeros(state.shape)

    def describe_method(self, state: State) -> MethodUsed:
        """Say how the means are computed."""
        return MethodUsed("independent", "each arm by itself, in closed form")


def beta_rule(alpha: FloatArray, beta: FloatArray, size: int) -> tuple[FloatArray, FloatArray]:
    r"""Return the Gauss rule of each Beta(:math:`\alpha, \beta`): points and weights ``[..., size]``.

    The points are the eigenvalues of the Jacobi matrix of the polynomials orthogonal to its density.
    """
    a, b = beta[..., None] - 1.0, alpha[..., None] - 1.0
    k = np.arange(1, size)
    both = 2 * k + a + b
    jacobi = np.zeros((*alpha.shape, size, size))
    jacobi[..., 0, 0] = ((b - a) / (a + b + 2))[..., 0]
    jacobi[..., k, k] = (b - a) * (b + a) / (both * (both + 2))
    # k + a + b and both - 1 are equal for k = 1, where both may be zero.
    ratio = np.where(k == 1, 1.0, (k + a + b) / np.where(k == 1, 1.0, both - 1))
    jacobi[..., k, k - 1] = np.sqrt(4 * k * (k + a) * (k + b) / (both + 1) * ratio) / both
    points, vectors = np.linalg.eigh(jacobi)  # reads the lower triangle
    return np.clip((points + 1) / 2, 0.0, 1.0), vectors[..., 0, :] ** 2


@lru_cache(maxsize=64)
def _column(alpha: float, beta: float, arm: int, arms: int, start: int, stop: int) -> FloatArray:
    """Return one arm's part of a sequence of points ``[M]``: a pull changes one arm alone."""
    from scipy.special import betaincinv

    column: FloatArray = betaincinv(alpha, beta, some_uniforms(start, stop, arms)[:, arm])
    return column
