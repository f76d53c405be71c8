"""The compiled form of the tie rule."""

from __future__ import annotations

import math

import numpy as np

from elsv._jit import inlined, kernel
from elsv._typing import FloatArray, IntArray
from elsv.choice import TIE_TOLERANCE


@inlined
def first_best(scores: FloatArray) -> int:
    """Return the first of `scores` ``[N]`` within the tie tolerance of the best; infinities must be equal."""
    best = -np.inf
    for i in range(scores.shape[0]):
        best = max(best, scores[i])
    floor = best - TIE_TOLERANCE * max(1.0, abs(best)) if math.isfinite(best) else best
    i = 0
    while scores[i] < floor:
        i += 1
    return i


@kernel
def choose(scores: FloatArray, arm: IntArray) -> None:
    """Fill arm[b] with the first best of scores[b]."""
    for b in range(scores.shape[0]):
        arm[b] = first_best(scores[b])
