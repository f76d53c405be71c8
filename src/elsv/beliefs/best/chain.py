"""Which arm of a chain is best, in one state after another."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from elsv._base.typing import FloatArray, IntArray
from elsv.beliefs.best.chain_kernels import cut_off, first_look, open_chain
from elsv.beliefs.best.integral import Contenders, Largest, goal_of, refuse
from elsv.beliefs.chain.panels import place

_SHALLOWER = 3.0  # nats by which a tail matters less to a probability than to a mean


def best_of_chain(
    alpha: FloatArray, beta: FloatArray, rewards: FloatArray, tolerance: float, nats: float, cut: float
) -> Largest:
    """Return P(arm is best) ``[N]`` and E[max] of one state whose means decrease with i."""
    # Messages are exponentials of sums that are as large as the counts.
    noise = 1e-14 + 1e-15 * float((alpha + beta).sum())
    refuse(noise)
    row, other, chance = alpha[None], beta[None], np.zeros(len(alpha))
    goal, (paying, pays) = goal_of(tolerance), _paying(rewards.tobytes())
    coarse = tolerance > 1e-6  # then panels are seldom refined
    deep = cut - _SHALLOWER if coarse else cut + 2
    mean, left, short = 0.0, np.inf, 0.0
    if coarse:
        placed = place(row, other, nats, deep)
        mean, left, short = first_look(row, other, placed, paying, pays, goal.rule, goal.budget, chance)
    error = left + short + noise
    if left > goal.enough:
        chance[paying], mean, error = _step_by_step(row, other, paying, pays, tolerance, noise, nats, deep)
    refuse(error)
    return Largest(chance, mean, error + 0.1 * tolerance)


def _step_by_step(
    row: FloatArray,
    other: FloatArray,
    paying: IntArray,
    pays: FloatArray,
    tolerance: float,
    noise: float,
    nats: float,
    deep: float,
) -> Largest:
    """Return what is known of the largest of the arms `paying` of one state ``[1, N]``, panels refined."""
    placed = place(row, other, nats, deep)
    low, high = (placed.edges[0][ends[0]] for ends in (placed.first, placed.last))
    solution = open_chain(row, other, placed)
    contenders = Contenders(pays, low[paying], high[paying], other[0].cumsum()[paying])
    arms = paying[contenders.alive]

    def evaluate(limit: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
        below, density = np.empty(len(limit)), np.empty((count, len(arms)))
        cut_off(row[0], other[0], solution, arms, high[arms], limit, below, density)
        return below, density

    return contenders.largest(evaluate, tolerance, noise)


@lru_cache(maxsize=64)
def _paying(rewards: bytes) -> tuple[IntArray, FloatArray]:
    """Return the arms that can be best, and their rewards.

    One that pays no more than one above it in the order never is.
    """
    pays = np.frombuffer(rewards)
    arms = np.flatnonzero(np.append(True, pays[1:] > np.maximum.accumulate(pays)[:-1]))
    return arms, pays[arms]
