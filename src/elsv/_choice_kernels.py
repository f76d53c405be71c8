"""The tie rule of `elsv.choice`, compiled."""

from __future__ import annotations

import numpy as np

from elsv._base.jit import borrowing, kernel
from elsv._base.numbers import TIE
from elsv._base.typing import FloatArray, IntArray


@borrowing
def least_within(best: float, size: float) -> float:
    """Return the least score within ``TIE * size`` of `best`; an infinite score ties only with its equal."""
    least = best - TIE * size
    return best if np.isinf(best) else least


@borrowing
def least_tied(best: float, scale: float) -> float:
    """Return the least score that ties with `best`, `scale` being the largest reward."""
    return least_within(best, max(scale, abs(best)))


@borrowing
def clear_of(best: float, scale: float) -> float:
    """Return a score above which an arm beats `best`, the best of the others, with room to spare."""
    return best + 2 * TIE * max(scale, abs(best))


@borrowing
def first_best(scores: FloatArray, scale: float) -> int:
    """Return the first of `scores` ``[N]`` that ties with the best."""
    best = -np.inf
    for i in range(scores.shape[0]):
        best = max(best, scores[i])
    least = least_tied(best, scale)
    i = 0
    while scores[i] < least:
        i += 1
    return i


@kernel
def least_of(best: float, scale: float) -> float:
    """Return `least_tied` to Python."""
    return least_tied(best, scale)


@kernel
def choose(scores: FloatArray, scale: float, arm: IntArray) -> None:
    """Fill arm[b] with the first best of scores[b]."""
    for b in range(scores.shape[0]):
        arm[b] = first_best(scores[b], scale)
