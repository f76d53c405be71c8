"""Equal states of a batch, taken together."""

from __future__ import annotations

import numpy as np

from elsv._base.typing import FloatArray, IntArray


def grouped(alpha: FloatArray, beta: FloatArray) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    """Return the distinct states ``[U, N]`` of rows, where their instances begin, and these in that order."""
    distinct, group = np.unique(np.hstack([alpha, beta]), axis=0, return_inverse=True)
    order = np.argsort(group.reshape(-1), kind="stable")
    counts = np.bincount(group.reshape(-1), minlength=len(distinct))
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    arms = alpha.shape[1]
    return distinct[:, :arms].copy(), distinct[:, arms:].copy(), starts, order
