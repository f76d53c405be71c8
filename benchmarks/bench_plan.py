"""The planner: time of one decision, how it grows, and percent above the optimum.

``python -m benchmarks.bench_plan [INSTANCES]`` simulates its regret relative to the paper's policies instead,
which takes about half an hour with the default of 500 instances.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from itertools import cycle

import numpy as np

from benchmarks.shared import row, seconds
from elsv import Problem, State, compare
from elsv.exact import evaluate
from elsv.policies.plan import Plan
from elsv.policies.plan_rules import ENDLESS, way_ahead

# arms, milliseconds aimed for
DECISIONS = ((3, 1.5), (10, 3), (50, 15))
EARLY, SETTLED = 12, 60  # pulls before a decision
REWARDS = ([0.8, 0.9, 1], [0.5, 0.75, 1], [0.4, 0.7, 1], [1 / 3, 1 / 2, 1], [0.25, 0.5, 1])
EFFORTS = (1 << 10, 1 << 13, 1 << 16, 1 << 18)


@dataclass(frozen=True)
class Case:
    """A problem beyond the lattice, and the share of each rival's regret that is aimed for."""

    arms: int
    least_reward: float = 0.4
    horizon: int = 200
    order: str | None = "decreasing"
    of_elsv: float = 1.0
    of_thompson: float = 1.0

    def __str__(self) -> str:
        order = self.order or "no order"
        return f"{self.arms} arms, {order}, rewards from {self.least_reward}, T = {self.horizon}"


CASES = (
    Case(5, of_elsv=0.80, of_thompson=0.65),
    Case(10, of_elsv=0.65, of_thompson=0.60),
    Case(3),
    Case(20),
    Case(3, least_reward=0.8),
    Case(5, least_reward=0.8),
    Case(10, least_reward=0.8),
    Case(5, horizon=50),
    Case(10, horizon=50),
    Case(3, order=None),
    Case(10, order=None),
    Case(3, horizon=1000, order=None),
    Case(3, horizon=1000),
    Case(5, horizon=1000),
)


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
    return _decisions() + _segments() + _growth() + _above_optimum()


def _decisions() -> list[dict]:
    rows = []
    for arms, target in DECISIONS:
        problem = Problem(np.linspace(0.4, 1, arms), "decreasing", 200)
        last = State.initial(problem)
        for _ in range(SETTLED):
            last = last.observe(np.array(arms - 1), True)
        for state, pulls, when in (
            (_played(problem, EARLY), EARLY, "early"),
            (last, SETTLED, "where all is settled"),
        ):
            decide = partial(Plan(problem), state, pulls + 1)
            rows.append(
                row(
                    f"plan, one decision, {arms} ordered arms, T = 200, {when}",
                    1e3 * seconds(decide),
                    "ms",
                    f"≤ {target}",
                )
            )
    return rows


def _segments() -> list[dict]:
    """Two segments of three levels, an order across them; every decision is in another state."""
    problem = Problem(
        [0.5, 0.75, 1.0] * 2,
        horizon=200,
        structure={"grid": [2, 3]},
        segments=[[1, 2, 3], [4, 5, 6]],
        segment_shares=[0.7, 0.3],
    )
    plan, states = Plan(problem), cycle([_played(problem, pulls) for pulls in range(20, 80)])
    return [
        row(
            "plan, one decision, 2 segments of 3 levels in order across, T = 200",
            1e3 * seconds(lambda: plan(next(states), 81, None, 0)),
            "ms",
            "≤ 10",
        )
    ]


def _growth() -> list[dict]:
    rows = []
    for arms in (2, 3):
        problem = Problem(np.linspace(0.4, 1, arms), "decreasing", 200)
        for effort in EFFORTS:
            decide = partial(Plan(problem, effort), _played(problem, 12), 13)
            depth = way_ahead(arms, effort, ENDLESS).depth
            rows.append(
                row(
                    f"plan, one decision, {arms} ordered arms, effort {effort}: {depth} pulls ahead",
                    1e3 * seconds(decide),
                    "ms",
                )
            )
    return rows


def _above_optimum() -> list[dict]:
    problems = [Problem(r, "decreasing", 50) for r in REWARDS]
    problems += [Problem([1, 1, 1], None, 50), Problem([0.4, 0.7, 1], None, 50)]
    rows = []
    for problem in problems:
        optimum, plan = evaluate(problem, ["optimal", Plan(problem)])
        kind = "ordered" if problem.order else "free"
        rows.append(
            row(
                f"plan above the optimum, {kind} r = {problem.rewards.round(2).tolist()}, T = 50",
                100 * (plan.regret / optimum.regret - 1),
                "% of regret",
                "≤ 1",
            )
        )
    return rows


def regrets(case: Case, instances: int) -> None:
    """Print the regret of `plan` as a share of that of each rival, and the paired difference."""
    problem = Problem(np.linspace(case.least_reward, 1, case.arms), case.order, case.horizon)
    result = compare(problem, ["plan", "elsv", "thompson"], instances)
    for rival, target in (("elsv", case.of_elsv), ("thompson", case.of_thompson)):
        less, half = result.difference("plan", rival)
        share = float(result["plan"].mean[-1] / result[rival].mean[-1])
        print(f"{case}: {share:.3f} of {rival} (≤ {target}), {less:.3f} ± {half:.3f}", flush=True)


if __name__ == "__main__":
    for each in CASES:
        regrets(each, int(sys.argv[1]) if len(sys.argv) > 1 else 500)
