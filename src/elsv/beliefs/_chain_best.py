"""Which arm of a chain is best, in one state after another."""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np

from elsv._typing import FloatArray, IntArray
from elsv.beliefs._best_kernels import cut_off, first_look, open_chain
from elsv.beliefs._chain_panels import place
from elsv.beliefs._largest import Largest, Panels, goal_of, refined, refuse

_SHALLOWER = 3.0  # nats by which a tail matters less to a probability than to a mean


def best_of_chain(
    alpha: FloatArray, beta: FloatArray, rewards: FloatArray, tolerance: float, nats: float, cut: float
) -> Largest:
    """Return P(arm is best) ``[N]`` and E[max] of one state whose means decrease with i."""
    # Messages are exponentials of sums that are as large as the counts.
    noise = 1e-14 + 1e-15 * float((alpha + beta).sum())
    refuse(noise)
    row, other = alpha[None], beta[None]
    placed = place(row, other, nats, cut - _SHALLOWER if tolerance > 1e-6 else cut + 2)
    goal, (paying, pays) = goal_of(tolerance), _paying(rewards.tobytes())
    field, spans, *sums = first_look(row, other, placed, paying, pays, goal.rule, goal.budget)
    solution = cache(lambda: open_chain(row, other, placed))  # once more, for panels that are refined

    def evaluate(limit: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
        below, density = np.empty(len(limit)), np.empty((count, len(field.alive)))
        cut_off(alpha, beta, solution(), paying[field.alive], field.high, limit, below, density)
        return below, density

    found = refined(field, len(paying), Panels(spans, *sums), evaluate, goal, noise)
    chance = np.zeros(len(alpha))
    chance[paying] = found.chance
    return Largest(chance, found.mean, found.error + 0.1 * tolerance)


@lru_cache(maxsize=64)
def _paying(rewards: bytes) -> tuple[IntArray, FloatArray]:
    """Return the arms that can be best, and their rewards.

    One that pays no more than one above it in the order never is.
    """
    pays = np.frombuffer(rewards)
    arms = np.flatnonzero(np.append(True, pays[1:] > np.maximum.accumulate(pays)[:-1]))
    return arms, pays[arms]
