"""What an order costs where it does not hold, and what the mixture saves: regret of ``plan``, simulated.

``python -m benchmarks.wrong_order [INSTANCES]`` prints the table of docs/structures.md; it takes some minutes
with the default of 500 instances.
"""

from __future__ import annotations

import sys

import numpy as np

from elsv import Problem, State, compare
from elsv.structure import Structure, decreasing, free, increasing, mixture

HORIZON = 100
REWARDS = ((0.8, 0.9, 1.0), (0.4, 0.7, 1.0))
ASSUMED: dict[str, Structure] = {
    "decreasing()": decreasing(),
    "mixture .9/.1": mixture([(0.9, decreasing()), (0.1, free())]),
    "free()": free(),
}
TRUE: dict[str, Structure] = {
    "the means decrease": decreasing(),
    "no order": free(),
    "the means increase": increasing(),
}


def regrets(rewards: tuple[float, ...], truth: Structure, instances: int) -> dict[str, tuple[float, float]]:
    """Return the regret of `plan` under each assumption, and half its 95 % interval, on the same means."""
    problem = Problem(rewards, horizon=HORIZON, structure=truth)
    means = problem.belief.draw(State.initial(problem, (instances,)), np.random.default_rng(1))
    found = {}
    for name, assumed in ASSUMED.items():
        # The same seed: every assumption meets the same outcomes.
        own = Problem(rewards, horizon=HORIZON, structure=assumed)
        found[name] = compare(own, ["plan"], instances, seed=2, means=means)["plan"]
    return {name: (float(one.mean[-1]), float(one.ci95[-1])) for name, one in found.items()}


def main() -> None:
    """Print one row for each truth and set of rewards."""
    instances = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    print("| rewards | truth | " + " | ".join(f"`{name}`" for name in ASSUMED) + " |")
    print("|---|---|" + "---:|" * len(ASSUMED))
    for rewards in REWARDS:
        for truth, structure in TRUE.items():
            row = regrets(rewards, structure, instances).values()
            cells = " | ".join(f"{mean:.2f} ± {half:.2f}" for mean, half in row)
            print(f"| {', '.join(map(str, rewards))} | {truth} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
