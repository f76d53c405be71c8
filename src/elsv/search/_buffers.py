"""Memory that the searches of one thread use again and again.

A search of 22 pulls fills two megabytes. Fetched anew for every search, the system clears page after page of
them, which takes about as long as a search.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np

from elsv._base.typing import AnyArray
from elsv.lattice.small import Layers

_kept = threading.local()


class Rooms(NamedTuple):
    """What the kernels of a search overwrite; good until the next search of the thread."""

    weights: AnyArray  # [B, states of all layers]; none without weights
    sums: AnyArray  # [states of the last layer]
    values: AnyArray  # [3, states of the frontier]


def rooms_for(layers: Layers, searches: int, weighted: bool = True, precise: bool = True) -> Rooms:
    """Return room for so many searches, one after the other, that keep all their weights.

    Numbers that are not `precise` have seven digits and take half the memory.
    """
    frontier, last, states = layers.first_state[-3:].tolist()
    kept = searches * states * weighted
    sums = kept + (states - last) * weighted
    size = sums + 3 * (last - frontier)
    room: AnyArray | None = getattr(_kept, "room", None)
    if room is None or len(room) < size:
        room = _kept.room = np.empty(size)
    room = room if precise else room.view(np.float32)
    weights = room[:kept].reshape(searches, states * weighted)
    return Rooms(weights, room[kept:sums], room[sums:size].reshape(3, last - frontier))
