"""What the benchmarks share: time, as the best of several runs with kernels warm, rows and tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any


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


def row(name: str, value: float, unit: str, target: float | str | None = None) -> dict[str, Any]:
    """Return one result; `target` is what is aimed for, if anything is."""
    return {"name": name, "value": value, "unit": unit, "target": target}


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], words: Sequence[int] = (0,)) -> str:
    """Return a table; columns that are not `words` are figures, at the right."""
    lines = [" | ".join(heads)]
    rule = "|".join("---" if k in words else "---:" for k in range(len(heads)))
    lines += [" | ".join(row) for row in rows]
    first, *others = (f"| {line} |" for line in lines)
    return "\n".join([first, f"|{rule}|", *others])


def plus_minus(pair: Sequence[float], digits: int = 2) -> str:
    """Return a value and half its interval."""
    value, half = pair
    return f"{value:.{digits}f} ± {half:.{digits}f}".replace("-", "−")
