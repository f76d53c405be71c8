"""What a value function is."""

from __future__ import annotations

from typing import Protocol

from elsv._typing import FloatArray
from elsv.state import State


class ValueFunction(Protocol):
    """The worth :math:`v_t(s)` of being in state s at step t, before the pull of step t."""

    def __call__(self, state: State, step: int) -> FloatArray:
        """Return the value of every instance, ``[..., N]`` counts to ``[...]``."""
        ...
