"""Structures: time of the means of one state, of a decision, and of draws; how near the optimum `plan` is.

``python -m benchmarks.bench_structure gaps`` evaluates `plan` exactly on ten structures (minutes), and
``… beyond [INSTANCES]`` compares it by simulation where the lattice does not reach.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np

from benchmarks.shared import row, seconds
from elsv import Problem, State, compare
from elsv import structure as st
from elsv.exact import evaluate
from elsv.policies.plan import Plan

TREE = st.order([((k - 1) // 2 + 1, k + 1) for k in range(1, 50)])
# name, statement, means that data are drawn from, milliseconds aimed for
MEANS = (
    ("grid 2x3", st.grid(2, 3), np.linspace(0.6, 0.2, 6), 0.2),
    ("grid 3x4", st.grid(3, 4), np.linspace(0.7, 0.1, 12), 0.8),
    ("grid 4x5", st.grid(4, 5), np.linspace(0.7, 0.1, 20), 3.0),
    ("grid 5x8", st.grid(5, 8), np.linspace(0.7, 0.1, 40), 40.0),
    ("unimodal 20", st.unimodal(), 0.6 - 0.05 * np.abs(np.arange(20) - 9.5), 5.0),
    ("tree of 50", TREE, 0.7 * 0.85 ** np.floor(np.log2(np.arange(1, 51))), 5.0),
)
MIXED = st.mixture([(0.9, st.decreasing()), (0.1, st.free())])
# name, rewards, statement, horizon
GAPS = (
    ("order 1>=2, 1>=3", [0.5, 0.8, 1.0], st.order([(1, 2), (1, 3)]), 20),
    ("order 1>=3, 2>=3", [0.6, 0.7, 1.0], st.order([(1, 3), (2, 3)]), 20),
    ("unimodal", [1.0, 0.9, 0.8], st.unimodal(), 20),
    ("unimodal rewards", [0.5, 0.75, 1.0], st.unimodal(on="reward"), 20),
    ("decreasing, bounded", [0.4, 0.7, 1.0], st.decreasing() & st.bounds([None, (0, 0.6), (0, 0.3)]), 20),
    ("mixture .9 decreasing", [0.4, 0.7, 1.0], MIXED, 20),
    ("two arms bounded", [0.7, 1.0], st.bounds([(0.3, 0.8), (0, 0.9)]), 30),
    ("grid 2x2", [0.6, 1.0, 0.5, 0.9], st.grid(2, 2), 10),
    ("unimodal 4", [0.7, 0.8, 0.9, 1.0], st.unimodal(), 8),
    ("tree of 4", [0.4, 0.6, 0.8, 1.0], st.order([(1, 2), (1, 3), (3, 4)]), 8),
)
PRICES = np.linspace(0.3, 1.0, 8)
# name, rewards, statement
BEYOND = (
    ("grid 3x4", np.tile(np.linspace(0.5, 1, 4), 3), st.grid(3, 4)),
    ("unimodal 8", np.ones(8), st.unimodal()),
    ("unimodal rewards 6", np.linspace(0.4, 1, 6), st.unimodal(on="reward")),
    (
        "tree of 7",
        [0.4, 0.6, 0.6, 0.8, 0.9, 1, 1],
        st.order([(1, 2), (1, 3), (2, 4), (2, 5), (3, 6), (3, 7)]),
    ),
    ("mixture 5", np.linspace(0.4, 1, 5), MIXED),
    ("logistic 8", PRICES, st.logistic(PRICES, draws=8192)),
)


def _played(arms: int, means: np.ndarray, pulls: int, seed: int = 0) -> State:
    won = np.random.default_rng(seed).binomial(pulls, means, arms)
    return State(1.0 + won, 1.0 + pulls - won)


def run() -> list[dict]:
    """Return one row per number."""
    rows = []
    for name, stated, means, target in MEANS:
        problem = Problem(np.ones(len(means)), horizon=5000, structure=stated)
        state = _played(len(means), means, 30)
        took = seconds(partial(problem.belief.mean, state))
        error = float(problem.belief.error(state))
        rows.append(row(f"means, {name}", 1e3 * took, "ms", target))
        rows.append(row(f"error, {name}", error, "", 1e-8))
    draws = np.random.default_rng(1).beta(2, 3, (100_000, 40))
    for arms, target in ((40, 5.0), (10, None)):
        problem = Problem(np.ones(arms), horizon=5000, structure=st.samples(draws[:, :arms]))
        state = _played(arms, np.linspace(0.7, 0.2, arms), 3)
        took = seconds(partial(problem.belief.mean, state))
        rows.append(row(f"means, 100,000 samples x {arms}", 1e3 * took, "ms", target))
    decisions = (
        ("grid 3x4", np.linspace(0.5, 1, 12), st.grid(3, 4), 15.0),
        ("40 prices in order", np.linspace(0.25, 1, 40), st.decreasing(), 20.0),
        ("100,000 samples x 10", np.linspace(0.5, 1, 10), st.samples(draws[:, :10]), 40.0),
    )
    for name, rewards, stated, target in decisions:
        problem = Problem(rewards, horizon=300, structure=stated)
        state = _played(len(rewards), np.linspace(0.7, 0.2, len(rewards)), 3)
        states = [state.observe(k % len(rewards), k % 2 == 0) for k in range(3)]
        policy = Plan(problem)

        def decide(policy: Plan = policy, states: list[State] = states) -> None:
            # Another state each time: points of the last one are kept.
            states.append(states.pop(0).observe(0, True))
            policy.scores(states[-1], 130)

        rows.append(row(f"plan, {name}", 1e3 * seconds(decide), "ms", target))
    return rows


def gaps() -> None:
    """Print by how much `plan` is above the optimum on structures that the lattice reaches."""
    for name, rewards, stated, horizon in GAPS:
        problem = Problem(rewards, horizon=horizon, structure=stated)
        found = {row.name: row.regret for row in evaluate(problem, ["optimal", "plan", "elsv"])}
        above = {key: 100 * (found[key] / found["optimal"] - 1) for key in ("plan", "elsv")}
        print(
            f"{name:24} T = {horizon:2}  optimum {found['optimal']:.4f}  "
            f"plan +{above['plan']:.3f} %  elsv +{above['elsv']:.1f} %",
            flush=True,
        )


def beyond(instances: int) -> None:
    """Print paired differences of simulated regrets, T = 100."""
    for name, rewards, stated in BEYOND:
        problem = Problem(rewards, horizon=100, structure=stated)
        result = compare(problem, ["plan", "elsv", "thompson"], instances=instances, seed=1)
        for rival in ("elsv", "thompson"):
            print(f"{name:20} {result.difference('plan', rival)}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["gaps"]:
        gaps()
    elif sys.argv[1:2] == ["beyond"]:
        beyond(int(sys.argv[2]) if len(sys.argv) > 2 else 256)
    else:
        print(__doc__)
