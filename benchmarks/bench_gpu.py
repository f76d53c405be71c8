"""The optimum on a GPU: seconds, memory and the two floors, by horizon.

``python -m benchmarks.bench_gpu [HORIZON …]`` solves three arms in an order, rewards (.8, .9, 1). Every state
of a layer is read once and written once (bytes), and every weight is one multiplication and addition for each
quadrature node (operations); at the rates of one H200, 4.3 TB/s as copies measure it and 33.5 TFLOP/s by its
data sheet, these are the floors.
"""

from __future__ import annotations

import json
import sys
import time

from benchmarks.shared import row
from elsv import InvalidInputError, MissingExtraError, Problem, solve
from elsv.exact.cuda.run import root_scores, solve_cost
from elsv.exact.cuda.sweeps import find_device
from elsv.lattice.numbering import states_up_to

BANDWIDTH, FLOPS = 4.3e12, 33.5e12
TARGETS = {100: 0.2, 200: 5.0, 290: 120.0}


def measure(horizon: int, rewards: tuple[float, ...] = (0.8, 0.9, 1.0)) -> dict:
    problem, device = Problem(rewards, "decreasing", horizon), find_device()
    cost = solve_cost(problem, device)
    before = device.free()
    began, least = time.perf_counter(), [before]

    def progress(done: int, total: int) -> None:
        if done in (1, 2):
            least.append(device.free())

    scores = root_scores(problem, device, progress)
    seconds = time.perf_counter() - began
    states = states_up_to(3, horizon - 1)
    nodes = (horizon + 3) // 2 + 1
    return {
        "horizon": horizon,
        "value": float(scores.max()),
        "seconds": round(seconds, 3),
        "target": TARGETS.get(horizon),
        "gigabytes": round((before - min(least)) / 1e9, 2),
        "announced_gigabytes": round(cost.bytes / 1e9, 2),
        "floor_bytes": round(16 * states / BANDWIDTH, 3),
        "floor_operations": round(2 * nodes * states / FLOPS, 3),
    }


def run() -> list[dict]:
    try:
        find_device()
    except (InvalidInputError, MissingExtraError) as error:
        print(f"left out: {error}", file=sys.stderr)
        return []
    return [
        row(
            f"optimum on a GPU, three ordered arms, T = {horizon}",
            measure(horizon)["seconds"],
            "s",
            f"≤ {TARGETS[horizon]}",
        )
        for horizon in (100, 200)
    ]


def main() -> None:
    horizons = [int(word) for word in sys.argv[1:]] or [60, 100, 150, 200]
    solve(Problem([0.8, 0.9, 1.0], "decreasing", 20), device="cuda")  # compiles the kernels
    for horizon in horizons:
        print(json.dumps(measure(horizon)), flush=True)


if __name__ == "__main__":
    main()
