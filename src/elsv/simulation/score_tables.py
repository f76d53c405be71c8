"""Tables of index scores by step, made once per process and shared by all chunks and threads."""

from __future__ import annotations

import threading
from collections import OrderedDict

import numpy as np

from elsv import triangle
from elsv._typing import FloatArray
from elsv.indices import Index, Setting
from elsv.indices.tables import Triangles, triangles
from elsv.problem import Problem, distinct_priors

# Tables of all steps together, for one index and prior; longer runs make them chunk by chunk.
_MOST_BYTES = 256_000_000
_KEPT = 16

_shared: OrderedDict[tuple[object, ...], SharedTriangles] = OrderedDict()
_lock = threading.Lock()


class SharedTriangles:
    """The triangles of one index and prior for all steps, each computed when first asked for."""

    def __init__(self, source: Triangles) -> None:
        self._source = source
        self._tables: list[FloatArray] = []
        self._lock = threading.Lock()

    def __call__(self, step: int) -> FloatArray:
        """Return the table of `step`, all states with fewer than `step` pulls."""
        if step > len(self._tables):
            with self._lock:
                # In order, because an interpolated index is cheapest that way.
                while len(self._tables) < step:
                    self._tables.append(self._source(len(self._tables) + 1))
        return self._tables[step - 1]


class ScoreTables:
    """Tables of one index for all arms of a problem: ``at(step)`` and which table serves which arm."""

    def __init__(self, problem: Problem, index: Index, horizon: int) -> None:
        members, self.group = distinct_priors(problem)
        setting = Setting.of(problem)
        self._sources = [_source(index, setting.arm(i), horizon) for i in members]

    def at(self, step: int) -> FloatArray:
        """Return the scores at `step`, ``[groups, size(step)]``."""
        if len(self._sources) == 1:
            return self._sources[0](step)[None]
        return np.stack([source(step) for source in self._sources])


def _source(index: Index, setting: Setting, horizon: int) -> Triangles:
    steps = horizon if index.uses_step else 1
    if 8 * steps * triangle.size(horizon) / 3 > _MOST_BYTES:
        return triangles(index, setting, horizon - 1)
    key = (
        index,
        float(setting.prior_alpha),
        float(setting.prior_beta),
        *setting.corners.tolist(),
        setting.arms,
        setting.horizon,
        setting.discount,
        horizon,
    )
    with _lock:
        if key not in _shared:
            _shared[key] = SharedTriangles(triangles(index, setting, horizon - 1))
            while len(_shared) > _KEPT:
                _shared.popitem(last=False)
        _shared.move_to_end(key)
        return _shared[key]
