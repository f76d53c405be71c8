r"""Exact beliefs under a chain :math:`\mu_1 \ge \dots \ge \mu_N`, or the reverse (past the paper).

The paper draws from the independent Betas and keeps what is in order (Algorithm 4). Here the same posterior
is integrated: with :math:`f_i` the Beta densities,

.. math:: L_i(x) = \int_0^x f_i L_{i+1}, \quad U_i(x) = \int_x^1 f_i U_{i-1}, \quad Z = L_1(1), \quad
    p(\mu_i = x) = f_i(x)\, U_{i-1}(x)\, L_{i+1}(x) / Z.

The cost is proportional to the number of arms times the quadrature nodes on each arm's window, and does not
depend on how likely the order is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from elsv._typing import FloatArray
from elsv.beliefs.base import check_level, check_points, check_rewards, check_tolerance
from elsv.errors import unknown_name
from elsv.problem import Order
from elsv.state import State


@dataclass(frozen=True)
class Chain:
    """Posterior of the means given that they are in order, by quadrature.

    Parameters
    ----------
    order
        ``"decreasing"`` or ``"increasing"``.
    tolerance
        Error of the means that is aimed for, between 1e-13 and 1e-3. `error` measures what was reached.

    Examples
    --------
    >>> Chain().mean(State([1, 1, 1], [1, 1, 1])).round(6)
    array([0.75, 0.5 , 0.25])
    """

    order: Order = "decreasing"
    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        if self.order not in get_args(Order):
            raise unknown_name("order", str(self.order), get_args(Order))
        check_tolerance(self.tolerance)

    def mean(self, state: State, rng: np.random.Generator | None = None) -> FloatArray:
        r"""Return :math:`p_i(s) = E[\mu_i \mid s, \text{order}]`, shape ``[..., N]``; `rng` is not used."""
        return self._moments(state, *self._rule())[0]

    def variance(self, state: State) -> FloatArray:
        """Return posterior variances, shape ``[..., N]``."""
        return self._moments(state, *self._rule())[1]

    def log_weight(self, state: State) -> FloatArray:
        r"""Return log of :math:`W = \int_{order} \prod x_i^{\alpha_i-1}(1-x_i)^{\beta_i-1} dx`, ``[...]``."""
        from elsv.beliefs._chain_kernels import batch_log_weight

        alpha, beta = self._rows(state)
        out = np.empty(len(alpha))
        batch_log_weight(alpha, beta, *self._rule(), out)
        return out.reshape(state.shape)

    def error(self, state: State) -> FloatArray:
        r"""Return the larger change of a mean and of log W when the quadrature is refined, ``[...]``.

        It estimates the error of `mean` and the relative error of W. (The spread over the arms of the
        total weight is no estimate: Gauss–Legendre messages make it zero on any panels.)
        """
        nats, cut = self._rule()
        mean, _, weight = self._moments(state, nats, cut)
        finer, _, finer_weight = self._moments(state, 0.5 * nats, cut + 8)
        change: FloatArray = np.abs(mean - finer).max(axis=-1)
        return np.maximum(change, np.abs(weight - finer_weight))

    def draw(self, state: State, rng: np.random.Generator) -> FloatArray:
        """Return one joint draw of the means, in order, for every instance, shape ``[..., N]``."""
        from elsv.beliefs._chain_readout_kernels import batch_draw

        alpha, beta = self._rows(state)
        out = np.empty_like(alpha)
        batch_draw(alpha, beta, *self._rule(), rng.random(alpha.shape), out)
        return self._shaped(out, state)

    def quantile(self, state: State, level: float) -> FloatArray:
        """Return posterior quantiles at `level`, shape ``[..., N]``."""
        from elsv.beliefs._chain_readout_kernels import batch_quantile

        alpha, beta = self._rows(state)
        out = np.empty_like(alpha)
        # A quantile reads the density inside a panel, where it has half the order of the means.
        nats, cut = self._rule()
        batch_quantile(alpha, beta, 0.25 * nats, cut, check_level(level), out)
        return self._shaped(out, state)

    def conditional_mean(self, state: State, arm: int, at: ArrayLike) -> FloatArray:
        r"""Return :math:`E[\mu_l \mid \mu_{arm} = x]` for x in `at` ``[K]``, shape ``[..., K, N]``.

        Given :math:`\mu_{arm} = x` the arms before and after are chains of their own, on [x, 1] and [0, x].
        """
        from elsv.beliefs._chain_kernels import conditional_means

        chosen, points = check_points(state, arm, at)
        alpha, beta = self._rows(state)
        out = np.empty((len(alpha), len(points), state.arms))
        flipped = state.arms - 1 - chosen if self.order == "increasing" else chosen
        conditional_means(alpha, beta, flipped, points, *self._rule(), out)
        out = out[..., ::-1] if self.order == "increasing" else out
        return np.ascontiguousarray(out).reshape(*state.shape, len(points), state.arms)

    def best(
        self, state: State, rewards: ArrayLike, tolerance: float | None = None
    ) -> tuple[FloatArray, FloatArray]:
        r"""Return P(arm i has the largest :math:`r_i \mu_i`) ``[..., N]`` and :math:`E[\max_i r_i\mu_i]`.

        Arm j is cut off at :math:`v / r_j` for every v, and the rate at which the weight grows with v through
        arm i is integrated over v, with an error of at most `tolerance` (default: the belief's own);
        `best_with_error` says what it is. An arm that the order says is never above another one paying as
        much has probability zero.
        """
        return self.best_with_error(state, rewards, tolerance)[:2]

    def best_with_error(
        self, state: State, rewards: ArrayLike, tolerance: float | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what `best` does and its measured error, for E[max] over the largest reward, ``[...]``."""
        from elsv.beliefs._chain_best import best_of_chain
        from elsv.beliefs._largest import best_of_states

        payoff = check_rewards(state, rewards)
        goal = self.tolerance if tolerance is None else check_tolerance(tolerance)
        nats, cut = _rule(goal)
        payoff = payoff[::-1] if self.order == "increasing" else payoff
        best_of = partial(best_of_chain, tolerance=goal, nats=nats, cut=cut)
        chance, largest, error = best_of_states(*self._rows(state), payoff, best_of)
        return self._shaped(chance, state), largest.reshape(state.shape), error.reshape(state.shape)

    def _rule(self) -> tuple[float, float]:
        return _rule(self.tolerance)

    def _rows(self, state: State) -> tuple[FloatArray, FloatArray]:
        """Return alpha and beta as ``[B, N]``, arms in decreasing order of their means."""
        return state.rows(-1 if self.order == "increasing" else 1)

    def _shaped(self, rows: FloatArray, state: State) -> FloatArray:
        ordered = rows[:, ::-1].copy() if self.order == "increasing" else rows
        return ordered.reshape(state.alpha.shape)

    def _moments(self, state: State, nats: float, cut: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        from elsv.beliefs._chain_kernels import batch_moments

        alpha, beta = self._rows(state)
        mean, variance, weight = np.empty_like(alpha), np.empty_like(alpha), np.empty(len(alpha))
        batch_moments(alpha, beta, nats, cut, mean, variance, weight)
        return self._shaped(mean, state), self._shaped(variance, state), weight.reshape(state.shape)


def _rule(tolerance: float) -> tuple[float, float]:
    """Return how many nats a panel may span, and below its peak by how many an arm is cut off."""
    return 7.0 * (tolerance / 1e-8) ** 0.12, 5.5 - float(np.log(tolerance))
