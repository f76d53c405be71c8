"""What `solve` and `evaluate` announce before they start, against what they take.

Every run is a fork of a process in which the kernels are loaded, on one thread, so that processor time is
what is announced whatever else the machine does. The horizon is the longest one of at most so many states
that is not expected to take long. Less than `SHORT` and `SMALL` are printed but not counted.
`python -m benchmarks.bench_announce [WORD …]` prints every run whose name contains all words.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

SOLVE, KEEP = "solve", "solve and keep"
REWARDS = (0.4, 0.6, 0.7, 1.0)
VARIANTS = (
    "bayes-ucb:belief=structured",
    "plan:effort=100",
    "plan:effort=2000",
    "elsv:depth=3",
    "elsv:index=bayes-ucb",
    "commit:depth=4",
    "glm-ucb:prices=1+2+3+4",
    "elsv:order=false",
    "thompson:order=false",
    "greedy:order=false",
)
SIZES = (2e3, 1e5, 8e6)  # states of a run; the first one only says how long the others may be
MOST = {2: 150, 3: 60, 4: 40}  # steps
SECONDS = 0.8  # that a run is meant to take at most
STOPPED = 60  # seconds after which it is
TIME, MEMORY = 3.0, 1.5  # factors that are aimed for
SHORT, SMALL = 0.1, 1e7  # seconds and bytes, of which less is lost in what the interpreter itself takes


def run() -> list[dict]:
    found = list(measured())
    rows = []
    for what, unit, target, floor in (("time", "seconds", TIME, SHORT), ("memory", "bytes", MEMORY, SMALL)):
        counted = [row for row in found if max(row[unit]) > floor]
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


def kinds() -> dict[str, dict[str, Any]]:
    """Return the kinds of problems by name: their rewards, and what is known of their arms."""
    from elsv import structure

    tree, diamond = structure.order([(1, 2), (1, 3)]), structure.order([(1, 2), (1, 3), (2, 4), (3, 4)])
    peak = structure.unimodal(on="reward")
    pairs = structure.order([(1, 2), (3, 4), (3, 1), (4, 2)])
    found: dict[str, dict[str, Any]] = {}
    for arms in (2, 3, 4):
        found[f"{arms} free arms"] = {"rewards": REWARDS[-arms:]}
        found[f"{arms} ordered arms"] = {"rewards": REWARDS[-arms:], "order": "decreasing"}
    for arms, known in ((3, tree), (4, diamond)):
        found[f"{arms} arms in part ordered"] = {"rewards": REWARDS[-arms:], "structure": known}
        found[f"{arms} arms with a peak"] = {"rewards": REWARDS[-arms:], "structure": peak}
    found["3 arms of 2 segments"] = {
        "rewards": (0.7, 1.0, 0.8), "structure": structure.order([(1, 2), (3, 1)]), "segments": [[1, 2], [3]]
    }  # fmt: skip
    found["4 arms of 2 segments"] = {
        "rewards": (0.7, 1.0) * 2, "structure": pairs, "segments": [[1, 2], [3, 4]]
    }  # fmt: skip
    found["4 free arms of 2 segments"] = {"rewards": (0.7, 1.0) * 2, "segments": [[1, 2], [3, 4]]}
    return found


def measured(words: tuple[str, ...] = (), show: bool = False) -> Iterator[dict]:
    """Yield a row for each run: its name, and seconds and bytes as announced and as they were."""
    os.environ["ELSV_CACHE_DISK"] = "0"
    for kind, given in kinds().items():
        for name in (SOLVE, KEEP, *policies(given)):
            title = f"{name}, {kind}"
            if any(word not in title for word in words):
                continue
            for row in _horizons(name, title, given):
                if show:
                    _show(row)
                yield row


def policies(given: dict[str, Any]) -> tuple[str, ...]:
    """Return what the problem takes; `optimal` is given its file when its turn comes."""
    from elsv import InvalidInputError, Problem, make_policy
    from elsv.policies.registry import policy_names

    problem, takes = Problem(**given, horizon=4), []
    for name in VARIANTS:
        try:
            make_policy(name, problem)
        except InvalidInputError:
            continue
        if "order" not in name or {"order", "structure"} & set(given):
            takes.append(name)
    return (*policy_names(problem), "optimal", *takes)


def _horizons(name: str, title: str, given: dict[str, Any]) -> Iterator[dict]:
    """Yield the runs of a policy that are shown."""
    from elsv.lattice.numbering import states_up_to

    arms, latest, rate = len(given["rewards"]), 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for number, size in enumerate(SIZES):
            most = min(size, SECONDS / rate if rate else size)
            horizon = max(t for t in range(3, MOST[arms] + 1) if t == 3 or states_up_to(arms, t - 1) <= most)
            if number == 2 and states_up_to(arms, horizon - 1) < 3 * latest:
                break
            work = partial(once, name, given, horizon, Path(folder))
            row = _forked(work) if number else work()  # kernels are loaded
            if row is None:
                break
            latest, rate = row["states"], row["seconds"][1] / row["states"]
            if number:
                yield {"name": f"{title}, T = {horizon}", **row}


def _forked(work: Callable[[], dict]) -> dict | None:
    """Return what `work` does in a process of its own, or None if it did not end."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(STOPPED)
        try:
            os.write(write, json.dumps(work()).encode())
        except Exception as error:  # a policy that refuses so many states
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return json.loads(answer) if answer else None


