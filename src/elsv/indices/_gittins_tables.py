r"""The one source of tables of Gittins indices: blocks of levels, each solved once and by itself.

An index that is solved to a tolerance has one error in one table and another in the next. So that ties do not
go by that error, the index of a state must be one number, whatever was asked before and whichever prior the
arm came from. Two rules see to that. Arms that may meet count their pulls from one corner
(`elsv.indices.base.shared_corners`). And levels are cut into blocks at fixed places: at 8, 16, 32, … and,
where a block would be too large to solve, in between.

Nobody should have to wait for a block. It is solved in advance, from three quarters of its first level on:
every new level that is asked for pays for a few sweeps, so many that the block is done when its first level
comes up. Sooner would be too soon: many who come half the way go no further.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable

import numpy as np

from elsv._base import triangle
from elsv._base.cache import TableKey, cached_table, keep_table, known_table, memory
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.indices._gittins_solver import LevelSolver, Source, one_by_one, part_stop, solve_levels
from elsv.indices.base import Setting

_KIND = "gittins-4"  # changes when the numbers do
_FIRST_BLOCK = 8
_MOST_PAID = 8  # levels that one call pays for; a jump is not a walk
_WHOLE = 1e-6
_FARTHEST = 1 << 30


def block(source: Source, first: int, stop: int, horizon: int | None = None) -> FloatArray:
    """Return the indices of all states with `first` to ``stop - 1`` pulls, level by level, read-only.

    With a `horizon` that many pulls are made and left in all. Such tables are many, and stay in memory.
    """
    key, states = _key(source, first, stop, horizon), triangle.size(stop) - triangle.size(first)

    def compute() -> FloatArray:
        walk: _Walk | None = None if horizon is not None else memory.get(("walk", source))
        if walk is not None and (found := walk.finish(first)) is not None:
            return found
        if walk is not None and (found := known_table(key, states)) is not None:
            return found  # another thread has just finished it
        return solve_levels(source, first, stop, horizon)

    return cached_table(key, compute, states, keep=horizon is None)


def of_states(source: Source, wins: IntArray, pulls: IntArray) -> FloatArray:
    """Return the indices of states by successes and pulls since the corner; flat arrays."""
    index = np.empty(len(pulls))
    if len(pulls):
        of_block = np.searchsorted(_EDGES, pulls, side="right") - 1
        number = triangle.number(wins, pulls)
        for k in np.unique(of_block).tolist():
            mine, first = of_block == k, _EDGES[k]
            index[mine] = block(source, first, _EDGES[k + 1])[number[mine] - triangle.size(first)]
    return index


def prepare(setting: Setting, pulls: int, discount: float, tolerance: float) -> None:
    """Solve or load all blocks of states with up to `pulls` pulls of each arm, and pay for the next ones."""
    for alpha, beta, mine in distinct_corners(setting, np.shape(setting.prior_alpha)):
        source = Source(alpha, beta, discount, tolerance)
        away = (setting.prior_alpha - alpha) + (setting.prior_beta - beta)
        far = int(np.rint(np.max(np.where(mine, away, 0.0))))  # of the priors that count from this corner
        walk: _Walk | None = memory.get(("walk", source))
        if walk is None:
            walk = _Walk(source)
            memory.put(("walk", source), walk, 0)
        most = triangle.MOST_LEVELS if setting.horizon is None else setting.horizon + far
        walk.reach(min(pulls + far, triangle.MOST_LEVELS - 1), most - 1)


class _Walk:
    """The block after those in use, solved a little with every new level that is asked for."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._level, self._first = -1, 0  # the highest level so far; where the block begins
        self._solver: LevelSolver | None = None
        self._lock = threading.Lock()

    def reach(self, level: int, most: int) -> None:
        """Note that states of `level` are asked for, and pay for it; no block beyond `most` is begun."""
        if level <= self._level:
            return
        for k in range(max(bisect_right(_EDGES, self._level) - 1, 0), bisect_right(_EDGES, level)):
            block(self._source, _EDGES[k], _EDGES[k + 1])
        with self._lock:
            passed, self._level = min(level - self._level, _MOST_PAID), level
            place = bisect_right(_EDGES, level)
            if place + 1 >= len(_EDGES) or _EDGES[place] > most or level < 3 * _EDGES[place] // 4:
                return
            if self._first != _EDGES[place]:
                self._begin(_EDGES[place], _EDGES[place + 1])
            if self._solver is not None:
                # `elsv.values.separable` asks for up to 32 levels in advance, but not past a power of two.
                early = 0 if self._first & (self._first - 1) == 0 else 32
                self._pay(self._solver, passed / max(1, self._first - early - level))

    def finish(self, first: int) -> FloatArray | None:
        """Return the block that begins at `first` if it has been begun."""
        with self._lock:
            solver = self._solver
            if solver is not None and solver.first == first:
                self._solver = None
                return solver.finish()
            return None

    def _begin(self, first: int, stop: int) -> None:
        source, self._first, self._solver = self._source, first, None
        states = triangle.size(stop) - triangle.size(first)
        if known_table(_key(source, first, stop, None), states) is None:
            self._solver = LevelSolver(source, first, stop)
            memory.put(("walk", source), self, self._solver.bytes)

    def _pay(self, solver: LevelSolver, share: float) -> None:
        left = solver.estimate - solver.spent
        solver.advance(solver.spent + share * max(left, 0.1 * solver.estimate))
        if solver.done:
            keep_table(_key(self._source, solver.first, solver.levels, None), solver.finish())
            self._solver = None


