"""Where the panels of a chain lie, for a batch of states: found apart from what is then integrated on them.

Few arms are marched through. What the march gives up on, and long chains, are refined, which is compiled when
the first such state comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from elsv._base.typing import FloatArray
from elsv.beliefs.chain import Placed

FEW = 12  # arms for which the march is tried first
ROOM = 256  # panels that the march may use
WIDEST_SPAN = 8.0  # nats on a panel of a long chain, where errors add up over the arms
LARGEST_SKETCH = 8_000_000  # entries of one array of log-domain messages
_TOGETHER = 256  # states whose panels are held at a time


def batches(
    states: tuple[FloatArray, FloatArray], rule: tuple[float, float], known: bool = False
) -> Iterator[tuple[slice, Placed]]:
    """Yield some of the states ``[B, N]`` at a time, which they are and with their panels.

    Panels of the last batches are remembered where they are `known` to be asked for again.
    """
    for start in range(0, len(states[0]), _TOGETHER):
        here = slice(start, start + _TOGETHER)
        alpha, beta = (counts[here] for counts in states)
        if known:
            yield here, _known(alpha.shape[1], alpha.tobytes(), beta.tobytes(), *rule)
        else:
            yield here, place(alpha, beta, *rule)


@lru_cache(maxsize=16)
def _known(arms: int, alpha: bytes, beta: bytes, nats: float, cut: float) -> Placed:
    won, lost = (np.frombuffer(counts).reshape(-1, arms).copy() for counts in (alpha, beta))
    return place(won, lost, nats, cut)


def place(alpha: FloatArray, beta: FloatArray, nats: float, cut: float) -> Placed:
    """Return all states ``[B, N]`` with panels."""
    states, arms = alpha.shape
    windows, room = np.empty((2, states, arms), np.int64), ROOM + 1 if arms <= FEW else 0
    placed = Placed(alpha, beta, np.empty((states, room)), np.zeros(states, np.int64), *windows)
    if arms <= FEW:
        from elsv.beliefs.chain.march_kernels import march_all

        if march_all(placed, nats, cut + 0.3 * arms):
            return placed
    return _refined(placed, nats, cut)


def _refined(placed: Placed, nats: float, cut: float) -> Placed:
    """Return the states with panels for those that have none as well."""
    from elsv.beliefs.chain.refine_kernels import refine_all

    old, count = placed.edges, placed.panels
    capacity = min(max(LARGEST_SKETCH // placed.alpha.shape[1], 4096), 65536)
    lost = np.flatnonzero(count <= 0)
    found = refine_all(placed, min(1.2 * nats, WIDEST_SPAN), cut, lost, capacity)
    edges = np.empty((len(old), max(old.shape[1], int(count[lost].max()) + 1)))
    edges[:, : old.shape[1]] = old
    at = 0
    for s in lost.tolist():
        size = int(count[s]) + 1
        edges[s, :size] = found[at : at + size]
        at += size
    return placed._replace(edges=edges)
