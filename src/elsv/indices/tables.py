r"""Tables of an index over all states of an arm, for callers that need them at every step.

At step t an arm has at most t − 1 pulls: a triangle of t (t + 1)/2 states in the order of
`elsv._base.triangle`. `IndexTables` serves all arms of a problem, `triangles` one. An index that does not use
the step is called once for all steps. One that can be evaluated at any real log t (it has ``at_log_step``) is
interpolated between steps. Any other is called at every step.

Bayes-UCB and KL-UCB are smooth in :math:`u = \log t`, and between t and 2t the argument moves by log 2 only.
So one Chebyshev interpolant for each state serves every step of such a panel: ten evaluations of a state
instead of one at every step. The size of the last coefficients shows where that is not good enough (an
infinite index, very small prior counts); those states are evaluated at every step.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from elsv._base import triangle
from elsv._base.cache import memory
from elsv._base.typing import FloatArray, IntArray
from elsv.indices.base import Index, Setting, check_index
from elsv.problem import Problem, distinct_priors

_MOST_BYTES = 256_000_000  # tables of all steps together, for one index and prior
_WINDOW = 64  # steps whose tables are held otherwise
_NODES = 10
_TOLERANCE = 1e-12  # of the two last coefficients; the error of the interpolant is smaller
_FIRST_PANEL = 16  # below this u moves too fast, and a triangle has at most 120 states
_ANGLES: FloatArray = math.pi * (np.arange(_NODES) + 0.5) / _NODES

Triangles = Callable[[int], FloatArray]
AtLogStep = Callable[[FloatArray, FloatArray, float], FloatArray]


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


class Steps:
    """The triangles of one index and prior for all steps, or of `window` steps where all do not fit."""

    def __init__(self, source: Triangles, window: int | None = None) -> None:
        self._source, self._window = source, window
        self._held: dict[int, FloatArray] = {}
        self._lock = threading.Lock()

    def __call__(self, step: int) -> FloatArray:
        """Return the table of `step`, all states with fewer than `step` pulls."""
        with self._lock:
            if step not in self._held:
                # An interpolated index is cheap only in increasing order, so that many go downwards at once.
                first = step if step - 1 in self._held else max(1, step - (self._window or step) + 1)
                steps = range(first, step + 1)
                fresh = {k: self._held[k] if k in self._held else self._source(k) for k in steps}
                self._held = fresh if self._window else self._held | fresh
            return self._held[step]


def _source(index: Index, setting: Setting, horizon: int) -> Triangles:
    """Return the triangles of one arm, shared with all who ask for the same while they fit into memory."""
    size = 8 * (horizon if index.uses_step else 1) * triangle.size(horizon) // 3
    if size > _MOST_BYTES:
        return Steps(triangles(index, setting, horizon - 1), _WINDOW)
    prior = float(setting.prior_alpha), float(setting.prior_beta), *setting.corners.tolist()
    key = "steps", index, *prior, setting.arms, setting.horizon, setting.discount, horizon
    with memory.making(key):
        source: Steps | None = memory.get(key)
        if source is None:
            source = Steps(triangles(index, setting, horizon - 1))
            memory.put(key, source, size)
        return source


def triangles(index: Index, setting: Setting, pulls: int) -> Triangles:
    """Return a function from a step to the index of all states of one arm with fewer than ``step`` pulls.

    The steps run from 1 to ``pulls + 1``; the arrays ``[size(min(step, pulls + 1))]`` must not be written to.
    """
    levels, setting = pulls + 1, replace(setting, whole=True)
    successes, counts = triangle.states(levels)
    alpha: FloatArray = setting.prior_alpha + successes
    beta: FloatArray = setting.prior_beta + (counts - successes)
    index.prepare(setting, pulls)
    at_log_step = getattr(index, "at_log_step", None)
    if index.uses_step and at_log_step is not None:
        return StepPanels(partial(at_log_step, setting=setting), alpha, beta, levels)

    def all_of(size: int, step: int) -> FloatArray:
        a, b = alpha[:size], beta[:size]
        return check_index(index(a, b, step, setting), a, b, step)

    values = None if index.uses_step else all_of(triangle.size(levels), 1)

    def at(step: int) -> FloatArray:
        size = triangle.size(min(step, levels))
        return all_of(size, step) if values is None else values[:size]

    return at


class StepPanels:
    """The values at step t of all states with fewer than t pulls, to 1e-11.

    One panel of ``_NODES`` numbers for each state is kept; a step outside it builds another, so the
    steps are best asked for in order, and every thread needs panels of its own.
    """

    def __init__(self, evaluate: AtLogStep, alpha: FloatArray, beta: FloatArray, levels: int) -> None:
        """Serve ``evaluate(alpha, beta, log t)`` on the triangle `alpha`, `beta` ``[size(levels)]``."""
        self._evaluate, self._alpha, self._beta, self._levels = evaluate, alpha, beta, levels
        self._first = 0  # the panel serves this step and those below twice as many; none at first
        self._middle, self._half = 0.0, 0.0  # of the panel in log t
        self._coefficients: FloatArray = np.empty((0, _NODES))  # [states of the panel, _NODES]
        self._rough: IntArray = np.empty(0, dtype=np.int64)  # states that interpolation does not serve

    def __call__(self, step: int) -> FloatArray:
        """Return the values at `step`, shape ``[size(min(step, levels))]``."""
        size = triangle.size(min(step, self._levels))
        return check_index(self._at(step, size), self._alpha[:size], self._beta[:size], step)

    def _at(self, step: int, size: int) -> FloatArray:
        if step < _FIRST_PANEL:
            return self._exact(slice(0, size), math.log(step))
        if not self._first <= step < 2 * self._first:
            self._build(step)
        angle = math.acos(min(max((math.log(step) - self._middle) / self._half, -1.0), 1.0))
        values: FloatArray = self._coefficients[:size] @ np.cos(np.arange(_NODES) * angle)
        rough = self._rough[: np.searchsorted(self._rough, size)]
        values[rough] = self._exact(rough, math.log(step))
        return values

    def _build(self, step: int) -> None:
        """Interpolate every state that the steps from `step` to ``2 step - 1`` ask for."""
        low, high = math.log(step), math.log(2 * step)
        self._first, self._middle, self._half = step, 0.5 * (low + high), 0.5 * (high - low)
        size = triangle.size(min(2 * step - 1, self._levels))
        values = np.empty((size, _NODES))
        for k, angle in enumerate(_ANGLES):
            values[:, k] = self._exact(slice(0, size), self._middle + self._half * math.cos(angle))
        infinite = ~np.isfinite(values).all(axis=1)
        values[infinite] = 0.0
        transform = np.cos(np.outer(_ANGLES, np.arange(_NODES))) * (2.0 / _NODES)
        transform[:, 0] *= 0.5
        self._coefficients = values @ transform
        last = np.abs(self._coefficients[:, -2:]).sum(axis=1)
        self._rough = np.flatnonzero(infinite | (last > _TOLERANCE))

    def _exact(self, states: slice | IntArray, log_step: float) -> FloatArray:
        return self._evaluate(self._alpha[states], self._beta[states], log_step)
