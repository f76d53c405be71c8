"""Low rates, as in a shop: four ordered offers that 2 to 10 % accept, outcomes under way; paired simulation.

``python -m benchmarks.low_rates [--runs 8] [--jobs 16] [--horizons 500,2000,5000]`` prints what ``plan`` and
its rivals lose, in per cent of what knowing the rates would earn, and what ``plan`` earns beside the best of
them. A run is eight instances on which all of them meet the same customers.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from itertools import product

import numpy as np
from scipy.special import stdtrit

from elsv import Problem, State, compare

REWARDS = (0.3, 0.45, 0.65, 1.0)
RATES = (0.09, 0.06, 0.04, 0.025)
STRENGTHS = (20,)  # customers that the prior is worth
DELAYS = (0, 100, 300)
RIVALS = ("plan", "thompson", "top-two", "ids", "split")
EACH = 8
TRIED = 5  # an equal split tries all offers for this part of the customers


class Split:
    """All offers in turn for a fifth of the customers, then the one with the best expected reward."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def __call__(self, state: State, step: int, rng: np.random.Generator) -> np.ndarray:
        """Return the offer for every instance."""
        if TRIED * step <= self.problem.steps:
            return np.full(state.shape, (step - 1) % self.problem.arms)
        return np.asarray((self.problem.rewards * self.problem.belief.mean(state)).argmax(axis=-1))


def lost(horizon: int, strength: int, delay: int, run: int) -> list[float]:
    """Return the part of the most that could be earned which each rival loses in one run."""
    prior = [(strength * rate, strength * (1 - rate)) for rate in RATES]
    problem = Problem(REWARDS, "decreasing", horizon, prior=prior)
    start = State.initial(problem, (EACH,))
    means = problem.belief.draw(start, np.random.default_rng([horizon, strength, run]))
    rivals = {name: Split(problem) if name == "split" else name for name in RIVALS}
    found = compare(problem, rivals, EACH, seed=run, means=means, delay=delay or None, jobs=1, progress=False)
    most = horizon * float((problem.rewards * means).max(axis=1).mean())
    return [float(found[name].mean[-1]) / most for name in RIVALS]


def student(values: np.ndarray) -> float:
    """Return the half-width of Student's 95 % interval of the mean."""
    return float(stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / len(values) ** 0.5)


def main() -> None:
    ask = argparse.ArgumentParser(prog="python -m benchmarks.low_rates", description=__doc__.splitlines()[0])
    ask.add_argument("--runs", type=int, default=8, help=f"of {EACH} instances each (%(default)s)")
    ask.add_argument("--jobs", type=int, default=1, help="processes (%(default)s)")
    ask.add_argument("--horizons", default="500,2000,5000", help="customers (%(default)s)")
    given = ask.parse_args()
    horizons = [int(part) for part in given.horizons.split(",")]
    print(f"| T | prior worth | under way | {' | '.join(f'`{name}`' for name in RIVALS)} | `plan` earns |")
    print("|---|---|---|" + "---|" * (len(RIVALS) + 1))
    with ProcessPoolExecutor(given.jobs) as crew:
        cells = list(product(horizons, STRENGTHS, DELAYS))
        waiting = {cell: [crew.submit(lost, *cell, run) for run in range(given.runs)] for cell in cells}
        for (horizon, strength, delay), runs in waiting.items():
            parts = 100 * np.array([run.result() for run in runs])  # [runs, rivals]
            mean = parts.mean(axis=0)
            best = 1 + int(mean[1:].argmin())
            ahead = parts[:, best] - parts[:, 0]
            error = float("nan") if len(ahead) < 2 else student(ahead)
            rivals = " | ".join(f"{x:.1f} %" for x in mean)
            words = f"{ahead.mean():+.1f} ± {error:.1f} % beside `{RIVALS[best]}`"
            print(f"| {horizon} | {strength} | {delay} | {rivals} | {words} |", flush=True)


if __name__ == "__main__":
    main()
