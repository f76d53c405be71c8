"""Value functions on whole layers of the lattice, for lookahead from every state at once (past the paper).

A value that knows a quicker way than being called on batches of states has `on_layer` and `layer_reach`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elsv._base.inheritance import still_holds
from elsv._base.typing import FloatArray
from elsv.beliefs import Belief
from elsv.lattice.numbering import Layer, layer_size
from elsv.lattice.sweeps import Sweeps
from elsv.lattice.work import COUNTING, Start, Work, seconds_for_each
from elsv.state import Arms
from elsv.values.base import ValueFunction, values_at

_BATCH = 1 << 14


def layer_reach(value: ValueFunction) -> int:
    """Return how many layers past its own the value reads."""
    return int(getattr(value, "layer_reach", 0))


def layer_work(value: ValueFunction, problem: Arms, horizon: int, made: int) -> Work:
    """Return what `layer_values` takes in the layer `made`; a value that is called on batches is tried."""
    own: Any = getattr(value, "layer_work", None)
    if own is not None and still_holds(value, "on_layer", "__call__"):
        known: Work | None = own(horizon, made)
        if known is not None:
            return known
    batch = min(_BATCH, layer_size(problem.arms, made))
    each = seconds_for_each(lambda state: values_at(value, state, made + 1), problem, made, batch)
    return Work(alone=1e9 * each + COUNTING * problem.arms)


def layer_start(value: ValueFunction | None, horizon: int) -> Start:
    """Return what a value computes once for all layers."""
    own: Any = getattr(value, "layer_start", None)
    known: Start = Start() if own is None else own(horizon)
    return known


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
