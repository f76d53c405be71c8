r"""The one rule by which scores become an arm (every policy uses it).

The lowest-numbered arm whose score is within 1e-9 of the best, relative to max(scale, abs(best)), where the
scale is the largest reward: whether two arms tie does not depend on the currency. Ties are common and decide
results, so they must not hang on rounding.
"""

from __future__ import annotations

import numpy as np

from elsv._base.typing import FloatArray, IntArray
from elsv._ties import TIE_TOLERANCE
from elsv.errors import InvalidInputError

__all__ = ["TIE_TOLERANCE", "best_arm"]


def best_arm(scores: FloatArray, scale: float = 1.0, what: str = "scores") -> IntArray:
    """Return the first arm within the tie tolerance of the best score; ``[..., N]`` to ``[...]``.

    `scale` is the largest reward that the scores count in (`elsv.Problem.scale`). An infinite score ties only
    with an equal one. NaN is refused, with `what` in the message.
    """
    from elsv._choice_kernels import choose

    if np.ndim(scores) == 0 or np.shape(scores)[-1] == 0:
        raise InvalidInputError(f"{what} must have the arms as their last axis, got shape {np.shape(scores)}")
    rows = np.ascontiguousarray(scores, dtype=np.float64).reshape(-1, np.shape(scores)[-1])
    if rows.size and np.isnan(np.min(rows)):
        arm_from_1 = int(np.argwhere(np.isnan(rows))[0, 1]) + 1
        raise InvalidInputError(f"{what} must be numbers, got NaN for arm {arm_from_1}")
    arm = np.empty(len(rows), dtype=np.int64)
    choose(rows, float(scale), arm)
    return arm.reshape(np.shape(scores)[:-1])
