"""Gittins indices: time and memory of whole tables, against the plain calibration loop of the paper.

``python -m benchmarks gittins``; every number is for one thread and warm kernels.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.shared import row
from elsv._base import triangle
from elsv._base.jit import kernel
from elsv._base.typing import FloatArray
from elsv.indices._gittins_solver import Source, solve_levels, solve_state
from elsv.indices.base import Setting
from elsv.indices.finite_gittins import FiniteGittins

DISCOUNT = 0.99
LEVELS = 999  # all states with alpha + beta <= 1000 from the uniform prior


@kernel
def calibration_loop(levels: int, horizon: int, discount: float, step: float) -> FloatArray:
    """Return the paper's indices: backward induction from a fixed horizon for every lambda of a grid."""
    index = np.zeros(levels * (levels + 1) // 2)
    value = np.empty(horizon + 1)
    for k in range(1, round(1.0 / step)):
        lam = k * step
        safe = lam / (1.0 - discount)
        for s in range(horizon + 1):
            value[s] = max((s + 1.0) / (horizon + 2.0), lam) / (1.0 - discount)
        for n in range(horizon - 1, -1, -1):
            for s in range(n + 1):
                mean = (s + 1.0) / (n + 2.0)
                pull = mean * (1.0 + discount * value[s + 1]) + (1.0 - mean) * discount * value[s]
                if pull >= safe and n < levels:
                    index[n * (n + 1) // 2 + s] = lam
                value[s] = max(pull, safe)
    return index


def seconds(work: Callable[[], Any], repeats: int = 3) -> float:
    """Return the shortest of a few times."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def long_horizon() -> list[dict[str, Any]]:
    """Return rows on the index of a long run: states with 1000 pulls made and left, also solved singly."""
    horizon, index = 1000, FiniteGittins()
    arm = Setting(np.array([1.0]), np.array([1.0]), 1, horizon, None)
    made = np.arange(horizon)
    wins = np.linspace(0.1 * made, 0.9 * made, 5, axis=1).astype(np.int64)

    def ask() -> FloatArray:
        return np.array([index(1.0 + wins[n], 1.0 + n - wins[n], n + 1, arm) for n in made])

    first = seconds(ask, 1)
    again = seconds(ask)
    start = time.perf_counter()
    single = np.array(
        [[solve_state(1.0 + s, 1.0 + n - s, 1.0, 1e-9, horizon - n) for s in wins[n]] for n in made]
    )
    alone = time.perf_counter() - start
    gap = np.abs(ask() - single).max()
    return [
        row("finite-horizon index to 1e-6, 5000 states of 1000 pulls: first time", first, "s"),
        row("the same again", again, "s"),
        row("the same states one by one to 1e-9", alone, "s"),
        row("largest difference of the two", float(gap), "", 1e-6),
    ]


def run() -> list[dict[str, Any]]:
    """Return rows of name, value, unit and target."""
    calibration_loop(5, 5, DISCOUNT, 0.1)
    solve_levels(Source(1.0, 1.0, DISCOUNT, 1e-4), 0, 5)
    states = f"{triangle.size(LEVELS):,} states, discount {DISCOUNT}"
    plain = seconds(lambda: calibration_loop(LEVELS, LEVELS, DISCOUNT, 0.001))
    start = time.perf_counter()
    close = calibration_loop(LEVELS, 1500, DISCOUNT, 0.0002) + 0.0001  # the middle of a grid cell
    same = time.perf_counter() - start
    coarse = seconds(lambda: solve_levels(Source(1.0, 1.0, DISCOUNT, 1e-4), 0, LEVELS), 5)
    middle = seconds(lambda: solve_levels(Source(1.0, 1.0, DISCOUNT, 1e-6), 0, LEVELS), 2)
    fine = seconds(lambda: solve_levels(Source(1.0, 1.0, DISCOUNT, 1e-9), 0, LEVELS), 1)
    exact = solve_levels(Source(1.0, 1.0, DISCOUNT, 1e-6), 0, LEVELS)
    gap = np.abs(calibration_loop(LEVELS, LEVELS, DISCOUNT, 0.001) - exact).max()
    finite = seconds(lambda: solve_levels(Source(1.0, 1.0, 1.0, 1e-6), 0, LEVELS, LEVELS), 2)
    rows = [
        row(f"gittins table to 1e-4: {states}", coarse, "s", 0.3),
        row(f"gittins table to 1e-6: {states}", middle, "s", 2.5),
        row(f"gittins table to 1e-9: {states}", fine, "s", 25.0),
        row("plain calibration loop: grid .001, horizon 1000, compiled", plain, "s"),
        row("plain calibration loop: its largest error", float(gap), ""),
        row("plain calibration loop / gittins table to 1e-4", plain / coarse, "x", 8.0),
        row("plain loop with grid .0002, horizon 1500: its largest error", np.abs(close - exact).max(), ""),
        row("plain loop with grid .0002, horizon 1500 / gittins table to 1e-4", same / coarse, "x"),
        row("finite-horizon table to 1e-6: 999 pulls, no discount", finite, "s"),
    ]
    for discount in (0.9, 0.99, 0.999, 0.9999):
        one = seconds(lambda discount=discount: solve_state(1.0, 1.0, discount, 1e-6), 5)
        rows.append(
            row(f"one state to 1e-6, discount {discount}", one, "s", 2e-3 if discount == 0.99 else None)
        )
    rows += long_horizon()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    rows.append(row("peak memory of this process", peak / 2**20, "MB", 300.0))
    return rows
