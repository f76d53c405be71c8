"""What a value function is, in single states and on whole layers of the lattice.

A value that knows a quicker way than being called on batches of states has `on_layer`, with `layer_reach` if
that reads so many later layers and `layer_rooms` if it uses other than 2 arrays of a layer at one time. One
that names a sweep which is a search on it has `search_sweep`.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from elsv._base.inheritance import still_holds
from elsv._base.typing import FloatArray
from elsv.beliefs import Belief
from elsv.errors import InvalidInputError
from elsv.lattice.numbering import Layer
from elsv.lattice.sweeps import Sweeps
from elsv.state import State

_BATCH = 1 << 14


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


def nothing(sweeps: Sweeps, layer: Layer) -> FloatArray:
    """Return zeros for all states of a layer, in room to give back."""
    room = sweeps.take(layer.size)
    room[:] = 0.0
    return room


def names_sweep(value: ValueFunction) -> bool:
    """Return whether the value names a sweep that is a search on it."""
    return hasattr(value, "search_sweep") and still_holds(value, "search_sweep", "__call__")


def layer_values(value: ValueFunction | None, sweeps: Sweeps, layer: Layer, belief: Belief) -> FloatArray:
    """Return v of the layer's own step, times W under `belief` where it has weights, in room to give back."""
    if value is None:
        return nothing(sweeps, layer)
    own: Any = getattr(value, "on_layer", None)
    if own is not None and still_holds(value, "on_layer", "__call__"):
        filled: FloatArray | None = own(sweeps, layer, belief)
        if filled is not None:
            return filled
    out = sweeps.take(layer.size)
    for here, state in layer.batches(sweeps.arms, _BATCH):
        out[here] = values_at(value, state, layer.step)
    weights = sweeps.weights(layer.made, belief)
    if len(weights):
        # An infinite value of an impossible state must not become NaN.
        np.multiply(out, weights, out=out, where=weights > 0)
    return out
