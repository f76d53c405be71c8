r"""The Gittins index with a finite number of pulls left.

.. math:: z_m(\alpha, \beta) = \sup\Big\{\lambda : \sup_{1 \le \tau \le m}
          E\sum_{k=0}^{\tau-1}\gamma^k (X_k - \lambda) \ge 0\Big\}, \qquad m = T - t + 1

(past the paper). With :math:`\gamma = 1` it is the index of the plain sum of T rewards. The kernels and the
tables are those of the infinite horizon (`_gittins_tables`).

A table holds the states of one prior with the same pulls made plus pulls left, H = n + m. A run over T steps
asks for every H up to T, and tables of them all would take time and memory as :math:`T^4` and :math:`T^3`. In
m the index is smooth but for small kinks from the lattice of states, so that past H = 512 a state is
interpolated, by a cubic in H at its own n, between tables whose H are multiples of a spacing.

In the octave :math:`2^{k-1} < H \le 2^k` let :math:`h = 2^{k-6}`. Kinks count most where there have been few
pulls: the spacing is h/16 below 16 pulls, h/4 below 4h, and h from there on; tables of few pulls are small.
The index bends most where few pulls are left: with fewer than 12h, states are solved one by one, which is
quick.

The error of the cubic is a measured one. In the middle between tables, over all states of six tables (H from
520 to 712, priors from 0.01 to 3, no discount), it is at most 2.2e-7; on 35,000 random states (H from 513 to
2048, priors from 0.001 to 1000, discounts from 0.9 to 1) at most 1.1e-7, and less where H is larger. Tables
to two fifths of the tolerance add at most half of it, since the absolute weights of the cubic add up to at
most 5/4, so that from a tolerance of 1e-6 on the sum is within it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from elsv._base import triangle
from elsv._base.numbers import numbers, shown
from elsv._base.typing import FloatArray, IntArray
from elsv.errors import InvalidInputError
from elsv.indices._gittins_solver import (
    Source,
    check_counts,
    check_pulls_left,
    check_tolerance,
    one_by_one,
    solve_state,
)
from elsv.indices._gittins_tables import block, by_corner
from elsv.indices.base import IndexBase, Setting, horizon_of, parameter

_MOST_TOGETHER = 512  # every H up to this has a table of its own
_MOST_ALONE = 32  # the same for the states of one instance: a table takes as long as a few of them
_MOST_INTERPOLATED = 2048  # beyond, the tables would not fit into memory
_FINEST_INTERPOLATED = 1e-6
_TABLE_SHARE = 0.4
_FEWEST = 16
_ANY = 1 << 62


def finite_gittins_index(
    alpha: ArrayLike, beta: ArrayLike, pulls_left: ArrayLike, discount: float = 1.0, tolerance: float = 1e-6
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
    gamma, error = _check_discount(discount), check_tolerance(tolerance)
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
class FiniteGittins(IndexBase):
    r"""The finite-horizon Gittins index as an index of a policy: m = T - t + 1 pulls are left at step t.

    Parameters
    ----------
    discount
        :math:`\gamma` in (0, 1]; 1 is the plain sum.
    tolerance
        Largest error of the index. From 1e-6 on, where pulls made and left are more than 512, the index is
        interpolated, with an error that was measured.

    Notes
    -----
    Every step needs tables of its own. They are worth their time for many states, as in a simulation. The few
    states of one instance, one of each arm, are solved one by one where pulls made and left are more than
    32.
    """

    discount: float = 1.0
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        object.__setattr__(self, "discount", _check_discount(self.discount))
        object.__setattr__(self, "tolerance", check_tolerance(self.tolerance))

    needs_horizon = "the finite-horizon Gittins index", "use the index gittins"

    def __call__(self, alpha: FloatArray, beta: FloatArray, step: int, setting: Setting) -> FloatArray:
        """Return the index of every state at `step`, elementwise."""
        horizon = horizon_of(setting, *self.needs_horizon)
        left = horizon - step + 1
        if left < 1:
            raise InvalidInputError(f"step must lie between 1 and the horizon {horizon}, got {step}")
        a, b = check_counts(alpha, beta)
        tabled = partial(_tabled, left=left, alone=setting.alone)
        return by_corner(setting, a, b, self.discount, self.tolerance, tabled, left=left)

    def table_bytes(self, levels: int) -> float:
        """Return about what the tables take that those of a run are made from."""
        return 16.0 * min(levels, 512) ** 3 / 6


def _tabled(source: Source, wins: IntArray, pulls: IntArray, left: int, alone: bool) -> FloatArray:
    """Return the indices of flat arrays of states that count from one corner, of one instance if `alone`.

    Which tables a state comes from depends on its own n and m alone.
    """
    number = triangle.number(wins, pulls)
    _, first, place = np.unique(number, return_index=True, return_inverse=True)
    wins, pulls = wins[first], pulls[first]  # by level, as numbers are
    found, start = np.empty(len(wins)), 0
    for stop, grid in ranges(left, source.tolerance, alone):
        end = max(start, int(np.searchsorted(pulls, stop)))
        w, n = wins[start:end], pulls[start:end]
        if grid is None:
            a, b = source.alpha + w, source.beta + n - w
            found[start:end] = one_by_one(a, b, source.discount, source.tolerance, left)
        else:
            found[start:end] = _from_tables(w, n, left, source, grid)
        start = end
    return found[place]


def _from_tables(wins: IntArray, pulls: IntArray, left: int, source: Source, grid: Grid) -> FloatArray:
    """Return the indices of states by level, interpolated between the tables of `grid`."""
    index = np.zeros(len(wins))
    place = triangle.number(wins, pulls) - triangle.size(grid.first)
    finer = Source(source.alpha, source.beta, source.discount, grid.share * source.tolerance)
    for horizons, weights in grid.terms(pulls + left):
        needed = np.flatnonzero(weights)
        at, where = horizons[needed], place[needed]
        values = np.empty(len(at))
        starts = np.flatnonzero(np.diff(at, prepend=-1)).tolist()
        for start, stop in pairwise([*starts, len(at)]):
            horizon = int(at[start])
            table = block(finer, grid.first, grid.levels(horizon), horizon)
            values[start:stop] = table[where[start:stop]]
        index[needed] += weights[needed] * values
    return index


@dataclass(frozen=True)
class Grid:
    """Tables at multiples of a spacing in H."""

    spacing: int
    first: int  # lowest level of a table
    stop: int  # its levels end before this one
    short: int  # and this many before H
    share: float  # of the tolerance that a table may use up

    def levels(self, horizon: int) -> int:
        """Return where the levels of the table of one H end."""
        return min(self.stop, horizon - self.short)

    def terms(self, horizon: IntArray) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield the H of tables and their weights, which add up to the cubic; a weight may be 0."""
        below = horizon // self.spacing * self.spacing
        x = (horizon - below) / self.spacing
        weights = (
            -x * (x - 1.0) * (x - 2.0) / 6.0,
            (x + 1.0) * (x - 1.0) * (x - 2.0) / 2.0,
            -(x + 1.0) * x * (x - 2.0) / 2.0,
            (x + 1.0) * x * (x - 1.0) / 6.0,
        )
        for place, weight in zip((-1, 0, 1, 2), weights, strict=True):
            yield below + place * self.spacing, weight


