"""Exact solutions: time and memory of solving, how it grows, and evaluating policies relative to it."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.shared import row
from elsv import Problem
from elsv.exact import evaluate, solve

_PEAK = """
import resource, sys
from elsv import Problem
from elsv.exact import solve
arms, order, horizon = int(sys.argv[1]), sys.argv[2] or None, int(sys.argv[3])
solve(Problem([1.0] * arms, order, 4))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = solve(Problem([0.4, 0.7, 1.0][-arms:], order, horizon))
print(found.seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e6)
"""
# arms, order, horizon, seconds and gigabytes aimed for
CASES = [(3, "decreasing", 100, 60, 6), (2, "", 1000, 150, 2)]
# arms and horizons over which the time of a solution is followed, and the seconds aimed for if any
GROWTH = [(2, (100, 200, 400)), (3, (30, 50, 70)), (4, (15, 20, 25))]
TARGETS = {(3, "decreasing", 50): "≤ 2", (2, None, 400): "≤ 4"}
DEPTHS = (1, 2, 4, 8)
REWARDS = (0.4, 0.6, 0.7, 1.0)


def run() -> list[dict]:
    rows = []
    for arms, order, horizon, most_seconds, most_memory in CASES:
        command = [sys.executable, "-c", _PEAK, str(arms), order, str(horizon)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        name = _name(arms, order, horizon)
        rows.append(row(name, float(answer[0]), "s", f"≤ {most_seconds}"))
        target = f"≤ {most_memory}"
        rows.append(row(f"{name}, memory", float(answer[1]), "GB", target))
    return rows + _ratios() + _growth() + _depths()


def _name(arms: int, order: str | None, horizon: int) -> str:
    return f"solve, {arms} {'ordered' if order else 'free'} arms, T = {horizon}"


def _ratios() -> list[dict]:
    rows = []
    for problem in (Problem([0.4, 0.7, 1.0], "decreasing", 50), Problem([0.4, 0.7, 1.0], None, 50)):
        kind = "ordered" if problem.order else "free"
        optimum = min(solve(problem).seconds for _ in range(3))
        for policy, target in (("gittins", "≤ 1.5"), ("elsv", None), ("elsv:depth=3", None)):
            seconds = min(evaluate(problem, policy)[0].seconds for _ in range(3))
            rows.append(row(f"evaluate {policy}, 3 {kind} arms, T = 50", seconds / optimum, "solves", target))
    return rows


def _growth() -> list[dict]:
    rows = []
    for arms, horizons in GROWTH:
        for order in ("decreasing", None):
            for horizon in horizons:
                seconds = min(solve(Problem(REWARDS[-arms:], order, horizon)).seconds for _ in range(2))
                target = TARGETS.get((arms, order, horizon))
                rows.append(row(_name(arms, order, horizon), seconds, "s", target))
    return rows


def _depths() -> list[dict]:
    problem = Problem([0.4, 0.7, 1.0], "decreasing", 40)
    return [
        row(
            f"evaluate commit, depth {depth}, 3 ordered arms, T = 40",
            min(evaluate(problem, f"commit:depth={depth}")[0].seconds for _ in range(2)),
            "s",
        )
        for depth in DEPTHS
    ]