def _key(source: Source, first: int, stop: int, horizon: int | None) -> TableKey:
    return (_KIND, *source, first, stop, horizon)


def _edges() -> list[int]:
    """Return where blocks begin and end, as far as tables go."""
    found, octave = [0], _FIRST_BLOCK
    while found[-1] < triangle.MOST_LEVELS:
        while found[-1] < octave:
            found.append(part_stop(found[-1], octave))
        octave = min(2 * octave, triangle.MOST_LEVELS)
    return found


_EDGES = _edges()


def by_corner(
    setting: Setting,
    alpha: FloatArray,
    beta: FloatArray,
    discount: float,
    tolerance: float,
    tabled: Callable[[Source, IntArray, IntArray], FloatArray],
    most: int = _FARTHEST,
    left: int | None = None,
) -> FloatArray:
    """Return indices of states by ``tabled(source, wins, pulls)``, which takes and returns flat arrays.

    States with `most` pulls or more, or not whole steps from their corner, are solved one by one.
    """
    index = np.empty(alpha.shape)
    for corner_a, corner_b, mine in distinct_corners(setting, alpha.shape):
        a, b = alpha[mine], beta[mine]
        wins, pulls, regular = offsets(a, b, corner_a, corner_b)
        regular &= pulls < most
        found, source = np.empty(a.shape), Source(corner_a, corner_b, discount, tolerance)
        found[regular] = tabled(source, wins[regular], pulls[regular])
        found[~regular] = one_by_one(a[~regular], b[~regular], discount, tolerance, left)
        index[mine] = found
    return index


def distinct_corners(setting: Setting, shape: tuple[int, ...]) -> list[tuple[float, float, AnyArray]]:
    """Return each distinct corner (alpha, beta) with the mask of the states of that shape that it serves."""
    alpha, beta = setting.corners[..., 0], setting.corners[..., 1]
    pairs = sorted({(float(a), float(b)) for a, b in zip(np.ravel(alpha), np.ravel(beta), strict=True)})
    return [(a, b, np.broadcast_to((alpha == a) & (beta == b), shape)) for a, b in pairs]


def offsets(
    alpha: FloatArray, beta: FloatArray, corner_a: float, corner_b: float
) -> tuple[IntArray, IntArray, AnyArray]:
    """Return successes and pulls since the corner, and which states are whole steps away from it."""
    wins, losses = np.rint(alpha - corner_a), np.rint(beta - corner_b)
    off = np.maximum(np.abs(alpha - corner_a - wins), np.abs(beta - corner_b - losses))
    whole = (off <= _WHOLE) & (wins >= 0) & (losses >= 0) & (wins + losses < _FARTHEST)
    wins, losses = np.where(whole, wins, 0), np.where(whole, losses, 0)
    return wins.astype(np.int64), (wins + losses).astype(np.int64), whole
