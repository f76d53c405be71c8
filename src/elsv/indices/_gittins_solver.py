r"""Gittins indices of one state or of a triangle of states, to a tolerance.

An infinite horizon is cut some discounted lifetimes :math:`1/(1-\gamma)` past the last level asked for, where
the diffusion form of `_gittins_kernels.last_level` takes over; a finite horizon ends by itself. The bracket
of the root may use up nine tenths of the tolerance; the cuts of the horizon and of the band share the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from elsv._base import triangle
from elsv._base.numbers import counted, duration, numbers
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.errors import InvalidInputError
from elsv.indices.base import parameter

MOST_AHEAD = 10_000_000  # about a minute for one state
_FINEST, _COARSEST = 1e-12, 0.1
_LEAST_COUNT, _MOST_COUNT = 1e-200, 1e200  # beyond, sums and quotients of counts leave the range of floats
_MOST_SECONDS = 3600.0
_BRACKET_SHARE = 0.9
_BAND_SHARE = 5e-4
_CELLS_PER_SWEEP = 2.0
_STATES_AT_ONCE = 2_000_000  # of one solver
_STATES_LOOKED_AT, _SWEEPS_AT_ONCE = 20_000, 8  # parts of the work of a solver, about a millisecond each
_SWEEP_SECONDS = 1e-9  # for a level to the power 3/2, since the band widens; measured, and rather too much
_MOST_LEVELS = 4096  # of a table for states that are given one by one
_WORTH = 4.0  # a table is built when the states asked for would take a quarter of its time
_STATE_SWEEPS = 8  # that one state takes, about


def check_tolerance(value: object) -> float:
    """Return the tolerance if it is one that double precision can keep."""
    tolerance = parameter("tolerance", value, "tolerance=1e-6")
    if not _FINEST <= tolerance <= _COARSEST:
        raise InvalidInputError(
            f"tolerance must lie between {_FINEST:g} and {_COARSEST:g}, got {tolerance:g}; "
            "for example tolerance=1e-6"
        )
    return tolerance


def check_pulls_left(pulls: int) -> None:
    """Raise if a finite horizon is so long that following it would take minutes for each state."""
    if pulls > MOST_AHEAD:
        raise InvalidInputError(
            f"the finite-horizon Gittins index takes at most {MOST_AHEAD:,} pulls left, "
            f"got {counted(pulls)}; use the Gittins index with a discount"
        )


def check_counts(alpha: ArrayLike, beta: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return alpha and beta as float arrays of one shape if they are positive and finite."""
    a, b = numbers("alpha", alpha), numbers("beta", beta)
    for name, counts in (("alpha", a), ("beta", b)):
        outside = (counts < _LEAST_COUNT) | (counts > _MOST_COUNT)
        for bad, rule in (
            (~(np.isfinite(counts) & (counts > 0.0)), "be positive and finite"),
            (outside, f"lie between {_LEAST_COUNT:g} and {_MOST_COUNT:g}"),
        ):
            if bad.any():
                found = counts[bad].flat[0]
                raise InvalidInputError(f"{name} must {rule}, got {found:g}; the uniform prior is 1")
    try:
        a, b = np.broadcast_arrays(a, b)
    except ValueError as error:
        raise InvalidInputError(
            f"alpha and beta must have shapes that fit, got {a.shape} and {b.shape}"
        ) from error
    return a, b


def table_sweeps(total: float, tolerance: float) -> float:
    """Return about how many sweeps a table takes whose last level has alpha + beta = `total`."""
    return 2.5 * total * max(1.0, math.pow(1e-4 / tolerance, 0.37))


def table_pays(distinct: int, base: float, levels: int, discount: float, tolerance: float) -> bool:
    """Return whether a table is worth its time for so many distinct states."""
    reach = run_out(discount, tolerance)
    table = table_sweeps(base + levels, tolerance) * (levels + reach)
    return levels <= _MOST_LEVELS and _WORTH * distinct * _STATE_SWEEPS * reach > table


class Source(NamedTuple):
    """What all states share that count from one corner."""

    alpha: float
    beta: float
    discount: float
    tolerance: float

    @property
    def base(self) -> float:
        """Alpha + beta."""
        return self.alpha + self.beta

    @property
    def width(self) -> float:
        """How wide the bracket of a root may be."""
        return 2.0 * _BRACKET_SHARE * self.tolerance


