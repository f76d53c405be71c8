r"""Beliefs without an order: every arm is Beta(:math:`\alpha_i, \beta_i`) by itself (paper §2.1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from elsv._typing import FloatArray
from elsv.beliefs.base import check_level, check_points, check_rewards, check_tolerance
from elsv.state import State


@dataclass(frozen=True)
class Independent:
    """Posterior of independent arms, in closed form.

    Examples
    --------
    >>> Independent().mean(State([1, 3], [1, 1]))
    array([0.5 , 0.75])
    """

    def mean(self, state: State, rng: np.random.Generator | None = None) -> FloatArray:
        r"""Return :math:`\alpha_i/(\alpha_i+\beta_i)`, shape ``[..., N]``; `rng` is not used."""
        return state.mean

    def variance(self, state: State) -> FloatArray:
        r"""Return :math:`m(1-m)/(\alpha+\beta+1)`, shape ``[..., N]``."""
        pulls = state.alpha + state.beta
        variance: FloatArray = (state.alpha / pulls) * (state.beta / pulls) / (pulls + 1)
        return variance

    def draw(self, state: State, rng: np.random.Generator) -> FloatArray:
        """Return one draw of every mean, shape ``[..., N]``."""
        return rng.beta(state.alpha, state.beta)

    def quantile(self, state: State, level: float) -> FloatArray:
        """Return posterior quantiles at `level`, shape ``[..., N]``."""
        from scipy.special import betaincinv

        quantile: FloatArray = betaincinv(state.alpha, state.beta, check_level(level))
        return quantile

    def best(
        self, state: State, rewards: ArrayLike, tolerance: float | None = None
    ) -> tuple[FloatArray, FloatArray]:
        r"""Return P(arm i has the largest :math:`r_i \mu_i`) ``[..., N]`` and :math:`E[\max_i r_i\mu_i]`.

        .. math:: P(i) = \int f_i(v/r_i) \prod_{j \ne i} I_{v/r_j}(\alpha_j, \beta_j)\, dv / r_i

        by quadrature, with an error of at most `tolerance` (default 1e-8); `best_with_error` says what it is.
        """
        return self.best_with_error(state, rewards, tolerance)[:2]

    def best_with_error(
        self, state: State, rewards: ArrayLike, tolerance: float | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what `best` does and its measured error, for E[max] over the largest reward, ``[...]``."""
        from elsv.beliefs._independent_best import best_of_independent
        from elsv.beliefs._largest import best_of_states

        goal = check_tolerance(1e-8 if tolerance is None else tolerance)
        best_of = partial(best_of_independent, tolerance=goal)
        chance, largest, error = best_of_states(*state.rows(), check_rewards(state, rewards), best_of)
        return chance.reshape(state.alpha.shape), largest.reshape(state.shape), error.reshape(state.shape)

    def conditional_mean(self, state: State, arm: int, at: ArrayLike) -> FloatArray:
        r"""Return :math:`E[\mu_l \mid \mu_{arm} = x]` for x in `at` ``[K]``, shape ``[..., K, N]``.

        The mean of every other arm, and x for `arm` itself.
        """
        chosen, points = check_points(state, arm, at)
        mean = np.repeat(state.mean[..., None, :], len(points), axis=-2)
        mean[..., chosen] = points
        return mean

    def log_weight(self, state: State) -> FloatArray:
        r"""Return :math:`\sum_i \log B(\alpha_i, \beta_i)`, shape ``[...]``."""
        from scipy.special import betaln

        weight: FloatArray = betaln(state.alpha, state.beta).sum(axis=-1)
        return weight

    def error(self, state: State) -> FloatArray:
        """Return zero: the means are exact, ``[...]``."""
        return np.zeros(state.shape)
