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
    NO_LEVELS,
    Integrated,
    MethodUsed,
    Order,
    best_one_by_one,
    check_order,
    check_rewards,
    check_tolerance,
)
from elsv.beliefs.chain.panels import batches
from elsv.beliefs.layers.best import best_in_order
from elsv.beliefs.layers.tables import MOST_ARMS, contradicts, factor_tables
from elsv.beliefs.layers.weights import chain_ways, weights_by_parts
from elsv.beliefs.points import FEW, check_count, power_from, rule_sizes, some_uniforms
from elsv.lattice.numbering import Lattice, Layer
from elsv.lattice.workers import Crew, crew
from elsv.state import Arms, State

_NESTED = (12.0, 20.0)  # nats on a panel and cut under Gauss rules: scores within about 1e-8 of themselves
_BATCH = 4096  # states of a layer that are integrated at once


@dataclass(frozen=True)
class Chain(Integrated):
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
    _inside: ClassVar[float] = 0.25
    # The width of panels is halved with the usual rule's nats.
    _finer: ClassVar[tuple[float, float]] = 0.5, 3.5

    def __post_init__(self) -> None:
        check_order(self.order)
        super().__post_init__()

    @staticmethod
    @lru_cache(maxsize=64)
    def _rule(tolerance: float) -> tuple[float, float]:
        power = 0.12 if tolerance >= 1e-8 else 0.13
        return 7.0 * (tolerance / 1e-8) ** power, 5.5 - float(np.log(tolerance))

    def log_weight(self, state: State) -> FloatArray:
        r"""Return log of :math:`W = \int_{order} \prod x_i^{\alpha_i-1}(1-x_i)^{\beta_i-1} dx`, ``[...]``."""
        return self._read(state, *self._rule(self.tolerance), 0)[0]

    def describe_method(self, state: State) -> MethodUsed:
        """Say how the means are computed."""
        words = f"a chain of {state.arms} arms, integrated: {state.arms} messages"
        return MethodUsed("chain", words, {"messages": state.arms})

    def draw(self, state: State, rng: Rng) -> FloatArray:
        """Return one joint draw of the means, in order, for every instance, shape ``[..., N]``."""
        rows = state.rows(self._step)
        drawn = self._inverse(rows, rng.random(rows[0].shape)[:, None])
        return self._turned(drawn).reshape(state.alpha.shape)

    def points(self, state: State, count: int, arms: IntArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return joint points ``[..., M, A]`` of all arms, or of `arms` ``[..., A]``, and weights.

        Up to three arms: Gauss rules, one arm given another, at most `count` points. More: evenly spread
        uniform numbers through the inverse that `draw` uses, a power of two from `count` up. The numbers of
        `arms` increase; all other arms are integrated out.
        """
        number = check_count(count)
        wanted = state.arms if arms is None else arms.shape[-1]
        if wanted > FEW:
            theta, weight = self.spread_points(state, number)
            return (theta if arms is None else np.take_along_axis(theta, arms[..., None, :], axis=-1)), weight
        rows = state.rows(self._step)
        chosen = np.arange(wanted) if arms is None else arms
        chosen = np.broadcast_to(chosen, (*state.shape, wanted)).reshape(-1, wanted)
        if self.order == "increasing":
            chosen = (state.arms - 1 - chosen)[:, ::-1]
        outer, inner = rule_sizes(number, wanted)
        theta, weight = self._rule_points(rows, outer, inner, chosen.copy())
        if self.order == "increasing":
            # The last arm of the loop is then the first one: those that share the other two stay together.
            sides = (len(chosen), -1, inner, inner) if wanted == FEW else (len(chosen), -1, 1, 1)
            theta = theta[..., ::-1].reshape(*sides, wanted).swapaxes(2, 3)
            weight = weight.reshape(sides).swapaxes(2, 3)
        shape = (*state.shape, outer * inner ** (wanted - 1))
        return np.ascontiguousarray(theta).reshape(*shape, wanted), weight.reshape(shape)

    some_points = points

    def arm_points(self, state: State, count: int) -> tuple[FloatArray, FloatArray]:
        """Return `count` points of every arm with the means of all arms there, and their weights.

        Shapes ``[..., N, K, N]`` and ``[..., N, K]``: a Gauss rule for the arm alone, at whose points the
        other arms have the means that they have given it.
        """
        rows, shape = state.rows(self._step), (-1, state.arms, check_count(count))
        none = np.empty((len(rows[0]), 0), np.int64)
        found = self._rule_points(rows, count, 1, none)
        theta, weight = found[0].reshape(*shape, state.arms), found[1].reshape(shape)
        if self.order == "increasing":
            theta, weight = np.ascontiguousarray(theta[:, ::-1, :, ::-1]), weight[:, ::-1].copy()
        return theta.reshape(*state.shape, *theta.shape[1:]), weight.reshape(*state.shape, *weight.shape[1:])

    def spread_points(self, state: State, count: int) -> tuple[FloatArray, FloatArray]:
        """Return joint points of all arms from uniform numbers, all of the same weight."""
        uniform = some_uniforms(0, power_from(count), state.arms)
        theta = self._turned(self._inverse(state.rows(self._step), uniform[None]))
        theta = theta.reshape(*state.shape, -1, state.arms)
        return theta, np.full(theta.shape[:-1], 1 / theta.shape[-2])

    def sequence(self, state: State, start: int, stop: int) -> FloatArray:
        """Return points `start` to `stop` - 1 of one state, ``[M, N]``; `spread_points` begins with them."""
        uniform = some_uniforms(start, stop, state.arms)
        return self._turned(self._inverse(state.rows(self._step), uniform[None])[0])

    def best_with_error(
        self, state: State, rewards: ArrayLike, tolerance: float | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what `best` does and its measured error, for E[max] over the largest reward, ``[...]``.

        Arm j is cut off at :math:`v / r_j` for every v, and the rate at which the weight grows with v through
        arm i is integrated over v, with an error of at most `tolerance` (default: the belief's own). An arm
        that the order says is never above another one paying as much has probability zero.
        """
        from elsv.beliefs.best.integral import best_of_chain

        payoff = check_rewards(state, rewards)[:: self._step]
        goal = self.tolerance if tolerance is None else check_tolerance(tolerance)
        nats, cut = self._rule(goal)
        best_of = partial(best_of_chain, rewards=payoff, tolerance=goal, nats=nats, cut=cut)
        return best_one_by_one(state, best_of, self._step)

    def factor_tables(self, arms: Arms, made: int) -> tuple[list[FloatArray], ...]:
        """Return tables of two or three arms whose products add up to W."""
        return factor_tables(arms, self, made)

    def layer_weights(self, arms: Arms, lattice: Lattice, made: int, workers: int = 1) -> FloatArray:
        """Return W of all states of the lattice after `made` pulls, divided by one number."""
        relative = contradicts(arms, self)
        if not relative or arms.arms <= MOST_ARMS:
            parts = chain_ways(arms.arms, self.order)
            return weights_by_parts(arms, parts, lattice, made, workers, relative)
        layer, precise = lattice.layer(made), self.precise()
        out, start = np.empty(layer.size), precise.log_weight(State.initial(arms))

        def weigh(batch: tuple[slice, State]) -> None:
            here, state = batch
            out[here] = 2.0 ** (lattice.most // 2) * np.exp(precise.log_weight(state) - start)

        with crew(workers) as threads:
            threads.map(weigh, layer.batches(arms, _BATCH))
        return out

    def layer_best(self, arms: Arms, layer: Layer, crew: Crew) -> FloatArray | None:
        """Return P(arm i is best) in all states of a layer ``[N, states]``; None for four arms and more."""
        return best_in_order(arms, self, layer, crew)

    @property
    def _step(self) -> int:
        return -1 if self.order == "increasing" else 1

    def _turned(self, found: FloatArray) -> FloatArray:
        """Return what is known of arms in decreasing order of their means in the order of the problem."""
        return found[..., ::-1].copy() if self.order == "increasing" else found

    def _read(
        self, state: State, nats: float, cut: float, rows: int, levels: FloatArray = NO_LEVELS
    ) -> tuple[FloatArray, FloatArray]:
        from elsv.beliefs.chain.readout_kernels import batch_read

        states = state.rows(self._step)
        weight, out = np.empty(len(states[0])), np.empty((len(states[0]), rows, state.arms))
        for here, placed in batches(states, (nats, cut)):
            batch_read(placed, levels, weight[here], out[here])
        if rows:
            out = np.ascontiguousarray(self._turned(out).transpose(1, 0, 2)).reshape(rows, *state.alpha.shape)
        return weight.reshape(state.shape), out

    def _inverse(self, rows: tuple[FloatArray, FloatArray], uniform: FloatArray) -> FloatArray:
        """Return points ``[B, M, N]`` in decreasing order from uniform numbers, ``[1, M, N]`` for all."""
        from elsv.beliefs.chain.readout_kernels import batch_draw

        theta = np.empty((len(rows[0]), *uniform.shape[1:]))
        for here, placed in batches(rows, self._rule(self.tolerance)):
            batch_draw(placed, uniform[here] if len(uniform) > 1 else uniform, theta[here])
        return theta

    def _rule_points(
        self, rows: tuple[FloatArray, FloatArray], outer: int, inner: int, arms: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return points of some `arms` ``[B, M, A]`` by rules, and weights; of no arms, those of every arm.

        Where they leave the range of a double, far from the order, they are spread ones.
        """
        from elsv.beliefs.chain.readout_kernels import batch_rule_points

        (states, number), wanted = rows[0].shape, arms.shape[1]
        times, each = (1, outer * inner ** (wanted - 1)) if wanted else (number, outer)
        theta, weight = np.empty((states, times * each, wanted or number)), np.empty((states, times * each))
        for here, placed in batches(rows, _NESTED, known=True):
            batch_rule_points(placed, outer, inner, _NESTED[0], arms[here], theta[here], weight[here])
        for s in np.flatnonzero(~np.isfinite(theta.sum(axis=(1, 2)) + weight.sum(axis=1))):
            uniform = some_uniforms(0, each, number)[None]
            spread = self._inverse((rows[0][s : s + 1], rows[1][s : s + 1]), uniform)[0]
            theta[s] = spread[:, arms[s]] if wanted else np.tile(spread, (number, 1))
            weight[s] = 1 / each
        return theta, weight
