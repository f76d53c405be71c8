"""Exact solutions: time and memory of solving, and of evaluating policies relative to it."""

from __future__ import annotations

import subprocess
import sys

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
CASES = [
    (3, "decreasing", 50, 2, None),
    (3, "decreasing", 100, 60, 6),
    (2, "", 400, 4, None),
    (2, "", 1000, 150, 2),
]


def run() -> list[dict]:
    rows = []
    for arms, order, horizon, most_seconds, most_memory in CASES:
        command = [sys.executable, "-c", _PEAK, str(arms), order, str(horizon)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        name = f"solve, {arms} {'ordered' if order else 'free'} arms, T = {horizon}"
        rows.append({"name": name, "value": float(answer[0]), "unit": "s", "target": f"≤ {most_seconds}"})
        target = most_memory and f"≤ {most_memory}"
        rows.append({"name": f"{name}, memory", "value": float(answer[1]), "unit": "GB", "target": target})
    return rows + _ratios()


def _ratios() -> list[dict]:
    rows = []
    for problem in (Problem([0.4, 0.7, 1.0], "decreasing", 50), Problem([0.4, 0.7, 1.0], None, 50)):
        kind = "ordered" if problem.order else "free"
        optimum = min(solve(problem).seconds for _ in range(3))
        for policy, target in (("gittins", "≤ 1.5"), ("elsv", None), ("elsv:depth=3", None)):
            seconds = min(evaluate(problem, policy)[0].seconds for _ in range(3))
            rows.append(
                {
                    "name": f"evaluate {policy}, 3 {kind} arms, T = 50",
                    "value": seconds / optimum,
                    "unit": "solves",
                    "target": target,
                }
            )
    return rows


if __name__ == "__main__":
    for row in run():
        print(row)
