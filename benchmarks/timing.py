"""How the benchmarks take time: the best of several runs, kernels warm."""

from __future__ import annotations

import time
from collections.abc import Callable


def seconds(run: Callable[[], object], repeat: int = 5, at_least: float = 0.05) -> float:
    """Return the least mean time of one call, over `repeat` rounds of at least `at_least` seconds."""
    run()
    best = float("inf")
    for _ in range(repeat):
        calls, start = 0, time.perf_counter()
        while True:
            run()
            calls += 1
            spent = time.perf_counter() - start
            if spent >= at_least:
                break
        best = min(best, spent / calls)
    return best
