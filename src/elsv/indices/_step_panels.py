r"""An index at all states of an arm, step after step, by interpolation in log t.

Bayes-UCB and KL-UCB are smooth in :math:`u = \log t`, and between t and 2t the argument moves by log 2
only. So one Chebyshev interpolant for each state serves every step of such a panel: ten evaluations of
a state instead of one at every step. The size of the last coefficients shows where that is not good
enough (an infinite index, very small prior counts); those states are evaluated at every step.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from elsv._base import triangle
from elsv._base.typing import FloatArray, IntArray
from elsv.indices.base import check_index

_NODES = 10
_TOLERANCE = 1e-12  # of the two last coefficients; the error of the interpolant is smaller
_FIRST_PANEL = 16  # below this u moves too fast, and a triangle has at most 120 states
_ANGLES: FloatArray = math.pi * (np.arange(_NODES) + 0.5) / _NODES


class StepPanels:
    """The values at step t of all states with fewer than t pulls, to 1e-11.

    One panel of ``_NODES`` numbers for each state is kept; a step outside it builds another, so the
    steps are best asked for in order, and every thread needs panels of its own.
    """

    def __init__(
        self,
        evaluate: Callable[[FloatArray, FloatArray, float], FloatArray],
        alpha: FloatArray,
        beta: FloatArray,
        levels: int,
    ) -> None:
        """Serve ``evaluate(alpha, beta, log t)`` on the triangle `alpha`, `beta` ``[size(levels)]``."""
        self._evaluate = evaluate
        self._alpha, self._beta = alpha, beta
        self._levels = levels
        self._first, self._last = 1, 0  # steps of the panel, both included; empty at first
        self._coefficients: FloatArray = np.empty((0, _NODES))  # [states of the panel, _NODES]
        self._rough: IntArray = np.empty(0, dtype=np.int64)  # states that interpolation does not serve

    def __call__(self, step: int) -> FloatArray:
        """Return the values at `step`, shape ``[size(min(step, levels))]``."""
        size = triangle.size(min(step, self._levels))
        return check_index(self._at(step, size), self._alpha[:size], self._beta[:size], step)

    def _at(self, step: int, size: int) -> FloatArray:
        if step < _FIRST_PANEL:
            return self._exact(slice(0, size), math.log(step))
        if not self._first <= step <= self._last:
            self._build(step)
        middle, half = self._interval()
        angle = math.acos(min(max((math.log(step) - middle) / half, -1.0), 1.0))
        values: FloatArray = self._coefficients[:size] @ np.cos(np.arange(_NODES) * angle)
        rough = self._rough[: np.searchsorted(self._rough, size)]
        values[rough] = self._exact(rough, math.log(step))
        return values

    def _build(self, step: int) -> None:
        """Interpolate every state that the steps from `step` to ``2 step - 1`` ask for."""
        self._first, self._last = step, 2 * step - 1
        size = triangle.size(min(self._last, self._levels))
        middle, half = self._interval()
        values = np.empty((size, _NODES))
        for k, angle in enumerate(_ANGLES):
            values[:, k] = self._exact(slice(0, size), middle + half * math.cos(angle))
        infinite = ~np.isfinite(values).all(axis=1)
        values[infinite] = 0.0
        transform = np.cos(np.outer(_ANGLES, np.arange(_NODES))) * (2.0 / _NODES)
        transform[:, 0] *= 0.5
        self._coefficients = values @ transform
        last = np.abs(self._coefficients[:, -2:]).sum(axis=1)
        self._rough = np.flatnonzero(infinite | (last > _TOLERANCE))

    def _interval(self) -> tuple[float, float]:
        """Return the middle and the half-width of the panel in log t."""
        low, high = math.log(self._first), math.log(self._last + 1)
        return 0.5 * (low + high), 0.5 * (high - low)

    def _exact(self, states: slice | IntArray, log_step: float) -> FloatArray:
        return self._evaluate(self._alpha[states], self._beta[states], log_step)
