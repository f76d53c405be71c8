"""What the weights and P(best) of a whole layer take, known before they are computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from elsv._base.numbers import as_float
from elsv.beliefs.abilities import BATCH, best, best_in_groups, factors, log_weight
from elsv.beliefs.base import Belief
from elsv.beliefs.layers.ladder_weights import Ways, size_of_tables
from elsv.beliefs.quadrature import MOST_IN_TABLE, place_nodes
from elsv.lattice.numbering import block_count, layer_size, states_up_to
from elsv.lattice.work import Start, is_compiled, seconds_for_each
from elsv.state import Arms, State

_PRODUCT = 0.5e-9  # seconds for a state and node
_TABLE = 12e-9  # for a number of a table of messages
_PAIR = 0.25e-9  # for a pair of nodes and states of two arms, where one arm crosses another
_MESSAGE = 0.6e-3  # for the messages of two arms and more with given pulls, what is done in Python
_BLOCK = 60e-6  # for a block of states, what is done in Python
_STACK = 4e-9  # for a number of an array that NumPy works through a few times


def weights_work(belief: Belief, arms: Arms, made: int, shared: bool = False) -> Start:
    """Return what `elsv.beliefs.abilities.layer_weights` takes."""
    if factors(belief):
        return Start()
    size = as_float(layer_size(arms.arms, made))
    ways = getattr(belief, "shared_ways", None)
    if shared and ways is not None and (parts := ways(arms)) is not None:
        return _shared_work(parts, arms, made, size)
    if not _in_order(belief):
        batch = int(min(BATCH, size))
        each = seconds_for_each(lambda state: log_weight(belief, state), arms, made, batch)
        return Start(alone=each * size, bytes=8.0 * size)
    nodes = _nodes(arms, made)
    sides = ((arms.arms - 1) // 2, arms.arms - 1 - (arms.arms - 1) // 2)
    # Each side's messages, and the tables of fewer arms that they come from.
    numbers = sum(_up_to(q, made) * nodes for side in sides for q in range(1, side + 1))
    python = _MESSAGE * sum(as_float(block_count(q + 1, made)) for side in sides for q in range(2, side + 1))
    held = sum(_up_to(side, made) for side in sides if side) * _part(arms, made, nodes)
    return Start(_PRODUCT * size * nodes, _TABLE * numbers + python + 1e-3, 8.0 * (size + held))


def _shared_work(parts: tuple[Ways, ...], arms: Arms, made: int, size: float) -> Start:
    """Return what weights of a layer take on nodes that all its states share."""
    nodes, blocks = _nodes(arms, made), as_float(block_count(arms.arms, made))
    held, worked, messages = size_of_tables(parts, made)
    ends = sum(len(ways.middle()) for ways in parts)
    if len(parts) == 1:
        products, python = _PRODUCT * size * nodes * ends, _BLOCK * blocks * ends
    else:
        states = sum(_up_to(len(ways.arms), made) * len(ways.middle()) for ways in parts)
        products, python = _PRODUCT * states * nodes, _BLOCK * blocks * len(parts)
    tables = _MESSAGE * messages + _TABLE * nodes * worked
    return Start(products, tables + python, 8.0 * (size + held * nodes))


def weights_compiled(belief: Belief) -> bool:
    """Return whether what computes the weights was compiled before."""
    from elsv.beliefs.layers.weights_kernels import add_products

    return factors(belief) or is_compiled(add_products)


def best_work(belief: Belief, arms: Arms, made: int, groups: Sequence[Sequence[int]] | None = None) -> Start:
    """Return what `elsv.beliefs.abilities.layer_best` takes; the result is not in its bytes."""
    count, size = arms.arms, as_float(layer_size(arms.arms, made))
    if groups is not None:
        batch = int(min(BATCH, size))
        each = seconds_for_each(partial(_ask_groups, belief, arms, groups), arms, made, batch)
        return Start(shared=each * size)
    if count == 1:
        return Start()
    nodes, blocks = _nodes(arms, made), as_float(block_count(count, made))
    triangle = _up_to(1, made) * nodes
    if factors(belief) and count < 64:
        pieces = len(np.unique(arms.rewards))
        products = _PRODUCT * size * nodes * count * pieces
        python = (_BLOCK * blocks + _STACK * nodes * _up_to(max(count - 1, 1), made)) * count * pieces
        part = _part(arms, made, nodes)
        twice = 2 if pieces > 1 or part < nodes else 1  # one piece's tables go when the next ones are there
        held = 8.0 * twice * count * _up_to(1, made) * part
        return Start(products, python + _TABLE * triangle * count * pieces, held + 8.0 * (count + 1) * size)
    if _in_order(belief) and count <= 3:
        nodes *= 1.25  # panels end at the kinks
        pairs = _up_to(2, made)
        crossing = _PAIR * pairs * nodes * nodes if count == 3 else 0.0
        products = _PRODUCT * size * nodes * count
        stacks = _STACK * nodes * (pairs * count if count == 3 else triangle / nodes)
        tables = {2: 3, 3: 6}[count] * triangle
        peak = 8.0 * (tables + (count + 1) * size)
        return Start(crossing + products, _BLOCK * blocks * count + stacks + _TABLE * tables, peak)
    batch = int(min(BATCH, size))
    each = seconds_for_each(lambda state: best(belief, state, arms.rewards), arms, made, batch)
    return Start(alone=each * size)


def _ask_groups(belief: Belief, arms: Arms, groups: Sequence[Sequence[int]], state: State) -> object:
    return best_in_groups(belief, state, arms.rewards, groups)


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
