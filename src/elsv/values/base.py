"""What a value function is."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from elsv._base.typing import FloatArray
from elsv.errors import InvalidInputError
from elsv.state import State


class ValueFunction(Protocol):
    """The worth :math:`v_t(s)` of being in state s at step t, before the pull of step t."""

    def __call__(self, state: State, step: int) -> FloatArray:
        """Return the value of every instance, ``[..., N]`` counts to ``[...]``."""
        ...


def values_at(value: ValueFunction, state: State, step: int) -> FloatArray:
    """Return what a value function answers if it is one number for each instance; infinities are."""
    found = np.ascontiguousarray(value(state, step), dtype=np.float64)
    name = getattr(value, "__name__", type(value).__name__)
    if found.shape != state.shape:
        raise InvalidInputError(
            f"a value function must return one number for each state, shape {state.shape}, "
            f"got {found.shape} from {name}"
        )
    if found.size and np.isnan(np.min(found)):
        raise InvalidInputError(f"a value function must return numbers, got NaN from {name} at step {step}")
    return found
