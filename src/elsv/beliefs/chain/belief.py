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
from functools import lru_cache, partial
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.typing import FloatArray, IntArray, Rng
from elsv.beliefs.base import (
    MeasuredBest,
    MethodUsed,
    Order,
    check_level,
    check_order,
    check_rewards,
    check_tolerance,
)
from elsv.beliefs.chain.panels import fill
from elsv.beliefs.points import FEW, check_count, power_from, rule_sizes, some_uniforms
from elsv.lattice.numbering import Lattice, Layer
from elsv.lattice.workers import Crew
from elsv.state import Arms, State

_NESTED = (12.0, 20.0)  # nats on a panel and cut under Gauss rules: scores within about 1e-8 of themselves


@dataclass(frozen=True)
class Chain(MeasuredBest):
    """Posterior of the means given that they are in order, by quadrature.

    Parameters
    ----------
    order
        ``"decreasing"`` or ``"increasing"``.
    tolerance
        Error of the means that is aimed for, between 1e-12 and 1e-3, and kept within a factor of two for any
        counts. `error` measures what was reached.

    Examples
    --------
    >>> Chain().mean(State([1, 1, 1], [1, 1, 1])).round(6)
    array([0.75, 0.5 , 0.25])
    """

    order: Order = "decreasing"
    tolerance: float = 1e-8
    repeats: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_order(self.order)
        check_tolerance(self.tolerance)

    def mean(self, state: State, rng: Rng | None = None) -> FloatArray:
        r"""Return :math:`p_i(s) = E[\mu_i \mid s, \text{order}]`, shape ``[..., N]``; `rng` is not used."""
        return self._marginals(state, (), _rule(self.tolerance))[0]

    def variance(self, state: State) -> FloatArray:
        """Return posterior variances, shape ``[..., N]``."""
        return self._moments(state, *_rule(self.tolerance))[1]

    def mean_and_variance(self, state: State) -> tuple[FloatArray, FloatArray]:
        """Return `mean` and `variance` at the cost of one."""
        return self._moments(state, *_rule(self.tolerance))[:2]

    def log_weight(self, state: State) -> FloatArray:
        r"""Return log of :math:`W = \int_{order} \prod x_i^{\alpha_i-1}(1-x_i)^{\beta_i-1} dx`, ``[...]``."""
        from elsv.beliefs.chain.messages_kernels import batch_log_weight

        rows = self._rows(state)
        out = np.empty(len(rows[0]))
        fill(batch_log_weight, rows, _rule(self.tolerance), (), out)
        return out.reshape(state.shape)

    def error(self, state: State) -> FloatArray:
        r"""Return the larger change of a mean and of log W when the quadrature is refined, ``[...]``.

        It estimates the error of `mean` and the relative error of W. (The spread over the arms of the
        total weight is no estimate: Gauss–Legendre messages make it zero on any panels.)
        """
        nats, cut = _rule(self.tolerance)
        mean, _, weight = self._moments(state, nats, cut)
        # Half of what the usual rule allows: the width of panels is halved with it (`finer`).
        finer, _, finer_weight = self._moments(state, min(0.5 * nats, 3.5), cut + 8)
        change: FloatArray = np.abs(mean - finer).max(axis=-1)
        return np.maximum(change, np.abs(weight - finer_weight))

    def describe_method(self, state: State) -> MethodUsed:
        """Say how the means are computed."""
        words = f"a chain of {state.arms} arms, integrated: {state.arms} messages"
        return MethodUsed("chain", words, {"messages": state.arms})

    def draw(self, state: State, rng: Rng) -> FloatArray:
        """Return one joint draw of the means, in order, for every instance, shape ``[..., N]``."""
        from elsv.beliefs.chain.readout_kernels import batch_draw

        rows = self._rows(state)
        out, uniform = np.empty_like(rows[0]), rng.random(rows[0].shape)
        fill(batch_draw, rows, _rule(self.tolerance), (), uniform, out)
        return self._shaped(out, state)

    def points(self, state: State, count: int) -> tuple[FloatArray, FloatArray]:
        """Return joint points ``[..., M, N]`` and weights ``[..., M]``; see `some_points`."""
        return self.some_points(state, count)

    def some_points(
        self, state: State, count: int, arms: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return joint points ``[..., M, A]`` of all arms, or of `arms` ``[..., A]``, and weights.

        Up to three arms: Gauss rules, one arm given another, at most `count` points. More: evenly spread
        uniform numbers through the inverse that `draw` uses, a power of two from `count` up.

        Parameters
        ----------
        state
            Where the points are wanted.
        count
            How many.
        arms
            Which arms, from 0 and increasing, for every state; the others are integrated out.
        """
        number = check_count(count)
        wanted = state.arms if arms is None else arms.shape[-1]
        if wanted > FEW:
            theta, weight = self.spread_points(state, number)
            return (theta if arms is None else np.take_along_axis(theta, arms[..., None, :], axis=-1)), weight
        from elsv.beliefs.chain.readout_kernels import batch_nested_points

        alpha, beta = self._rows(state)
        chosen = np.arange(wanted) if arms is None else arms
        rows = np.broadcast_to(chosen, (*state.shape, wanted)).reshape(-1, wanted)
        if self.order == "increasing":
            rows = (state.arms - 1 - rows)[:, ::-1]
        outer, inner = rule_sizes(number, wanted)
        size = outer * inner ** (wanted - 1)
        theta, weight = np.empty((len(alpha), size, wanted)), np.empty((len(alpha), size))
        chosen = np.ascontiguousarray(rows)
        sizes = outer, inner, _NESTED[0]
        fill(batch_nested_points, (alpha, beta), _NESTED, sizes, chosen, theta, weight, known=True)
        for s in _lost(theta, weight):
            whole = self._inverse(alpha[s : s + 1], beta[s : s + 1], size)[0]
            theta[s], weight[s] = whole[:, chosen[s]], 1 / size
        if self.order == "increasing":
            # The last arm of the loop is then the first one: those that share the other two stay together.
            sides = (len(alpha), -1, inner, inner) if wanted == FEW else (len(alpha), -1, 1, 1)
            theta = theta[..., ::-1].reshape(*sides, wanted).swapaxes(2, 3)
            weight = weight.reshape(sides).swapaxes(2, 3)
        shape = (*state.shape, size)
        return np.ascontiguousarray(theta).reshape(*shape, wanted), weight.reshape(shape)

    def arm_points(self, state: State, count: int) -> tuple[FloatArray, FloatArray]:
        """Return `count` points of every arm with the means of all arms there, and their weights.

        Shapes ``[..., N, K, N]`` and ``[..., N, K]``: a Gauss rule for the arm alone, at whose points the
        other arms have the means that they have given it.
        """
        from elsv.beliefs.chain.readout_kernels import batch_arm_points

        alpha, beta = self._rows(state)
        theta = np.empty((len(alpha), state.arms, check_count(count), state.arms))
        weight = np.empty(theta.shape[:-1])
        fill(batch_arm_points, (alpha, beta), _NESTED, _NESTED[:1], theta, weight, known=True)
        for s in _lost(theta, weight):
            theta[s] = self._inverse(alpha[s : s + 1], beta[s : s + 1], count)[0]
            weight[s] = 1 / count
        if self.order == "increasing":
            theta, weight = np.ascontiguousarray(theta[:, ::-1, :, ::-1]), weight[:, ::-1].copy()
        return theta.reshape(*state.shape, *theta.shape[1:]), weight.reshape(*state.shape, *weight.shape[1:])

    def spread_points(self, state: State, count: int) -> tuple[FloatArray, FloatArray]:
        """Return joint points of all arms from uniform numbers, all of the same weight."""
        theta = self._inverse(*self._rows(state), power_from(count))
        if self.order == "increasing":
            theta = np.ascontiguousarray(theta[..., ::-1])
        shape = (*state.shape, theta.shape[1])
        return theta.reshape(*shape, state.arms), np.full(shape, 1 / theta.shape[1])

    def sequence(self, state: State, start: int, stop: int) -> FloatArray:
        """Return points `start` to `stop` - 1 of one state, ``[M, N]``; `spread_points` begins with them."""
        theta = self._inverse(*self._rows(state), stop, start)[0]
        return np.ascontiguousarray(theta[:, ::-1]) if self.order == "increasing" else theta

    def _inverse(self, alpha: FloatArray, beta: FloatArray, count: int, start: int = 0) -> FloatArray:
        """Return points ``[B, M, N]`` in decreasing order through the inverse that `draw` uses."""
        from elsv.beliefs.chain.readout_kernels import batch_points

        uniform = np.ascontiguousarray(some_uniforms(start, count, alpha.shape[1]))
        theta = np.empty((len(alpha), *uniform.shape))
        fill(batch_points, (alpha, beta), _rule(self.tolerance), (uniform,), theta)
        return theta

    def quantile(self, state: State, level: float) -> FloatArray:
        """Return posterior quantiles at `level`, shape ``[..., N]``."""
        found: FloatArray = self.marginals(state, (level,))[1][0]
        return found

    def marginals(self, state: State, levels: tuple[float, ...]) -> tuple[FloatArray, FloatArray]:
        """Return means ``[..., N]`` and quantiles ``[levels, ..., N]``, integrated once for both."""
        # A quantile reads the density inside a panel, where it has half the order of the means.
        nats, cut = _rule(self.tolerance)
        return self._marginals(state, levels, (0.25 * nats, cut))

    def best_with_error(
        self, state: State, rewards: ArrayLike, tolerance: float | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what `best` does and its measured error, for E[max] over the largest reward, ``[...]``.

        Arm j is cut off at :math:`v / r_j` for every v, and the rate at which the weight grows with v through
        arm i is integrated over v, with an error of at most `tolerance` (default: the belief's own). An arm
        that the order says is never above another one paying as much has probability zero.
        """
        from elsv.beliefs.best.integral import best_of_chain, best_of_states

        payoff = check_rewards(state, rewards)
        goal = self.tolerance if tolerance is None else check_tolerance(tolerance)
        nats, cut = _rule(goal)
        payoff = payoff[::-1] if self.order == "increasing" else payoff
        best_of = partial(best_of_chain, tolerance=goal, nats=nats, cut=cut)
        chance, largest, error = best_of_states(*self._rows(state), payoff, best_of)
        return self._shaped(chance, state), largest.reshape(state.shape), error.reshape(state.shape)

    def factor_tables(self, arms: Arms, made: int) -> tuple[list[FloatArray], ...]:
        """Return tables of two or three arms whose products add up to W."""
        from elsv.beliefs.layers.weights import factor_tables

        return factor_tables(arms, self, made)

    def layer_weights(self, arms: Arms, lattice: Lattice, made: int, workers: int = 1) -> FloatArray:
        """Return W of all states of the lattice after `made` pulls, divided by one number."""
        from elsv.beliefs.layers.weights import weights_in_order

        return weights_in_order(arms, self, lattice, made, workers)

    def layer_best(self, arms: Arms, layer: Layer, crew: Crew) -> FloatArray | None:
        """Return P(arm i is best) in all states of a layer ``[N, states]``; None for four arms and more."""
        from elsv.beliefs.layers.best import best_in_order

        weight = float(self.log_weight(State.initial(arms)))
        return best_in_order(arms, self.order, weight, layer, crew)

    def precise(self) -> Chain:
        """Return the same belief with the finest tolerance, for what is integrated once."""
        return Chain(self.order, tolerance=1e-12)

    def _rows(self, state: State) -> tuple[FloatArray, FloatArray]:
        """Return alpha and beta as ``[B, N]``, arms in decreasing order of their means."""
        return state.rows(-1 if self.order == "increasing" else 1)

    def _shaped(self, rows: FloatArray, state: State) -> FloatArray:
        ordered = rows[:, ::-1].copy() if self.order == "increasing" else rows
        return ordered.reshape(state.alpha.shape)

    def _marginals(
        self, state: State, levels: tuple[float, ...], rule: tuple[float, float]
    ) -> tuple[FloatArray, FloatArray]:
        from elsv.beliefs.chain.readout_kernels import batch_marginals

        rows = self._rows(state)
        wanted = np.array([check_level(level) for level in levels], dtype=np.float64)
        mean, found = np.empty_like(rows[0]), np.empty((len(rows[0]), len(wanted), state.arms))
        fill(batch_marginals, rows, rule, (wanted,), mean, found)
        quantiles = np.array([self._shaped(found[:, k], state) for k in range(len(wanted))])
        return self._shaped(mean, state), quantiles

    def _moments(self, state: State, nats: float, cut: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return means and variances ``[..., N]`` and log W ``[...]``."""
        from elsv.beliefs.chain.messages_kernels import batch_moments

        rows = self._rows(state)
        mean, variance, weight = np.empty_like(rows[0]), np.empty_like(rows[0]), np.empty(len(rows[0]))
        fill(batch_moments, rows, (nats, cut), (), mean, variance, weight)
        return self._shaped(mean, state), self._shaped(variance, state), weight.reshape(state.shape)


def _lost(theta: FloatArray, weight: FloatArray) -> IntArray:
    """Return the states whose rules left the range of a double: data far from the order."""
    rows = len(weight)
    return np.flatnonzero(
        ~np.isfinite(theta.reshape(rows, -1).sum(axis=1) + weight.reshape(rows, -1).sum(axis=1))
    )


@lru_cache(maxsize=64)
def _rule(tolerance: float) -> tuple[float, float]:
    """Return how many nats a panel may span, and below its peak by how many an arm is cut off."""
    power = 0.12 if tolerance >= 1e-8 else 0.13
    return 7.0 * (tolerance / 1e-8) ** power, 5.5 - float(np.log(tolerance))
