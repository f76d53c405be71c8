"""What `solve` and `evaluate` announce before they start, against what they take.

Each kind of problem and policy has a process of its own. A short run comes first, so that kernels are loaded;
then every horizon is run on its own, from the announcement on, with the peak of memory counted from where the
process stood before.
`python -m benchmarks.bench_announce [WORD …]` prints every run whose name contains all words.
"""

from __future__ import annotations

import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOLVE, KEEP = "solve", "solve and keep"
REWARDS = (0.4, 0.6, 0.7, 1.0)
# arms and the horizons of about 10^5, 10^6 and 10^7 states
HORIZONS = {2: (38, 70, 124), 3: (18, 28, 42), 4: (11, 16, 23)}
VARIANTS = (
    "plan:effort=100",
    "plan:effort=2000",
    "elsv:depth=3",
    "elsv:index=bayes-ucb",
    "elsv:order=false",
    "commit:depth=4",
    "thompson:order=false",
    "greedy:order=false",
)
# what is refused at the longer horizons, since it takes a search or an integral for each state
SHORT = {("plan", 4): (4, 6), ("thompson", 4): (5, 7)}
TIME, MEMORY = 3.0, 1.5  # factors that are aimed for
NOTICED = 1e7  # bytes; less is lost in what the interpreter itself takes


def run() -> list[dict]:
    found = measured()
    rows = []
    for what, unit, target in (("time", "seconds", TIME), ("memory", "bytes", MEMORY)):
        counted = [row for row in found if unit == "seconds" or max(row["bytes"]) > NOTICED]
        factors = [factor(*row[unit]) for row in counted]
        worst = max(counted, key=lambda row: factor(*row[unit]))
        rows += [
            {"name": f"announced {what}, median factor", "value": statistics.median(factors), "unit": "×"},
            {
                "name": f"announced {what}, worst factor ({worst['name']})",
                "value": max(factors),
                "unit": "×",
                "target": f"≤ {target}",
            },
        ]
    return [{"target": None, **row} for row in rows]


def factor(announced: float, found: float) -> float:
    return max(announced / max(found, 1e-12), found / max(announced, 1e-12))


def measured(words: tuple[str, ...] = ()) -> list[dict]:
    """Return a row for each run: its name, and seconds and bytes as announced and as they were."""
    rows: list[dict] = []
    for arms in HORIZONS:
        for order in ("decreasing", None):
            for name in (SOLVE, KEEP, *policies(arms, order)):
                kind = f"{name}, {arms} {'ordered' if order else 'free'} arms"
                if any(word not in kind for word in words) or (order is None and "order=false" in name):
                    continue
                command = [sys.executable, "-m", __spec__.name, "--child", name, str(arms), order or ""]
                environment = os.environ | {"ELSV_CACHE_DISK": "0"}
                answer = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
                if answer.returncode:
                    print(f"{kind}: {answer.stderr.strip().splitlines()[-1]}", file=sys.stderr)
                for line in answer.stdout.splitlines():
                    rows.append(json.loads(line))
                    if words or __name__ == "__main__":
                        _show(rows[-1])
    return rows


def policies(arms: int, order: str | None) -> tuple[str, ...]:
    """Return what the problem takes; `optimal` is given its file when its turn comes."""
    from elsv import Problem
    from elsv.policies.registry import policy_names

    named = policy_names(Problem(REWARDS[-arms:], order, 4))
    return (*named, "optimal", *VARIANTS)


def child(name: str, arms: int, order: str | None) -> None:
    """Measure one policy at all horizons."""
    horizons = HORIZONS[arms]
    base = name.split(":")[0]
    if arms == 4 and base == "thompson" and order and "order=false" not in name:
        horizons = SHORT["thompson", 4]
    if arms == 4 and base == "plan" and order:
        horizons = SHORT["plan", 4]
    with tempfile.TemporaryDirectory() as folder:
        for number, horizon in enumerate((4, *horizons)):
            announced, took = _once(name, arms, order, horizon, Path(folder))
            if number:
                kind = f"{name}, {arms} {'ordered' if order else 'free'} arms, T = {horizon}"
                row = {
                    "name": kind,
                    "states": announced.states,
                    "seconds": [announced.seconds, took[0]],
                    "bytes": [announced.bytes, took[1]],
                    "cpu": took[2],
                }
                print(json.dumps(row), flush=True)


def _once(name: str, arms: int, order: str | None, horizon: int, folder: Path) -> tuple:
    from elsv import Problem
    from elsv.exact import estimate, evaluate, solve

    problem = Problem(REWARDS[-arms:], order, horizon)
    watch = _Watch()
    if name.startswith(SOLVE):
        keep = horizon if name == KEEP else 0
        watch.start(estimate(problem, keep))
        solve(problem, keep=keep or None)
        return watch.cost, watch.stop()
    if name == "optimal":
        solve(problem, save=folder / "arms")
        name = f"optimal:file={folder / 'arms'}"
    evaluate(problem, name, announce=watch.start)
    return watch.cost, watch.stop()


class _Watch:
    """Seconds, the peak of memory above where it was, and seconds of processor time."""

    def start(self, cost: object) -> None:
        self.cost = cost
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak is that of now
        self.began = _memory("VmRSS"), time.perf_counter(), time.process_time()

    def stop(self) -> tuple[float, int, float]:
        room, clock, spent = self.began
        return time.perf_counter() - clock, _memory("VmHWM") - room, time.process_time() - spent


def _memory(key: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(key))


def _show(row: dict) -> None:
    (said, took), (room, peak) = row["seconds"], row["bytes"]
    marks = "T" if factor(said, took) > TIME else " "
    marks += "M" if factor(room, peak) > MEMORY and max(room, peak) > NOTICED else " "
    print(
        f"{marks} {row['name']:<52} {said:9.3f} {took:9.3f} s  {said / took:6.2f}"
        f"  {room / 1e6:9.1f} {peak / 1e6:9.1f} MB  {room / max(peak, 1):6.2f}"
        f"  ({row['cpu']:.2f} s of cores)",
        flush=True,
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], int(sys.argv[3]), sys.argv[4] or None)
    else:
        measured(tuple(sys.argv[1:]))
