"""Value functions on whole layers of the lattice, for lookahead from every state at once (past the paper).

A value that knows a quicker way than being called on batches of states has `on_layer` and `layer_reach`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elsv._base.inheritance import still_holds
from elsv._base.triangle import number, states
from elsv._base.typing import FloatArray
from elsv.beliefs import Belief
from elsv.lattice.numbering import Layer
from elsv.lattice.steps import Sweep
from elsv.lattice.sweeps import Sweeps
from elsv.problem import Problem, distinct_priors
from elsv.values.base import ValueFunction, values_at
from elsv.values.separable import SeparableValue

_BATCH = 1 << 14


def layer_reach(value: ValueFunction) -> int:
    """Return how many layers past its own the value reads."""
    return int(getattr(value, "layer_reach", 0))


def layer_rooms(value: ValueFunction) -> int:
    """Return how many arrays of a layer a search on the value uses at one time."""
    return int(getattr(value, "layer_rooms", 2))


def gain_sweep(problem: Problem, value: SeparableValue | None, step: int) -> Sweep:
    """Return the sweep of one step of lookahead on a separable value, or on none, from tables of each arm.

    They hold what a success, a failure and another arm's pull are worth per reward.
    """
    members, group = distinct_priors(problem)
    return Sweep("gain", tables=np.stack([_gains(value, step, i) for i in members], axis=1), group=group)


def _gains(value: SeparableValue | None, step: int, arm: int) -> FloatArray:
    """Return the three tables ``[3, states]`` of an arm."""
    successes, pulls = states(step)
    if value is None:
        return np.stack([np.ones(len(pulls)), np.zeros(len(pulls)), np.zeros(len(pulls))])
    table, failed = value.table(step + 1, arm), number(successes, pulls + 1)
    here = table[: len(pulls)]
    first = np.isneginf(here)
    start = np.where(first, 0.0, here)
    won = 1.0 + value.weight * (table[failed + 1] - start)
    lost = value.weight * (table[failed] - start)
    return np.stack([np.where(first, np.inf, won), np.where(first, np.inf, lost), value.weight * start])


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
