"""Value functions on whole layers of the lattice, for lookahead from every state at once (past the paper).

A value that knows a quicker way than being called on batches of states has `on_layer` and `layer_reach`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elsv._base.inheritance import still_holds
from elsv._base.typing import FloatArray
from elsv.beliefs import Belief
from elsv.lattice.numbering import Layer
from elsv.lattice.sweeps import Sweep, Sweeps
from elsv.problem import Problem
from elsv.values.base import ValueFunction, values_at

_BATCH = 1 << 14


def layer_reach(value: ValueFunction) -> int:
    """Return how many layers past its own the value reads."""
    return int(getattr(value, "layer_reach", 0))


def layer_rooms(value: ValueFunction) -> int:
    """Return how many arrays of a layer a search on the value uses at one time."""
    return int(getattr(value, "layer_rooms", 2))


def search_sweep(value: ValueFunction, problem: Problem, step: int, depth: int) -> Sweep | None:
    """Return the sweep that is a search of this depth on the value, as the value names it, or None."""
    own: Any = getattr(value, "search_sweep", None)
    if own is None or not still_holds(value, "search_sweep", "__call__"):
        return None
    named: Sweep | None = own(problem, step, depth)
    return named


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
