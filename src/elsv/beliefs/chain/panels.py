"""Where the panels of a chain lie, for a batch of states: found apart from what is then integrated on them.

Few arms are marched through. What the march gives up on, and long chains, are refined, which is compiled when
the first such state comes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from elsv._base.typing import AnyArray, FloatArray
from elsv.beliefs.chain import Placed

FEW = 12  # arms for which the march is tried first
ROOM = 256  # panels that the march may use
WIDEST_SPAN = 8.0  # nats on a panel of a long chain, where errors add up over the arms
LARGEST_SKETCH = 8_000_000  # entries of one array of log-domain messages
_TOGETHER = 256  # states whose panels are held at a time


def fill(
    kernel: Callable[..., None],
    states: tuple[FloatArray, FloatArray],
    rule: tuple[float, float],
    shared: tuple[Any, ...],
    *arrays: AnyArray,
    known: bool = False,
) -> None:
    """Call a kernel on some of the states ``[B, N]`` at a time, with their panels.

    It gets `shared` arguments and its part of `arrays`. Panels of the last batches are remembered where they
    are `known` to be asked for again.
    """
    for start in range(0, len(states[0]), _TOGETHER):
        here = slice(start, start + _TOGETHER)
        alpha, beta = (counts[here] for counts in states)
        if known:
            placed = _known(alpha.shape[1], alpha.tobytes(), beta.tobytes(), *rule)
        else:
            placed = place(alpha, beta, *rule)
        kernel(alpha, beta, placed, *shared, *(array[here] for array in arrays))


@lru_cache(maxsize=16)
def _known(arms: int, alpha: bytes, beta: bytes, nats: float, cut: float) -> Placed:
    won, lost = (np.frombuffer(counts).reshape(-1, arms).copy() for counts in (alpha, beta))
    return place(won, lost, nats, cut)


def place(alpha: FloatArray, beta: FloatArray, nats: float, cut: float) -> Placed:
    """Return panels for all states ``[B, N]``."""
    states, arms = alpha.shape
    count, windows = np.empty(states, np.int64), np.empty((2, states, arms), np.int64)
    first, last = windows[0], windows[1]
    if arms <= FEW:
        from elsv.beliefs.chain.march_kernels import march_all

        edges = np.empty((states, ROOM + 1))
        if march_all(alpha, beta, nats, cut + 0.3 * arms, edges, count, first, last):
            return Placed(edges, count, first, last)
    else:
        edges = np.empty((states, 0))
        count[:] = 0
    return _refined(alpha, beta, nats, cut, Placed(edges, count, first, last))


def _refined(alpha: FloatArray, beta: FloatArray, nats: float, cut: float, placed: Placed) -> Placed:
    """Return panels for the states that have none as well."""
    from elsv.beliefs.chain.refine_kernels import refine_all

    capacity = min(max(LARGEST_SKETCH // alpha.shape[1], 4096), 65536)
    span = min(1.2 * nats, WIDEST_SPAN)
    old, count, first, last = placed
    lost = np.flatnonzero(count <= 0)
    found = refine_all(alpha, beta, span, cut, lost, capacity, count, first, last)
    edges = np.empty((len(alpha), max(old.shape[1], int(count[lost].max()) + 1)))
    edges[:, : old.shape[1]] = old
    at = 0
    for s in lost.tolist():
        size = int(count[s]) + 1
        edges[s, :size] = found[at : at + size]
        at += size
    return Placed(edges, count, first, last)