def ground(source: Source, levels: int, pulls_left: int | None) -> Any:
    """Return the kernels' `Ground` of sweeps that serve all states with fewer than `levels` pulls."""
    from elsv.indices._gittins_kernels import Ground

    alpha, base, discount, tolerance = source.alpha, source.base, source.discount, source.tolerance
    if pulls_left is None:
        end = levels - 1 + run_out(discount, tolerance)
        annuity = np.full(end + 1, 1.0 / (1.0 - discount))
        cut = band_cut(1.0 / (1.0 - discount), base + np.arange(0.0, end + 1.0), tolerance)
    else:
        check_pulls_left(pulls_left)
        left = np.arange(pulls_left, -1, -1.0)
        annuity = left if discount == 1.0 else -np.expm1(left * math.log(discount)) / (1.0 - discount)
        cut = np.full(pulls_left + 1, _BAND_SHARE * tolerance)
    counts = alpha + np.arange(0.0, len(annuity) + 1.0)
    return Ground(discount, base, annuity, cut, counts)


def run_out(discount: float, tolerance: float) -> int:
    """Return how many levels past the last one asked for an infinite horizon is followed."""
    lifetimes = max(2.0, 5.5 + 0.9 * math.log(1e-4 / tolerance))
    pulls = math.ceil(lifetimes / (1.0 - discount)) + 1
    if pulls > MOST_AHEAD:
        raise InvalidInputError(
            f"the Gittins index of discount {discount!r} and tolerance {tolerance:g} looks {counted(pulls)} "
            f"pulls ahead, more than {MOST_AHEAD:,}; use a smaller discount (0.99999), or a coarser tolerance"
        )
    return pulls


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
    lower, upper = _bounds(Source(alpha, beta, discount, tolerance), pulls_left)
    return 0.5 * (lower + upper)


one_state = lru_cache(maxsize=1 << 18)(solve_state)
"""The same, remembered for states that come up step after step."""


def one_by_one(
    alpha: AnyArray, beta: AnyArray, discount: float, tolerance: float, pulls_left: int | None = None
) -> FloatArray:
    """Return the indices of states, each solved by itself, elementwise."""
    pairs = zip(alpha.reshape(-1).tolist(), beta.reshape(-1).tolist(), strict=True)
    index = [one_state(a, b, discount, tolerance, pulls_left) for a, b in pairs]
    return np.array(index, dtype=np.float64).reshape(alpha.shape)


def _bounds(source: Source, pulls_left: int | None) -> tuple[float, float]:
    from elsv.indices import _gittins_kernels as kernels

    return kernels.solve_state(source.width, ground(source, 1, pulls_left))


def part_stop(start: int, levels: int, states: int | None = None) -> int:
    """Return where the levels from `start` on have so many states; by default those of one solver."""
    most = triangle.level_of(triangle.size(start) + (states or _STATES_AT_ONCE))
    return min(levels, max(start + 1, most))


def solve_levels(source: Source, first: int, levels: int, pulls_left: int | None = None) -> FloatArray:
    """Return the indices of all states with `first` to ``levels - 1`` pulls, level by level.

    With `pulls_left` the state without pulls has so many left, and one with n pulls n fewer.
    """
    triangle.check_levels(levels)
    ahead = levels + run_out(source.discount, source.tolerance) if pulls_left is None else pulls_left
    # However large the prior's counts, the boundary passes over no more states than there are.
    sweeps = table_sweeps(min(source.base, levels) + levels, source.tolerance)
    seconds = _SWEEP_SECONDS * sweeps * ahead**1.5
    if seconds > _MOST_SECONDS:
        raise InvalidInputError(
            f"a Gittins table of {levels:,} levels would take about {duration(seconds)}; "
            "use fewer levels, a smaller discount or a coarser tolerance"
        )
    parts, start = [], first
    while start < levels:
        solver = LevelSolver(source, start, part_stop(start, levels), pulls_left)
        parts.append(solver.finish())
        start = solver.levels
    return np.concatenate(parts) if parts else np.empty(0)


