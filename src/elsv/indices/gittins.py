r"""The Gittins index of a Beta-Bernoulli arm with an infinite horizon, to a stated tolerance.

.. math:: z(\alpha, \beta) = \sup\Big\{\lambda : \sup_{\tau \ge 1}
          E\sum_{k=0}^{\tau-1}\gamma^k (X_k - \lambda) \ge 0\Big\}

is the payment :math:`\lambda` at which a known arm and this one are equally good (paper §4; Gittins 1979). It
is computed for the true infinite horizon, for any positive real counts and any discount in (0, 1); the
method is in `_gittins_kernels`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from elsv._base import triangle
from elsv._base.cache import cached_table, known_table, largest_size
from elsv._base.numbers import whole
from elsv._base.typing import FloatArray
from elsv.indices._gittins_solver import STATE_SWEEPS, run_out, solve_levels, solve_state, table_sweeps
from elsv.indices._gittins_states import (
    check_counts,
    check_tolerance,
    distinct_corners,
    farthest_prior,
    offsets,
)
from elsv.indices._parameters import positive
from elsv.indices.base import Setting
from elsv.problem import check_discount

_KIND = "gittins-3"  # changes when the numbers do
_DEFAULT_DISCOUNT = 0.99
_FIRST_BLOCK = 8
_ALWAYS = 1024  # states of a policy with fewer pulls always come from a table
_MOST_LEVELS = 4096  # `prepare` goes so far
_WORTH = 4.0  # a table is built when the states asked for would take a quarter of its time

_one_state = lru_cache(maxsize=1 << 16)(solve_state)


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
    if not _table_pays(distinct, corner_a + corner_b, levels, gamma, error):
        return _one_by_one(a, b, gamma, error)
    index = np.empty(a.shape)
    index[regular] = gittins_table(corner_a, corner_b, levels, gamma, error)[number[regular]]
    index[~regular] = _one_by_one(a[~regular], b[~regular], gamma, error)
    return index


def gittins_table(
    alpha: float, beta: float, levels: int, discount: float = 0.99, tolerance: float = 1e-6
) -> FloatArray:
    """Return the indices of all states with fewer than `levels` pulls from the prior (alpha, beta).

    The flat array in the numbering of `elsv._base.triangle` is read-only: it is computed once per process,
    and large ones once per machine (`elsv._base.cache`).

    Examples
    --------
    >>> gittins_table(1, 1, 2, discount=0.9).round(3)
    array([0.703, 0.5  , 0.8  ])
    """
    a, b = positive("alpha", alpha, "alpha=1"), positive("beta", beta, "beta=1")
    count = whole("levels", levels, 1)
    gamma, error = check_discount(discount), check_tolerance(tolerance)
    return cached_table(
        f"{_KIND} table",
        _parameters(a, b, gamma, error) | {"levels": count},
        lambda: solve_levels(a, b, 0, count, gamma, error),
        triangle.size(count),
    )


@dataclass(frozen=True)
class Gittins:
    r"""The Gittins index as an index of a policy.

    Parameters
    ----------
    discount
        :math:`\gamma` in (0, 1); None takes the problem's discount, or 0.99 if it has a horizon.
    tolerance
        Largest error of the index.

    Notes
    -----
    Of a policy the index of a state must be one number, whatever was asked before and whichever prior it
    came from: ties and near ties decide results. Arms that may come to the same state therefore count their
    pulls from one corner (`_corners`). States with fewer than 1024 pulls always come from a table, which
    grows in blocks of doubling depth, each computed by itself; a block is computed when a state in it is
    met. Deeper states are solved one by one unless `prepare` announced them.
    """

    discount: float | None = None
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if self.discount is not None:
            object.__setattr__(self, "discount", check_discount(self.discount))
        object.__setattr__(self, "tolerance", check_tolerance(self.tolerance))

    @property
    def uses_step(self) -> bool:
        """The index is stationary."""
        return False

    def __call__(self, alpha: FloatArray, beta: FloatArray, step: int, setting: Setting) -> FloatArray:
        """Return the index, elementwise."""
        gamma = self._gamma(setting)
        a, b = check_counts(alpha, beta)
        index = np.empty(a.shape)
        for corner_a, corner_b, mine in distinct_corners(setting, a.shape):
            index[mine] = _of_policy(a[mine], b[mine], corner_a, corner_b, gamma, self.tolerance)
        return index

    def prepare(self, setting: Setting, pulls: int) -> None:
        """Build or load the table of each distinct corner; states past 4096 pulls are solved when met."""
        levels = whole("pulls", pulls, 0) + 1
        for alpha, beta, mine in distinct_corners(setting, np.shape(setting.prior_alpha)):
            most = min(levels + farthest_prior(setting, alpha, beta, mine), _MOST_LEVELS)
            _block_table(alpha, beta, most, self._gamma(setting), self.tolerance)

    def _gamma(self, setting: Setting) -> float:
        return self.discount or setting.discount or _DEFAULT_DISCOUNT


def _parameters(alpha: float, beta: float, discount: float, tolerance: float) -> dict[str, float]:
    return {"alpha": alpha, "beta": beta, "discount": discount, "tolerance": tolerance}


def _one_by_one(alpha: FloatArray, beta: FloatArray, discount: float, tolerance: float) -> FloatArray:
    pairs = zip(alpha.reshape(-1).tolist(), beta.reshape(-1).tolist(), strict=True)
    index = np.array([_one_state(a, b, discount, tolerance) for a, b in pairs])
    return index.reshape(alpha.shape)


def _of_policy(
    alpha: FloatArray, beta: FloatArray, corner_a: float, corner_b: float, discount: float, tolerance: float
) -> FloatArray:
    """Return the indices of states that count from one corner; see the notes of `Gittins`."""
    wins, pulls, regular = offsets(alpha, beta, corner_a, corner_b)
    announced = largest_size(_KIND, _parameters(corner_a, corner_b, discount, tolerance))
    shallow = regular & (pulls < max(_ALWAYS, _levels(announced)))
    index = np.empty(alpha.shape)
    if shallow.any():
        levels = int(pulls[shallow].max()) + 1
        table = _block_table(corner_a, corner_b, levels, discount, tolerance)
        index[shallow] = table[triangle.number(wins, pulls)[shallow]]
    index[~shallow] = _one_by_one(alpha[~shallow], beta[~shallow], discount, tolerance)
    return index


def _block_table(alpha: float, beta: float, levels: int, discount: float, tolerance: float) -> FloatArray:
    """Return a table of at least `levels` levels that is made of whole blocks."""
    parameters = _parameters(alpha, beta, discount, tolerance)
    stop = _FIRST_BLOCK
    while stop < levels:
        stop *= 2

    def compute() -> FloatArray:
        known = known_table(_KIND, parameters)
        have, parts = (0, []) if known is None else (_levels(len(known)), [known])
        while have < stop:
            end = max(_FIRST_BLOCK, 2 * have)
            parts.append(solve_levels(alpha, beta, have, end, discount, tolerance))
            have = end
        return np.concatenate(parts)

    return cached_table(_KIND, parameters, compute, triangle.size(stop))


def _levels(states: int) -> int:
    return (math.isqrt(8 * states + 1) - 1) // 2


def _table_pays(distinct: int, base: float, levels: int, discount: float, tolerance: float) -> bool:
    reach = run_out(discount, tolerance)
    table = table_sweeps(base + levels, tolerance) * (levels + reach)
    return levels <= _MOST_LEVELS and _WORTH * distinct * STATE_SWEEPS * reach > table
