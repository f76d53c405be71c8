"""The tie rule: how every policy turns scores into an arm.

The rule takes the first arm whose score is within ``TIE * max(scale, abs(best))`` of the best. The scale is
the largest reward, so a change of currency changes no tie. Ties are common and decide results: rounding must
not break them. `elsv._choice_kernels` holds the rule for arrays and for compiled code; CUDA source gets `TIE`
as a generated constant.
"""

from __future__ import annotations

import numpy as np

from elsv._base.numbers import TIE
from elsv._base.typing import FloatArray, IntArray
from elsv.errors import InvalidInputError

__all__ = ["TIE", "best_arm"]


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
