r"""Gittins indices of one state or of a triangle of states, to a tolerance.

An infinite horizon is cut some discounted lifetimes :math:`1/(1-\gamma)` past the last level asked for, where
the diffusion form of `_gittins_kernels.last_level` takes over; a finite horizon ends by itself. The bracket
of the root may use up nine tenths of the tolerance; the cuts of the horizon and of the band share the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from elsv._base import triangle
from elsv._base.typing import FloatArray
from elsv.indices._gittins_states import check_ahead, check_pulls_left, check_work

_BRACKET_SHARE = 0.9
_BAND_SHARE = 5e-4
_CELLS_PER_SWEEP = 2.0
_STATES_AT_ONCE = 2_000_000
_SWEEP_SECONDS = 1e-9  # for a level to the power 3/2, since the band widens; measured, and rather too much

STATE_SWEEPS = 8
"""About how many sweeps one state takes."""


def table_sweeps(total: float, tolerance: float) -> float:
    """Return about how many sweeps a table takes whose last level has alpha + beta = `total`."""
    return 2.5 * total * max(1.0, math.pow(1e-4 / tolerance, 0.37))


@dataclass(frozen=True)
class Ground:
    """What every sweep from one prior shares."""

    discount: float
    base: float  # alpha + beta of the prior
    annuity: FloatArray  # [end + 1], by level
    cut: FloatArray  # [end + 1], the excess below which the band ends
    counts: FloatArray  # [end + 2], alpha plus successes


def ground(
    alpha: float, beta: float, levels: int, discount: float, tolerance: float, pulls_left: int | None
) -> Ground:
    """Lay out the levels of sweeps that serve all states with fewer than `levels` pulls."""
    if pulls_left is None:
        end = levels - 1 + run_out(discount, tolerance)
        annuity = np.full(end + 1, 1.0 / (1.0 - discount))
        cut = band_cut(1.0 / (1.0 - discount), alpha + beta + np.arange(0.0, end + 1.0), tolerance)
    else:
        check_pulls_left(pulls_left)
        left = np.arange(pulls_left, -1, -1.0)
        annuity = left if discount == 1.0 else -np.expm1(left * math.log(discount)) / (1.0 - discount)
        cut = np.full(pulls_left + 1, _BAND_SHARE * tolerance)
    counts = alpha + np.arange(0.0, len(annuity) + 1.0)
    return Ground(discount, alpha + beta, annuity, cut, counts)


def run_out(discount: float, tolerance: float) -> int:
    """Return how many levels past the last one asked for an infinite horizon is followed."""
    lifetimes = max(2.0, 5.5 + 0.9 * math.log(1e-4 / tolerance))
    return check_ahead(math.ceil(lifetimes / (1.0 - discount)) + 1, discount, tolerance)


def band_cut(life: float, total: FloatArray, tolerance: float) -> FloatArray:
    r"""Return, for every level of an infinite horizon, the excess below which it is taken to be 0.

    The state :math:`w/\theta` cells above the boundary has the excess
    :math:`(A/\theta N) e^{-w - w^2 A/4N}` and is reached from some state, discounted, with weight
    :math:`e^{-w + w^2 A/4N}` if :math:`w \le 2N/A` and :math:`e^{-N/A}` otherwise. Their product is kept
    below a small share of tolerance times slope.
    """
    share = _BAND_SHARE * tolerance * math.sqrt(8.0)
    w = 0.5 * np.log(np.maximum(life / (total * share), 1.0))
    far = life / total * np.exp(-w - w * w * life / (4.0 * total))
    near = share * np.exp(np.minimum(total / life, 2.0 * w))
    return np.where(total / life >= 0.5 * w, far, near)


def solve_state(
    alpha: float, beta: float, discount: float, tolerance: float, pulls_left: int | None = None
) -> float:
    """Return the index of one state, with `pulls_left` pulls or an infinite horizon."""
    lower, upper = _bounds(alpha, beta, discount, tolerance, pulls_left)
    return 0.5 * (lower + upper)


def _bounds(
    alpha: float, beta: float, discount: float, tolerance: float, pulls_left: int | None
) -> tuple[float, float]:
    from elsv.indices import _gittins_kernels as kernels

    g = ground(alpha, beta, 1, discount, tolerance, pulls_left)
    width = 2.0 * _BRACKET_SHARE * tolerance
    return kernels.solve_state(discount, g.base, width, g.annuity, g.cut, g.counts)


def solve_levels(
    alpha: float,
    beta: float,
    first: int,
    levels: int,
    discount: float,
    tolerance: float,
    pulls_left: int | None = None,
) -> FloatArray:
    """Return the indices of all states with `first` to ``levels - 1`` pulls, level by level.

    With `pulls_left` the state without pulls has so many left, and one with n pulls n fewer.
    """
    triangle.check_levels(levels)
    ahead = levels + run_out(discount, tolerance) if pulls_left is None else pulls_left
    # However large the prior's counts, the boundary passes over no more states than there are.
    sweeps = table_sweeps(min(alpha + beta, levels) + levels, tolerance)
    check_work(_SWEEP_SECONDS * sweeps * ahead**1.5, levels)
    table = np.empty(triangle.size(levels) - triangle.size(first))
    start = first
    while start < levels:
        stop = start + 1
        while stop < levels and triangle.size(stop + 1) - triangle.size(start) <= _STATES_AT_ONCE:
            stop += 1
        part = slice(triangle.size(start) - triangle.size(first), triangle.size(stop) - triangle.size(first))
        _solve_part(table[part], alpha, beta, start, stop, discount, tolerance, pulls_left)
        start = stop
    return table


def _solve_part(
    table: FloatArray,
    alpha: float,
    beta: float,
    first: int,
    levels: int,
    discount: float,
    tolerance: float,
    pulls_left: int | None,
) -> None:
    """Fill `table`: sweep a grid of lambdas, then again and again where states are unresolved."""
    from elsv.indices import _gittins_kernels as kernels

    g = ground(alpha, beta, levels, discount, tolerance, pulls_left)
    width = 2.0 * _BRACKET_SHARE * tolerance
    records = np.empty((len(table), 6))
    kernels.start_records(records, g.base, first, levels, g.annuity, g.counts)
    points = _first_points(alpha, beta, first, levels, discount, tolerance, pulls_left)
    lowest = np.full(len(points), first)
    swept = np.empty(0)
    while len(points):
        kernels.sweep_all(
            points, lowest, discount, g.base, first, levels, g.annuity, g.cut, g.counts, records
        )
        swept = np.union1d(swept, points)
        points, lowest = kernels.next_points(swept, width, first, levels, records, table)
    rest = kernels.unresolved(records, width)
    if len(rest):
        wins, pulls = triangle.states(levels, first)
        for row, s, n in zip(rest, wins[rest].tolist(), pulls[rest].tolist(), strict=True):
            left = None if pulls_left is None else pulls_left - n
            table[row] = solve_state(alpha + s, beta + n - s, discount, tolerance, left)


def _first_points(
    alpha: float,
    beta: float,
    first: int,
    levels: int,
    discount: float,
    tolerance: float,
    pulls_left: int | None,
) -> FloatArray:
    r"""Return a grid, uniform in :math:`\arcsin\sqrt\lambda`, over the range of the indices.

    From one point to the next the boundary of the last level moves by at most `_CELLS_PER_SWEEP` states.
    """
    failures, total = levels - 1, alpha + beta + (levels - 1)
    rough = max(tolerance, min(0.01, 0.1 / total))
    least = None if pulls_left is None else pulls_left - failures
    most = None if pulls_left is None else pulls_left - first
    low = _bounds(alpha, beta + failures, discount, rough, least)[0]
    high = _bounds(alpha + failures, beta, discount, rough, most)[1]
    ends = np.arcsin(np.sqrt([low, min(high, 1.0)]))
    count = 2 + math.ceil((ends[1] - ends[0]) * total / _CELLS_PER_SWEEP)
    grid = np.sin(np.linspace(ends[0], ends[1], count)) ** 2
    return np.unique(np.clip(grid, 1e-300, np.nextafter(1.0, 0.0)))
