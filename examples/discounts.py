"""A shop tries three discounts on its next fifty customers.

A larger discount never converts worse, but pays less. Run: ``python examples/discounts.py``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import elsv

TRUE_RATES = (0.42, 0.40, 0.30)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"), help="where the bandit is saved")
    options = parser.parse_args()
    problem = elsv.Problem.load(Path(__file__).with_name("discounts.toml"))
    bandit = elsv.Bandit(problem, "elsv:index=gittins", seed=1)
    customers = np.random.default_rng(2)
    earned = 0.0
    for _ in range(40):
        arm = bandit.choose()
        bought = bool(customers.random() < TRUE_RATES[arm])
        bandit.observe(arm, bought)
        earned += problem.rewards[arm] * bought
    print(f"earned {earned:.1f} from 40 customers")
    print(bandit.explain())
    bandit.save(options.out / "bandit.json")
    print(f"saved to {options.out / 'bandit.json'}")


if __name__ == "__main__":
    main()
