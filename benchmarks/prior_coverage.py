"""How often the true rates of untried arms lie in their 90 % intervals, in made-up shops with history.

Every shop has four to six levels whose odds grow by a factor between 1 and 2 for each, rates between 1 and
20 %, and outcomes of 200 to 2,000 customers on each of half of the levels. `elsv.prior.from_history` gives
intervals for the rest. Usage: python benchmarks/prior_coverage.py [SHOPS]
"""

from __future__ import annotations

import sys

import numpy as np

from elsv import Problem
from elsv.prior import from_history


def shop(rng: np.random.Generator) -> tuple[Problem, np.ndarray, np.ndarray]:
    """Return a problem, its true rates, and which arms have history."""
    while True:
        arms = int(rng.integers(4, 7))
        odds = rng.uniform(0.01, 0.2) * np.cumprod(np.concatenate([[1.0], rng.uniform(1, 2, arms - 1)]))
        rates = odds / (1 + odds)
        if rates[0] >= 0.01 and rates[-1] <= 0.2:
            break
    tried = np.zeros(arms, dtype=bool)
    if rng.random() < 0.5:
        tried[: arms // 2] = True  # the smallest discounts
    else:
        tried[rng.choice(arms, arms // 2, replace=False)] = True
    return Problem(rewards=np.ones(arms), order="increasing", horizon=1000), rates, tried


def covered(shops: int, weight: float, seed: int = 0) -> tuple[int, int, float]:
    """Return how many true rates of untried arms lie in their intervals, of how many, and mean width."""
    rng = np.random.default_rng(seed)
    inside = total = 0
    widths = []
    for _ in range(shops):
        problem, rates, tried = shop(rng)
        seen = np.where(tried, rng.integers(200, 2001, len(rates)), 0)
        won = rng.binomial(seen, rates)
        found = from_history(problem, won, seen - won, weight=weight)
        for arm, rate, known in zip(found.arms, rates, tried, strict=True):
            if not known:
                total += 1
                inside += arm.after.low <= rate <= arm.after.high
                widths.append((arm.after.high - arm.after.low) / rate)
    return inside, total, float(np.median(widths))


def main() -> None:
    """Print the shares."""
    shops = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for weight in (0.3, 1.0):
        inside, total, width = covered(shops, weight)
        share = f"{inside} of {total} true rates inside, {100 * inside / total:.1f} %"
        print(f"weight {weight:g}: {share}; median width {width:.2f} of the rate")


if __name__ == "__main__":
    main()
