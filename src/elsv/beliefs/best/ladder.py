"""Which arm of a ladder is best, in one state after another."""

from __future__ import annotations

from typing import Any

import numpy as np

from elsv._base.typing import AnyArray, FloatArray
from elsv.beliefs.best.integral import Contenders, Largest, refuse
from elsv.beliefs.ladder.ranking import Ranking
from elsv.beliefs.ladder.readout_kernels import cut_off, open_ladder
from elsv.beliefs.ladder.solve_kernels import Setup


def best_of_ladder(
    solvers: tuple[tuple[Ranking, Any, Any], ...],
    above: AnyArray,
    unit: FloatArray | None,
    alpha: FloatArray,
    beta: FloatArray,
    rewards: FloatArray,
    tolerance: float,
) -> Largest:
    """Return P(arm is best) ``[N]`` and E[max] of one state.

    Parameters
    ----------
    solvers
        Programs of the parts, which are independent.
    above
        Whether arm a is known to be at least as large as arm b, ``[N, N]``.
    unit
        The r of which it is known that r μ is larger ``[N]``; None if that is known of the means.
    alpha, beta
        The state.
    rewards
        What the arms pay.
    tolerance
        Error that is aimed for.
    """
    noise = 1e-14 + 1e-15 * float((alpha + beta).sum())
    refuse(noise)
    nats, cut = 5.0 * min((tolerance / 1e-8) ** (1 / 16), 1.2), 7.0 - float(np.log(tolerance))
    low, high = np.empty(len(alpha)), np.empty(len(alpha))
    opened = []
    for part, program, axis in solvers:
        own = np.array(part.arms)
        ends = np.empty(len(own)), np.empty(len(own))
        opened.append(open_ladder(alpha[own], beta[own], Setup(program, axis, nats, cut), *ends))
        low[own], high[own] = ends
    # An arm that another one known to be at least as large pays no less than is never the best.
    payoff = rewards if unit is None else rewards / unit
    beaten = above & (payoff[:, None] >= payoff)
    paying = np.flatnonzero(~beaten.any(axis=0))
    power = beta + above.T @ beta
    contenders = Contenders(rewards[paying], low[paying], high[paying], power[paying])
    arms = paying[contenders.alive]

    def evaluate(limit: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
        whole = np.full((len(limit), len(alpha)), np.inf)
        whole[:, arms] = limit
        below, rate = np.ones(len(limit)), np.zeros((count, len(alpha)))
        shares = []
        for (part, program, axis), (panels, weight) in zip(solvers, opened, strict=True):
            own = np.array(part.arms)
            share, density = np.empty(len(limit)), np.empty((count, len(own)))
            state = alpha[own], beta[own]
            setup, bounds = Setup(program, axis, nats, cut), np.ascontiguousarray(whole[:, own])
            cut_off(*state, setup, panels, weight, bounds, share, density)
            rate[:, own] = density
            below *= share
            shares.append(share[:count])
        for k, (part, _, _) in enumerate(solvers):
            for other, share in enumerate(shares):
                if other != k:
                    rate[:, part.arms] *= share[:, None]
        return below, np.ascontiguousarray(rate[:, arms])

    found = contenders.largest(evaluate, tolerance, noise)
    chance = np.zeros(len(alpha))
    chance[paying] = found.chance
    return Largest(chance, found.mean, found.error + 0.1 * tolerance)
