r"""The Gittins index of a Beta-Bernoulli arm with an infinite horizon, to a stated tolerance.

.. math:: z(\alpha, \beta) = \sup\Big\{\lambda : \sup_{\tau \ge 1}
          E\sum_{k=0}^{\tau-1}\gamma^k (X_k - \lambda) \ge 0\Big\}

is the payment :math:`\lambda` at which a known arm and this one are equally good (paper §4; Gittins 1979). It
is computed for the true infinite horizon, for any positive real counts and any discount in (0, 1); the
method is in `_gittins_kernels`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from elsv._base import triangle
from elsv._base.numbers import whole
from elsv._base.typing import FloatArray
from elsv.indices._gittins_solver import Source, check_counts, check_tolerance, one_by_one, table_pays
from elsv.indices._gittins_tables import block, by_corner, of_states, offsets, prepare
from elsv.indices.base import POSITIVE, IndexBase, Setting, parameter
from elsv.problem import check_discount

_DEFAULT_DISCOUNT = 0.99
_MOST_TABLED = 1024  # pulls below which the states of many instances come from a table


def gittins_index(
    alpha: ArrayLike, beta: ArrayLike, discount: float = 0.99, tolerance: float = 1e-6
) -> FloatArray:
    """Return the Gittins index, elementwise, within `tolerance` of the true one.

    Parameters
    ----------
    alpha, beta
        Counts of the Beta distribution, positive reals.
    discount
        In (0, 1).
    tolerance
        Largest error, from 1e-12 to 0.1.

    Examples
    --------
    >>> round(float(gittins_index(1, 1, discount=0.9)), 4)
    0.7029
    """
    a, b = check_counts(alpha, beta)
    gamma, error = check_discount(discount), check_tolerance(tolerance)
    if not a.size:
        return np.empty(a.shape)
    corner_a, corner_b = float(a.min()), float(b.min())
    wins, pulls, regular = offsets(a, b, corner_a, corner_b)
    number = triangle.number(wins, pulls)
    levels = int(pulls.max()) + 1
    distinct = len(np.unique(number[regular]))
    if not table_pays(distinct, corner_a + corner_b, levels, gamma, error):
        return one_by_one(a, b, gamma, error)
    index = np.empty(a.shape)
    index[regular] = gittins_table(corner_a, corner_b, levels, gamma, error)[number[regular]]
    index[~regular] = one_by_one(a[~regular], b[~regular], gamma, error)
    return index


def gittins_table(
    alpha: float, beta: float, levels: int, discount: float = 0.99, tolerance: float = 1e-6
) -> FloatArray:
    """Return the indices of all states with fewer than `levels` pulls from the prior (alpha, beta).

    The flat array in the numbering of `elsv._base.triangle` is read-only. It is computed once per process, a
    large one once per machine (`elsv._base.cache`).

    Examples
    --------
    >>> gittins_table(1, 1, 2, discount=0.9).round(3)
    array([0.703, 0.5  , 0.8  ])
    """
    a = parameter("alpha", alpha, "alpha=1", POSITIVE)
    b = parameter("beta", beta, "beta=1", POSITIVE)
    count = whole("levels", levels, 1)
    gamma, error = check_discount(discount), check_tolerance(tolerance)
    return block(Source(a, b, gamma, error), 0, count)


@dataclass(frozen=True)
class Gittins(IndexBase):
    r"""The Gittins index as an index of a policy.

    Parameters
    ----------
    discount
        :math:`\gamma` in (0, 1); None takes the problem's discount, or 0.99 if it has a horizon.
    tolerance
        Largest error of the index.

    Notes
    -----
    The index of a state is one number, whatever was asked before (`_gittins_tables`). The states of one
    instance, one of each arm, are solved one by one, so that no customer waits for a table. Of many instances
    the states with fewer than 1024 pulls come from a table, and so does every state where whole levels are
    asked for, as values and simulations do.
    """

    discount: float | None = None
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if self.discount is not None:
            object.__setattr__(self, "discount", check_discount(self.discount))
        object.__setattr__(self, "tolerance", check_tolerance(self.tolerance))

    uses_step = False

    def __call__(self, alpha: FloatArray, beta: FloatArray, step: int, setting: Setting) -> FloatArray:
        """Return the index, elementwise."""
        a, b = check_counts(alpha, beta)
        discount = self._discount(setting)
        if setting.alone:
            return one_by_one(a, b, discount, self.tolerance)
        most = triangle.MOST_LEVELS if setting.whole else _MOST_TABLED
        return by_corner(setting, a, b, discount, self.tolerance, of_states, most)

    def prepare(self, setting: Setting, pulls: int) -> None:
        """Build or load the tables of each distinct corner, and go on with the next one."""
        prepare(setting, whole("pulls", pulls, 0), self._discount(setting), self.tolerance)

    def _discount(self, setting: Setting) -> float:
        return self.discount or setting.discount or _DEFAULT_DISCOUNT
