r"""The one rule by which scores become an arm (every policy uses it).

The lowest-numbered arm whose score is within 1e-9, relative to max(1, abs(best)), of the best. Ties are
common and decide results, so they must not hang on rounding.
"""

from __future__ import annotations

import numpy as np

from elsv._typing import FloatArray, IntArray
from elsv.errors import InvalidInputError

TIE_TOLERANCE = 1e-9


def best_arm(scores: FloatArray, what: str = "scores") -> IntArray:
    """Return the first arm within the tie tolerance of the best score; ``[..., N]`` to ``[...]``.

    An infinite score ties only with an equal one. NaN is refused, with `what` in the message.
    """
    from elsv._choice_kernels import choose

    rows = np.ascontiguousarray(scores, dtype=np.float64).reshape(-1, np.shape(scores)[-1])
    if rows.size and np.isnan(np.min(rows)):
        arm_from_1 = int(np.argwhere(np.isnan(rows))[0, 1]) + 1
        raise InvalidInputError(f"{what} must be numbers, got NaN for arm {arm_from_1}")
    arm = np.empty(len(rows), dtype=np.int64)
    choose(rows, arm)
    return arm.reshape(np.shape(scores)[:-1])
