"""The one rule by which scores become an arm (every policy uses it).

The lowest-numbered arm whose score is within 1e-9, relative to max(1, abs(best)), of the best. Ties are
common and decide results, so they must not hang on rounding.
"""

from __future__ import annotations

import numpy as np

from elsv._typing import FloatArray, IntArray

TIE_TOLERANCE = 1e-9


def best_arm(scores: FloatArray) -> IntArray:
    """Return the first arm within the tie tolerance of the best score; ``[..., N]`` to ``[...]``.

    An infinite score ties only with an equal one.
    """
    best = scores.max(axis=-1, keepdims=True)
    slack = np.where(np.isfinite(best), TIE_TOLERANCE * np.maximum(1.0, np.abs(best)), 0.0)
    arm: IntArray = np.argmax(scores >= best - slack, axis=-1)
    return arm
