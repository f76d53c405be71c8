"""How a search may go ahead: exact regret above the optimum of searches by given steps, two ordered arms.

``python -m benchmarks.steps [HORIZON]`` makes the table of docs/planning.md: pull by pull, and by steps of at
most a part of the way behind them, to the same depth.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from elsv import Problem, evaluate
from elsv.lattice.numbering import Layer
from elsv.lattice.small import singles
from elsv.lattice.sweeps import Sweeps
from elsv.policies.plan_layers import PlannedSearch


@dataclass(frozen=True)
class BySteps(PlannedSearch):
    """A search by these steps in every state."""

    steps: tuple[int, ...] = (1,)

    @property
    def reach(self) -> int:
        """The way to the frontier, and one layer for the commit value there."""
        return 1 + sum(self.steps)

    def decide(self, sweeps: Sweeps, layer: Layer) -> np.ndarray:
        """Compare what the arms are worth."""
        left = sweeps.horizon - layer.made
        within = [step for step, made in zip(self.steps, accumulate(self.steps), strict=True) if made <= left]
        weights = sweeps.weights(layer.made, self.problem.belief)
        unit = np.where(weights > 0, weights, 1.0)[:, None]
        return sweeps.best_arms(self._ahead(sweeps, layer, tuple(within)) / unit)


def growing(depth: int, part: int) -> tuple[int, ...]:
    """Return steps of at most one part of the way behind them, to a depth."""
    steps: list[int] = []
    while sum(steps) < depth:
        steps.append(min(max(1, sum(steps) // part), depth - sum(steps)))
    return tuple(steps)


def main() -> None:
    horizon = int(sys.argv[1]) if len(sys.argv) > 1 else 130
    for first in (0.8, 0.6, 0.4):
        problem = Problem([first, 1.0], "decreasing", horizon)
        ways = {f"{depth}, single pulls": singles(depth) for depth in (16, 22, 27)}
        ways |= {
            f"{depth}, 1/{part} of the way": growing(depth, part)
            for depth in (16, 22, 27)
            for part in (6, 4, 3, 2)
        }
        for name, steps in ways.items():
            search = BySteps(problem, 1, steps=steps)
            optimum, row = evaluate(problem, ["optimal", search], progress=False)
            print(
                f"({first}, 1), T = {horizon}, {name}: {100 * (row.regret / optimum.regret - 1):.3f} %",
                flush=True,
            )


if __name__ == "__main__":
    main()
