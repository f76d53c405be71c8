"""Index tables of all arms of a problem by step, for simulation and exact evaluation alike.

The tables of an index and a prior are made once per process and shared by all threads while those of all
steps fit into memory; longer runs keep the last few.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

import numpy as np

from elsv._base import triangle
from elsv._base.typing import FloatArray
from elsv.indices.base import Index, Setting
from elsv.indices.tables import Triangles, triangles
from elsv.problem import Problem, distinct_priors

_MOST_BYTES = 256_000_000  # tables of all steps together, for one index and prior
_WINDOW = 64  # steps whose tables are held otherwise
_KEPT = 16  # indices and priors whose tables are shared

_shared: OrderedDict[tuple[object, ...], AllSteps] = OrderedDict()
_lock = threading.Lock()


class IndexTables:
    """Index values of all states of every arm at a step, one table for each distinct prior."""

    def __init__(self, problem: Problem, index: Index, horizon: int) -> None:
        members, self.group = distinct_priors(problem)
        setting = Setting.of(problem)
        self._sources = [_source(index, setting.arm(i), horizon) for i in members]
        steps = horizon / 3 if index.uses_step else 1
        each = min(8 * steps * triangle.size(horizon), max(_MOST_BYTES, 8 * _WINDOW * triangle.size(horizon)))
        own = getattr(index, "table_bytes", lambda levels: 0.0)
        self.bytes = int((each + own(horizon)) * len(members))

    def at(self, step: int) -> FloatArray:
        """Return the tables ``[groups, size]`` of at least the states with fewer than `step` pulls."""
        if len(self._sources) == 1:
            return self._sources[0](step)[None]
        return np.stack([source(step) for source in self._sources])


class AllSteps:
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


class SomeSteps:
    """The triangles of a few steps at a time, asked for one after the other, up or down."""

    def __init__(self, source: Triangles) -> None:
        self._source = source
        self._window: dict[int, FloatArray] = {}
        self._lock = threading.Lock()

    def __call__(self, step: int) -> FloatArray:
        """Return the table of `step`, all states with fewer than `step` pulls."""
        with self._lock:
            if step not in self._window:
                upwards = step == 1 or step - 1 in self._window
                # Downwards too, tables are cheap only in increasing order.
                first = step if upwards else max(1, step - _WINDOW + 1)
                self._window = {earlier: self._source(earlier) for earlier in range(first, step + 1)}
            return self._window[step]


def _source(index: Index, setting: Setting, horizon: int) -> Triangles:
    steps = horizon if index.uses_step else 1
    if 8 * steps * triangle.size(horizon) / 3 > _MOST_BYTES:
        return SomeSteps(triangles(index, setting, horizon - 1))
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
            _shared[key] = AllSteps(triangles(index, setting, horizon - 1))
            while len(_shared) > _KEPT:
                _shared.popitem(last=False)
        _shared.move_to_end(key)
        return _shared[key]
