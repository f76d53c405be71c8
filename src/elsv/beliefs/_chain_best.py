"""Which arm of a chain is best, in one state after another."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from elsv._typing import FloatArray, IntArray
from elsv.beliefs._best_kernels import cut_off, open_chain
from elsv.beliefs._chain_panels import place
from elsv.beliefs._largest import Contenders, Largest, refuse

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
    low, high = (placed.edges[0][ends[0]] for ends in (placed.first, placed.last))
    solution = open_chain(row, other, placed)
    paying = _paying(rewards.tobytes())
    contenders = Contenders(rewards[paying], low[paying], high[paying], beta.cumsum()[paying])
    arms = paying[contenders.alive]

    def evaluate(limit: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
        below, density = np.empty(len(limit)), np.empty((count, len(arms)))
        cut_off(alpha, beta, solution, arms, contenders.high, limit, below, density)
        return below, density

    found = contenders.largest(evaluate, tolerance, noise)
    chance = np.zeros(len(alpha))
    chance[paying] = found.chance
    return Largest(chance, found.mean, found.error + 0.1 * tolerance)


@lru_cache(maxsize=64)
def _paying(rewards: bytes) -> IntArray:
    """Return the arms that can be best: one that pays no more than one above it in the order never is."""
    pays = np.frombuffer(rewards)
    return np.flatnonzero(np.append(True, pays[1:] > np.maximum.accumulate(pays)[:-1]))
