r"""The Gittins index with a finite number of pulls left.

.. math:: z_m(\alpha, \beta) = \sup\Big\{\lambda : \sup_{1 \le \tau \le m}
          E\sum_{k=0}^{\tau-1}\gamma^k (X_k - \lambda) \ge 0\Big\}, \qquad m = T - t + 1

(past the paper). With :math:`\gamma = 1` it is the index of the plain sum of T rewards. States with the same
pulls so far plus pulls left, H = n + m, are one table: sweeps that start where H pulls have been made pass
through all of them. The same kernels as for the infinite horizon do the work. `FiniteGittins` interpolates
between tables where H is large, see `_gittins_grid`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from elsv._base import triangle
from elsv._base.numbers import numbers, shown
from elsv._base.typing import FloatArray, IntArray
from elsv.errors import InvalidInputError
from elsv.indices._gittins_grid import Grid, parts
from elsv.indices._gittins_solver import solve_levels, solve_state
from elsv.indices._gittins_states import (
    check_counts,
    check_discount_of_horizon,
    check_pulls_left,
    check_tolerance,
    distinct_corners,
    offsets,
)
from elsv.indices._parameters import horizon_of
from elsv.indices.base import Setting

_BUDGET = 512 * 2**20  # bytes of tables kept in memory

_one_state = lru_cache(maxsize=1 << 18)(solve_state)


def finite_gittins_index(
    alpha: ArrayLike,
    beta: ArrayLike,
    pulls_left: ArrayLike,
    discount: float = 1.0,
    tolerance: float = 1e-6,
) -> FloatArray:
    """Return the index with `pulls_left` pulls to come, elementwise, within `tolerance` of the true one.

    Parameters
    ----------
    alpha, beta
        Counts of the Beta distribution, positive reals.
    pulls_left
        Whole numbers of at least 1, the coming pull included; with 1 the index is the mean.
    discount
        In (0, 1]; 1 is the plain sum.
    tolerance
        Largest error, from 1e-12 to 0.1.

    Examples
    --------
    >>> finite_gittins_index(1, 1, [1, 2, 3]).round(6)
    array([0.5     , 0.555556, 0.590909])
    """
    a, b = check_counts(alpha, beta)
    gamma, error = check_discount_of_horizon(discount), check_tolerance(tolerance)
    left = _check_pulls_left(pulls_left)
    try:
        a, b, left = np.broadcast_arrays(a, b, left)
    except ValueError as problem:
        raise InvalidInputError(
            f"pulls_left must have a shape that fits alpha and beta, got {left.shape} and {a.shape}"
        ) from problem
    states = np.stack((a, b, left), axis=-1).reshape(-1, 3)
    distinct, place = np.unique(states, axis=0, return_inverse=True)
    index = np.array([solve_state(x, y, gamma, error, int(m)) for x, y, m in distinct.tolist()])
    return index[place.reshape(-1)].reshape(a.shape)


@dataclass(frozen=True)
class FiniteGittins:
    r"""The finite-horizon Gittins index as an index of a policy: m = T - t + 1 pulls are left at step t.

    Parameters
    ----------
    discount
        :math:`\gamma` in (0, 1]; 1 is the plain sum.
    tolerance
        Largest error of the index. From 1e-6 on, where pulls made and left are more than 512, the index is
        interpolated, with an error that was measured (`_gittins_grid`).
    """

    discount: float = 1.0
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        object.__setattr__(self, "discount", check_discount_of_horizon(self.discount))
        object.__setattr__(self, "tolerance", check_tolerance(self.tolerance))

    @property
    def uses_step(self) -> bool:
        """The fewer pulls are left, the less there is to learn for."""
        return True

    def __call__(self, alpha: FloatArray, beta: FloatArray, step: int, setting: Setting) -> FloatArray:
        """Return the index of every state at `step`, elementwise."""
        horizon = horizon_of(setting, "the finite-horizon Gittins index", "use the index gittins")
        left = horizon - step + 1
        if left < 1:
            raise InvalidInputError(f"step must lie between 1 and the horizon {horizon}, got {step}")
        a, b = check_counts(alpha, beta)
        index = np.empty(a.shape)
        for corner_a, corner_b, mine in distinct_corners(setting, a.shape):
            source = _Source(corner_a, corner_b, self.discount, self.tolerance)
            index[mine] = _tables.indices(a[mine], b[mine], left, source)
        return index

    def table_bytes(self, levels: int) -> float:
        """Return about what the tables take that those of a run are made from."""
        return 16.0 * min(levels, 512) ** 3 / 6

    def prepare(self, setting: Setting, pulls: int) -> None:
        """Do nothing: tables are built as the steps of a run come to need them."""


@dataclass(frozen=True)
class _Source:
    """What all the states that count from one corner share (`_corners`)."""

    alpha: float
    beta: float
    discount: float
    tolerance: float


class _Tables:
    """Tables by corner, H and levels, the ones used last, within a budget of bytes.

    Which tables a state comes from depends on its own n and m alone (`_gittins_grid`), and every table is
    computed by itself, so the index of a state is one number, whatever was asked before.
    """

    def __init__(self, budget: int = _BUDGET) -> None:
        self._budget = budget
        self._tables: OrderedDict[tuple[_Source, int, int, int], FloatArray] = OrderedDict()
        self._lock = threading.Lock()

    def indices(self, alpha: FloatArray, beta: FloatArray, left: int, source: _Source) -> FloatArray:
        """Return the indices of flat arrays of states that count from one corner."""
        wins, pulls, regular = offsets(alpha, beta, source.alpha, source.beta)
        index = np.empty(alpha.shape)
        for i in np.flatnonzero(~regular):
            index[i] = solve_state(float(alpha[i]), float(beta[i]), source.discount, source.tolerance, left)
        _, first, place = np.unique(
            triangle.number(wins, pulls)[regular], return_index=True, return_inverse=True
        )
        wins, pulls = wins[regular][first], pulls[regular][first]  # by level, as numbers are
        found = np.empty(len(wins))
        for part, grid in parts(pulls, left, source.tolerance):
            if grid is None:
                found[part] = _one_by_one(wins[part], pulls[part], left, source)
            else:
                found[part] = self._from_tables(wins[part], pulls[part], left, source, grid)
        index[regular] = found[place]
        return index

    def _from_tables(
        self, wins: IntArray, pulls: IntArray, left: int, source: _Source, grid: Grid
    ) -> FloatArray:
        """Return the indices of states by level, interpolated between the tables of `grid`."""
        index = np.zeros(len(wins))
        place = triangle.number(wins, pulls) - triangle.size(grid.first)
        for horizons, weights in grid.terms(pulls + left):
            needed = np.flatnonzero(weights)
            at, where = horizons[needed], place[needed]
            values = np.empty(len(at))
            starts = np.flatnonzero(np.diff(at, prepend=-1)).tolist()
            for start, stop in pairwise([*starts, len(at)]):
                values[start:stop] = self._table(source, int(at[start]), grid)[where[start:stop]]
            index[needed] += weights[needed] * values
        return index

    def _table(self, source: _Source, horizon: int, grid: Grid) -> FloatArray:
        key = (source, horizon, grid.first, grid.levels(horizon))
        with self._lock:
            if key not in self._tables:
                self._tables[key] = solve_levels(
                    source.alpha,
                    source.beta,
                    grid.first,
                    grid.levels(horizon),
                    source.discount,
                    grid.share * source.tolerance,
                    horizon,
                )
                self._budget -= self._tables[key].nbytes
            self._tables.move_to_end(key)
            table = self._tables[key]
            while self._budget < 0 and len(self._tables) > 1:
                self._budget += self._tables.popitem(last=False)[1].nbytes
            return table


def _one_by_one(wins: IntArray, pulls: IntArray, left: int, source: _Source) -> list[float]:
    return [
        _one_state(source.alpha + s, source.beta + n - s, source.discount, source.tolerance, left)
        for s, n in zip(wins.tolist(), pulls.tolist(), strict=True)
    ]


_tables = _Tables()


def _check_pulls_left(pulls_left: ArrayLike) -> FloatArray:
    left = numbers("pulls_left", pulls_left)
    if not np.all((left >= 1) & (left == np.floor(left)) & np.isfinite(left)):
        raise InvalidInputError(f"pulls_left must be whole numbers of at least 1, got {shown(pulls_left)}")
    check_pulls_left(int(left.max(initial=1.0)))
    return left