class LevelSolver:
    """The indices of some levels: sweeps over a grid of lambdas, then again where states are unresolved.

    The work can be done a little at a time; the numbers do not depend on how. It goes in rounds: sweeps of
    some lambdas, then a look at all states, which says where to sweep next.
    """

    def __init__(self, source: Source, first: int, levels: int, pulls_left: int | None = None) -> None:
        self.source, self.first, self.levels, self.pulls_left = source, first, levels, pulls_left
        self.spent, self.done = 0.0, False  # in sweeps
        self._ground = ground(source, levels, pulls_left)
        self._table = np.empty(triangle.size(levels) - triangle.size(first))
        self._records = np.empty((len(self._table), 6))
        self._at_once = len(self._ground.annuity)  # about how many states a sweep's time is enough to look at
        self._open = True  # whether some state is unresolved
        self._work = self._rounds()

    @property
    def bytes(self) -> int:
        """What the solver holds."""
        return self._table.nbytes + self._records.nbytes

    @property
    def estimate(self) -> float:
        """About how much work there is in all, in sweeps, by measurement and rather too much."""
        total = min(self.source.base, self.levels) + self.levels
        sweeps = (1.2 + 0.9 * min(1.0, 256 / self.levels)) * table_sweeps(total, self.source.tolerance)
        return sweeps + 12 * len(self._table) / self._at_once

    def advance(self, until: float) -> None:
        """Work until so much is spent in all, or until all is done."""
        while not self.done and self.spent < until:
            self.spent += next(self._work, 0.0)

    def finish(self) -> FloatArray:
        """Return the table, after all the work that is left; a state that it leaves open is solved alone."""
        from elsv.indices import _gittins_kernels as kernels

        self.advance(math.inf)
        source, before = self.source, triangle.size(self.first)
        rows = kernels.unresolved(self._records, source.width).tolist() if self._open else []
        for row in rows:
            n = triangle.level_of(before + row)
            s = before + row - triangle.size(n)
            left = None if self.pulls_left is None else self.pulls_left - n
            alpha, beta = source.alpha + s, source.beta + n - s
            self._table[row] = solve_state(alpha, beta, source.discount, source.tolerance, left)
        return self._table

    def _rounds(self) -> Iterator[float]:
        """Do the work, and yield after every small part what it took, in sweeps."""
        from elsv.indices import _gittins_kernels as kernels

        source, first, levels = self.source, self.first, self.levels
        for start, stop, rows in self._runs():
            kernels.start_records(self._records[rows], start, stop, self._ground)
            yield 3.0 * (rows.stop - rows.start) / self._at_once  # the memory is new
        points, swept = _first_points(source, first, levels, self.pulls_left), np.empty(0)
        lowest = np.full(len(points), first)
        while len(points):
            for k in range(0, len(points), _SWEEPS_AT_ONCE):
                some, least = points[k : k + _SWEEPS_AT_ONCE], lowest[k : k + _SWEEPS_AT_ONCE]
                kernels.sweep_all(some, least, first, levels, self._ground, self._records)
                yield float(len(some))
            swept = np.union1d(swept, points)
            total, count = np.zeros((2, len(swept) + 1))
            lowest = np.full(len(swept) + 1, levels)
            for start, stop, rows in self._runs():
                records, table = self._records[rows], self._table[rows]
                kernels.gather(swept, source.width, start, stop, records, table, total, count, lowest)
                yield (rows.stop - rows.start) / self._at_once
            points, lowest = _next_points(swept, total, count, lowest)
            self._open = bool(count.any())
        self.done = True

    def _runs(self) -> Iterator[tuple[int, int, slice]]:
        """Yield runs of levels with some states each, and their rows."""
        start, before = self.first, triangle.size(self.first)
        while start < self.levels:
            stop = part_stop(start, self.levels, _STATES_LOOKED_AT)
            yield start, stop, slice(triangle.size(start) - before, triangle.size(stop) - before)
            start = stop


def _next_points(
    swept: FloatArray, total: FloatArray, count: FloatArray, lowest: IntArray
) -> tuple[FloatArray, IntArray]:
    """Return where to sweep next, and down to which level.

    Each interval between swept lambdas that holds unresolved states is swept at the mean of the middles of
    their brackets, unless rounding leaves nothing between its ends.
    """
    chosen = np.flatnonzero(count)
    points = total[chosen] / count[chosen]
    inside = (chosen > 0) & (chosen < len(swept))
    below, above = swept[np.maximum(chosen - 1, 0)], swept[np.minimum(chosen, len(swept) - 1)]
    sweep = ~inside | ((below < points) & (points < above))
    return points[sweep], lowest[chosen[sweep]]


def _first_points(source: Source, first: int, levels: int, pulls_left: int | None) -> FloatArray:
    r"""Return a grid, uniform in :math:`\arcsin\sqrt\lambda`, over the range of the indices.

    From one point to the next the boundary of the last level moves by at most `_CELLS_PER_SWEEP` states.
    """
    pulls, total = levels - 1, source.base + (levels - 1)
    rough = source._replace(tolerance=max(source.tolerance, min(0.01, 0.1 / total)))
    least = None if pulls_left is None else pulls_left - pulls
    most = None if pulls_left is None else pulls_left - first
    low = _bounds(rough._replace(beta=source.beta + pulls), least)[0]
    high = _bounds(rough._replace(alpha=source.alpha + pulls), most)[1]
    ends = np.arcsin(np.sqrt([low, min(high, 1.0)]))
    count = 2 + math.ceil((ends[1] - ends[0]) * total / _CELLS_PER_SWEEP)
    grid = np.sin(np.linspace(ends[0], ends[1], count)) ** 2
    return np.unique(np.clip(grid, 1e-300, np.nextafter(1.0, 0.0)))
