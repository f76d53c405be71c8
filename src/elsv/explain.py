"""What a policy sees in a state, arm by arm, for people."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from elsv.beliefs import belief_of
from elsv.choice import best_arm
from elsv.indices import Setting
from elsv.policies import Elsv, IndexPolicy, Policy, ScoringPolicy
from elsv.problem import Problem
from elsv.state import State, check_arms

INTERVAL = (0.025, 0.975)


@dataclass(frozen=True)
class ArmExplanation:
    """One arm: what is believed of it and how the policy scores it."""

    arm: int  # from 1
    name: str
    reward: float
    pulls: int
    mean: float
    low: float  # 2.5 % quantile of the mean under the belief
    high: float  # 97.5 % quantile
    bonus: float | None  # reward times the index's exploration bonus; None without an index
    q: float  # what the policy compares; the expected reward of one pull if it compares nothing
    best: float  # P(this arm has the largest reward times mean)


@dataclass(frozen=True)
class Explanation:
    """A decision and the reasons for it."""

    arm: int  # from 1, the arm to pull
    step: int
    policy: str
    arms: tuple[ArmExplanation, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; an infinite number becomes None."""
        values = asdict(self)
        values["arms"] = [
            {key: None if isinstance(x, float) and not np.isfinite(x) else x for key, x in arm.items()}
            for arm in values["arms"]
        ]
        return values

    def __str__(self) -> str:
        columns = ("arm", "name", "pulls", "mean", "95 % interval", "P(best)", "q")
        head = "{:>4}  {:<16} {:>5} {:>7} {:>17} {:>8} {:>10}".format(*columns)
        rows = [
            f"{'→' if a.arm == self.arm else ' '}{a.arm:>3}  {a.name:<16.16} {a.pulls:>5} {a.mean:>7.4f} "
            f"  [{a.low:.4f}, {a.high:.4f}] {a.best:>8.4f} {a.q:>10.4f}"
            for a in self.arms
        ]
        return "\n".join([f"step {self.step}: pull arm {self.arm} ({self.policy})", head, *rows])


def explain(
    problem: Problem, policy: Policy, state: State, step: int, rng: np.random.Generator, name: str
) -> Explanation:
    """Return the policy's choice in one state and what it rests on."""
    check_arms(state, problem)
    belief = belief_of(problem)
    mean = belief.mean(state)
    low, high = (belief.quantile(state, level) for level in INTERVAL)
    best, _ = belief.best(state, problem.rewards)
    if isinstance(policy, ScoringPolicy):
        q = policy.scores(state, step, rng)
        arm = int(best_arm(q))
    else:
        q = problem.rewards * mean
        arm = int(policy(state, step, rng))
    bonus: list[float | None] = [None] * problem.arms
    if isinstance(policy, Elsv | IndexPolicy):
        index = policy.index(state.alpha, state.beta, step, Setting.of(problem))
        bonus = (problem.rewards * (index - state.mean)).tolist()
    pulls = state.pulls(problem)
    arms = tuple(
        ArmExplanation(
            arm=i + 1,
            name=problem.names[i],
            reward=float(problem.rewards[i]),
            pulls=int(pulls[i]),
            mean=float(mean[i]),
            low=float(low[i]),
            high=float(high[i]),
            bonus=bonus[i],
            q=float(q[i]),
            best=float(best[i]),
        )
        for i in range(problem.arms)
    )
    return Explanation(arm + 1, step, name, arms)