_TOGETHER = Grid(spacing=1, first=0, stop=_ANY, short=0, share=1.0)


def ranges(left: int, tolerance: float, alone: bool = False) -> Iterator[tuple[int, Grid | None]]:
    """Yield where a range of pulls ends, and its grid; each begins where all before have ended."""
    if alone:
        yield _MOST_ALONE - left + 1, _TOGETHER
        yield _ANY, None
        return
    yield _MOST_TOGETHER - left + 1, _TOGETHER
    top = 2 * _MOST_TOGETHER
    while tolerance >= _FINEST_INTERPOLATED and top <= _MOST_INTERPOLATED:
        h, stop = top // 64, top - left + 1
        if left < 12 * h:
            yield stop, None
        else:
            yield min(_FEWEST, stop), Grid(h // 16, 0, _FEWEST, 0, _TABLE_SHARE)
            yield min(4 * h, stop), Grid(h // 4, _FEWEST, 4 * h, 0, _TABLE_SHARE)
            # The lowest H of a cubic is less than 2h below that of the state.
            yield stop, Grid(h, 4 * h, _ANY, 10 * h, _TABLE_SHARE)
        top *= 2
    yield _ANY, None


def _check_pulls_left(pulls_left: ArrayLike) -> FloatArray:
    left = numbers("pulls_left", pulls_left)
    if not np.all((left >= 1) & (left == np.floor(left)) & np.isfinite(left)):
        raise InvalidInputError(f"pulls_left must be whole numbers of at least 1, got {shown(pulls_left)}")
    check_pulls_left(int(left.max(initial=1.0)))
    return left


def _check_discount(value: object) -> float:
    """Return the discount if it lies in (0, 1]; 1 is the plain sum, allowed with a finite horizon only."""
    discount = parameter("discount", value, "discount=1")
    if not 0.0 < discount <= 1.0:
        raise InvalidInputError(
            f"discount of a finite horizon must lie in (0, 1], got {discount:g}; 1 is no discount"
        )
    return discount
