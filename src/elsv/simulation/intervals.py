"""Sums over instances become means with 95 % intervals."""

from __future__ import annotations

import numpy as np

from elsv._base.typing import FloatArray

Z95 = 1.959963984540054


def interval(total: FloatArray, squares: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the half-width of its 95 % interval from Σx and Σx²."""
    mean = total / n
    if n < 2:
        return mean, np.full(mean.shape, np.inf)
    variance = np.maximum(squares - n * mean * mean, 0.0) / (n - 1)
    return mean, Z95 * np.sqrt(variance / n)
