"""What a value function is, in single states and on whole layers of the lattice.

A value that knows a quicker way than being called on batches of states has `on_layer`, and `layer_reach` if
that reads later layers.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from elsv._base.inheritance import still_holds
from elsv._base.typing import FloatArray
from elsv.beliefs import Belief
from elsv.errors import InvalidInputError
from elsv.lattice.numbering import Layer
from elsv.lattice.sweeps import Sweep, Sweeps
from elsv.problem import Problem
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


def layer_reach(value: ValueFunction | None) -> int:
    """Return how many layers past its own the value reads."""
    return int(getattr(value, "layer_reach", 0))


def layer_rooms(value: ValueFunction | None) -> int:
    """Return how many arrays of a layer a search on the value uses at one time."""
    return int(getattr(value, "layer_rooms", 2))


def search_sweep(value: ValueFunction, problem: Problem, step: int, depth: int) -> Sweep | None:
    """Return the sweep that is a search of this depth on the value, as the value names it, or None."""
    own: Any = getattr(value, "search_sweep", None)
    named: Sweep | None = own(problem, step, depth) if names_sweep(value) else None
    return named


def names_sweep(value: ValueFunction) -> bool:
    """Return whether the value names a sweep that is a search on it."""
    return hasattr(value, "search_sweep") and still_holds(value, "search_sweep", "__call__")


def layer_values(value: ValueFunction, sweeps: Sweeps, layer: Layer, belief: Belief) -> FloatArray:
    """Return v of the layer's own step, times W under `belief` where it has weights, in room to give back."""
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
