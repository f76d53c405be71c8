r"""The Gittins index with a finite number of pulls left.

.. math:: z_m(\alpha, \beta) = \sup\Big\{\lambda : \sup_{1 \le \tau \le m}
          E\sum_{k=0}^{\tau-1}\gamma^k (X_k - \lambda) \ge 0\Big\}, \qquad m = T - t + 1,

past the paper. With :math:`\gamma = 1` it is the index of the plain sum of T rewards. States with the same
pulls so far plus pulls left, H = n + m, are one table: sweeps that start where H pulls have been made pass
through all of them. The same kernels as for the infinite horizon do the work.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from elsv import triangle
from elsv._typing import FloatArray, IntArray
from elsv.errors import InvalidInputError
from elsv.indices._gittins_solver import solve_levels, solve_state
from elsv.indices._gittins_states import (
    check_counts,
    check_discount_of_horizon,
    check_tolerance,
    distinct_priors,
    offsets,
)
from elsv.indices._parameters import horizon_of
from elsv.indices.base import Setting

_BUDGET = 300 * 2**20  # bytes of tables kept in memory
_MOST_TOGETHER = 512  # states with n + m up to this come from tables, others are solved one by one

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
        Largest error of the index.
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
        for prior_a, prior_b, mine in distinct_priors(setting, a.shape):
            index[mine] = _tables.indices(
                a[mine], b[mine], prior_a, prior_b, left, self.discount, self.tolerance
            )
        return index

    def prepare(self, setting: Setting, pulls: int) -> None:
        """Do nothing: tables are built as the steps of a run come to need them."""


class _Tables:
    """Tables by prior and H, the ones used last, within a budget of bytes.

    Whether a state comes from a table depends on H alone, so its index is one number, whatever was asked
    before.
    """

    def __init__(self, budget: int = _BUDGET) -> None:
        self._budget = budget
        self._tables: OrderedDict[tuple[float, ...], FloatArray] = OrderedDict()
        self._lock = threading.Lock()

    def indices(
        self,
        alpha: FloatArray,
        beta: FloatArray,
        prior_a: float,
        prior_b: float,
        left: int,
        discount: float,
        tolerance: float,
    ) -> FloatArray:
        """Return the indices of flat arrays of states that were reached from one prior."""
        wins, pulls, regular = offsets(alpha, beta, prior_a, prior_b)
        index = np.empty(alpha.shape)
        for i in np.flatnonzero(~regular):
            index[i] = solve_state(float(alpha[i]), float(beta[i]), discount, tolerance, left)
        if not regular.any():
            return index
        _, first, place = np.unique(
            triangle.number(wins, pulls)[regular], return_index=True, return_inverse=True
        )
        wins, pulls = wins[regular][first], pulls[regular][first]  # by level, as numbers are
        starts = np.flatnonzero(np.diff(pulls, prepend=-1))
        rows = [
            self._row(prior_a, prior_b, int(pulls[start]), row, left, discount, tolerance)
            for start, row in zip(starts, np.split(wins, starts[1:]), strict=True)
        ]
        index[regular] = np.concatenate(rows)[place]
        return index

    def _row(
        self,
        alpha: float,
        beta: float,
        pulls: int,
        wins: IntArray,
        left: int,
        discount: float,
        tolerance: float,
    ) -> FloatArray:
        """Return the indices of states with one number of pulls, which therefore share a table."""
        horizon = pulls + left
        if horizon <= _MOST_TOGETHER:
            table = self._table(alpha, beta, horizon, discount, tolerance)
            return table[triangle.number(wins, np.full_like(wins, pulls))]
        return np.array(
            [_one_state(alpha + s, beta + pulls - s, discount, tolerance, left) for s in wins.tolist()]
        )

    def _table(
        self, alpha: float, beta: float, horizon: int, discount: float, tolerance: float
    ) -> FloatArray:
        key = (alpha, beta, horizon, discount, tolerance)
        with self._lock:
            if key not in self._tables:
                self._tables[key] = solve_levels(alpha, beta, 0, horizon, discount, tolerance, horizon)
                self._budget -= self._tables[key].nbytes
            self._tables.move_to_end(key)
            table = self._tables[key]
            while self._budget < 0 and len(self._tables) > 1:
                self._budget += self._tables.popitem(last=False)[1].nbytes
            return table


_tables = _Tables()


def _check_pulls_left(pulls_left: ArrayLike) -> FloatArray:
    left = np.asarray(pulls_left)
    if left.dtype.kind not in "iuf" or not np.all((left >= 1) & (left == np.floor(left)) & np.isfinite(left)):
        raise InvalidInputError(f"pulls_left must be whole numbers of at least 1, got {pulls_left!r}")
    return left.astype(np.float64)
