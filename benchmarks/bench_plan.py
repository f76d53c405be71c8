"""The planner: time of one decision and percent above the optimum.

``python -m benchmarks.bench_plan`` also simulates its regret relative to the paper's policies (15 minutes).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.timing import seconds
from elsv import Problem, State, compare
from elsv.exact import evaluate
from elsv.planning.plan import Plan
from elsv.planning.plan_layers import plan_chooser

# arms, milliseconds aimed for
DECISIONS = ((3, 5), (10, 30), (50, 500))
REWARDS = ([0.8, 0.9, 1], [0.5, 0.75, 1], [0.4, 0.7, 1], [1 / 3, 1 / 2, 1], [0.25, 0.5, 1])
# arms, instances, ratios aimed for to elsv and to thompson
REGRETS = ((5, 256, 0.80, 0.65), (10, 256, 0.65, 0.60))


def _played(problem: Problem, pulls: int) -> State:
    """Return the state after some greedy play, where several arms still compete."""
    rng = np.random.default_rng(0)
    means = np.linspace(0.9, 0.3, problem.arms)
    state = State.initial(problem)
    for t in range(pulls):
        arm = np.array(t % problem.arms)
        state = state.observe(arm, rng.random() < means[arm])
    return state


def run() -> list[dict]:
    return _decisions() + _above_optimum()


def _decisions() -> list[dict]:
    rows = []
    for arms, target in DECISIONS:
        problem = Problem(np.linspace(0.4, 1, arms), "decreasing", 200)
        decide = partial(Plan(problem), _played(problem, 60), 61)
        rows.append(
            {
                "name": f"plan, one decision, {arms} ordered arms, T = 200",
                "value": 1e3 * seconds(decide),
                "unit": "ms",
                "target": f"≤ {target}",
            }
        )
    return rows


def _above_optimum() -> list[dict]:
    problems = [Problem(r, "decreasing", 50) for r in REWARDS]
    problems += [Problem([1, 1, 1], None, 50), Problem([0.4, 0.7, 1], None, 50)]
    rows = []
    for problem in problems:
        optimum, plan = evaluate(problem, ["optimal", plan_chooser(Plan(problem))])
        kind = "ordered" if problem.order else "free"
        rows.append(
            {
                "name": f"plan above the optimum, {kind} r = {problem.rewards.round(2).tolist()}, T = 50",
                "value": 100 * (plan.regret / optimum.regret - 1),
                "unit": "% of regret",
                "target": "≤ 1",
            }
        )
    return rows


def _regrets() -> list[dict]:
    rows = []
    for arms, instances, *targets in REGRETS:
        problem = Problem(np.linspace(0.4, 1, arms), "decreasing", 200)
        result = compare(problem, {"plan": Plan(problem), "elsv": "elsv", "thompson": "thompson"}, instances)
        for rival, target in zip(("elsv", "thompson"), targets, strict=True):
            rows.append(
                {
                    "name": f"plan, regret with {arms} ordered arms, T = 200",
                    "value": result["plan"].mean[-1] / result[rival].mean[-1],
                    "unit": f"of {rival}",
                    "target": f"≤ {target}",
                }
            )
    return rows


if __name__ == "__main__":
    for row in run() + _regrets():
        print(row)
