"""Every policy, one customer at a time to step 3,000: its worst step against its median.

A policy that prepares something on the way must not make one customer wait for it. Times are CPU time of the
thread that asks, with kernels compiled and nothing left from earlier runs. The walk is made three times, and
each step counts with its quickest time: the policy does the same every time, the machine does not. A policy
whose steps take long is walked once and in part: at first, and before and after every power of two.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
import time

import numpy as np

from benchmarks.shared import row
from elsv import Bandit, Problem, policy_names
from elsv._base.cache import memory
from elsv.indices._gittins_solver import one_state

STEPS, ARMS = 3000, [0.8, 0.9, 1.0]
TRUTH = (0.5, 0.45, 0.42)
FIRST, AROUND = 64, 6  # steps of a costly policy that are walked
WALKS, ONCE = 3, 20.0  # seconds past which one walk is enough
PATIENCE = 90.0  # seconds for one policy, after which it counts as costly


def run(names: tuple[str, ...] = ()) -> list[dict]:
    problem = Problem(ARMS, order="decreasing", horizon=STEPS)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(names or policy_names(problem)):
            os.environ["ELSV_CACHE_DIR"] = os.path.join(folder, str(number))
            walk(problem, name, 40)  # compiles
            times: dict[int, float] = {}
            for _ in range(WALKS):
                memory.clear()
                one_state.cache_clear()
                shutil.rmtree(os.environ["ELSV_CACHE_DIR"], ignore_errors=True)
                again = walk(problem, name, STEPS)
                times = {step: min(took, times.get(step, took)) for step, took in again.items()}
                if sum(times.values()) > ONCE:
                    break
            worst, median = max(times.values()), statistics.median(times.values())
            at = max(times, key=times.__getitem__)
            rows += [
                row(f"worst step of {len(times)}, {name} (step {at})", 1e3 * worst, "ms", "≤ 50"),
                row(f"worst step by median, {name}", worst / median, "×", "≤ 20"),
            ]
    return rows


def walk(problem: Problem, name: str, steps: int) -> dict[int, float]:
    """Return the seconds of each decision that was made, by its step."""
    bandit, rng = Bandit(problem, name, seed=1), np.random.default_rng(7)
    times: dict[int, float] = {}
    began = time.process_time()
    for step in range(1, steps + 1):
        costly = time.process_time() - began > PATIENCE
        near = min(abs(step - 2**k) for k in range(13)) <= AROUND or step > steps - AROUND
        if costly and step > FIRST and not near:
            arm = step % len(ARMS)
        else:
            clock = time.thread_time()
            arm = bandit.choose()
            times[step] = time.thread_time() - clock
        bandit.observe(arm, rng.random() < TRUTH[arm])
    return times


if __name__ == "__main__":
    for one in run(tuple(sys.argv[1:])):
        print(f"{one['name']:<60} {one['value']:>10.4g} {one['unit']:<6} {one['target'] or ''}")