def once(name: str, given: dict[str, Any], horizon: int, folder: Path = Path()) -> dict:
    """Return what is announced and found for one run."""
    from elsv import Problem
    from elsv.exact import estimate, evaluate, solve

    problem = Problem(**given, horizon=horizon)
    watch = _Watch()
    if name.startswith(SOLVE):
        keep = horizon if name == KEEP else 0
        watch.start(estimate(problem, keep, 1))
        solve(problem, keep=keep or None, jobs=1)
        return watch.stop()
    if name == "optimal":
        solve(problem, save=folder / "arms", jobs=1)
        name = f"optimal:file={folder / 'arms'}"
    evaluate(problem, name, announce=watch.start, jobs=1)
    return watch.stop()


class _Watch:
    """Seconds of processor time, and the peak of memory above where it was."""

    def start(self, cost: Any) -> None:
        self.cost = cost
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak is that of now
        self.began = _memory("VmRSS"), time.process_time()

    def stop(self) -> dict:
        room, spent = self.began
        return {
            "states": self.cost.states,
            "seconds": [self.cost.seconds, time.process_time() - spent],
            "bytes": [self.cost.bytes, _memory("VmHWM") - room],
        }


def _memory(key: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(key))


def _show(row: dict) -> None:
    (said, took), (room, peak) = row["seconds"], row["bytes"]
    marks = "T" if factor(said, took) > TIME and max(said, took) > SHORT else " "
    marks += "M" if factor(room, peak) > MEMORY and max(room, peak) > SMALL else " "
    print(
        f"{marks} {row['name']:<58} {said:8.3f} {took:8.3f} s {said / took:6.2f}"
        f"  {room / 1e6:8.1f} {peak / 1e6:8.1f} MB {room / max(peak, 1):6.2f}",
        flush=True,
    )


def _sum_up(rows: list[dict]) -> None:
    for what, unit, floor in (("time", "seconds", SHORT), ("memory", "bytes", SMALL)):
        counted = {row["name"]: row[unit][0] / row[unit][1] for row in rows if max(row[unit]) > floor}
        if counted:
            (least, low), *_, (most, high) = sorted([*counted.items()] * 2, key=lambda item: item[1])
            print(
                f"{what}: announced {low:.2f} ({least}) to {high:.2f} ({most}) times what it took, "
                f"median {statistics.median(counted.values()):.2f}; {len(counted)} of {len(rows)} count"
            )


if __name__ == "__main__":
    began = time.perf_counter()
    _sum_up(list(measured(tuple(sys.argv[1:]), show=True)))
    from elsv._base.machine import slowness

    print(
        f"{time.perf_counter() - began:.0f} s; numbers take {slowness():.2f} times as long as where the "
        "constants were measured"
    )
