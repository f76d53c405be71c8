"""Bytes that the weights and P(best) of a whole layer take, in closed form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from elsv._base.numbers import as_float
from elsv.beliefs.abilities import factors
from elsv.beliefs.base import Belief
from elsv.beliefs.layers.ladder_weights import size_of_tables
from elsv.beliefs.quadrature import MOST_IN_TABLE, place_nodes
from elsv.lattice.numbering import layer_size, states_up_to
from elsv.state import Arms


def weights_bytes(belief: Belief, arms: Arms, made: int, shared: bool = False) -> float:
    """Return the most that `elsv.beliefs.abilities.layer_weights` takes, the weights included."""
    if factors(belief):
        return 0.0
    size = as_float(layer_size(arms.arms, made))
    ways = getattr(belief, "shared_ways", None)
    if shared and ways is not None and (parts := ways(arms)) is not None:
        return 8.0 * (size + size_of_tables(parts, made) * _nodes(arms, made))
    if not _in_order(belief):
        return 8.0 * size
    sides = ((arms.arms - 1) // 2, arms.arms - 1 - (arms.arms - 1) // 2)
    held = sum(_up_to(side, made) for side in sides if side) * _part(arms, made, _nodes(arms, made))
    return 8.0 * (size + held)


def best_bytes(belief: Belief, arms: Arms, made: int, groups: Sequence[Sequence[int]]) -> float:
    """Return what `elsv.beliefs.abilities.layer_best` takes besides its result."""
    count, size = arms.arms, as_float(layer_size(arms.arms, made))
    if len(groups) > 1 or count == 1:
        return 0.0  # states are asked for in batches
    nodes = _nodes(arms, made)
    if factors(belief) and count < 64:
        part, pieces = _part(arms, made, nodes), len(np.unique(arms.rewards))
        twice = 2 if pieces > 1 or part < nodes else 1  # one piece's tables go when the next ones are there
        return 8.0 * (twice * count * _up_to(1, made) * part + (count + 1) * size)
    if _in_order(belief) and count <= 3:
        tables = {2: 3, 3: 6}[count] * _up_to(1, made) * 1.25 * nodes  # panels end at the kinks
        return 8.0 * (tables + (count + 1) * size)
    return 0.0


def _in_order(belief: Any) -> bool:
    return getattr(belief, "order", None) is not None and hasattr(belief, "layer_weights")


def _nodes(arms: Arms, made: int) -> float:
    """Return how many nodes there are; of absurdly many pulls, how they would grow."""
    most = 10_000
    return len(place_nodes(arms, min(made, most)).weights) * math.sqrt(max(1.0, made / most))


def _up_to(arms: int, made: int) -> float:
    return as_float(states_up_to(arms, made))


def _part(arms: Arms, made: int, nodes: float) -> float:
    """Return how many nodes are worked on at a time."""
    return nodes if arms.arms > 3 else min(nodes, max(1, MOST_IN_TABLE // (made + 1) ** 2))
