"""What a policy sees in a state, arm by arm, for people."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from elsv.beliefs.abilities import best as chances_of
from elsv.beliefs.abilities import marginals
from elsv.choice import best_arm
from elsv.policies import Policy, ScoringPolicy
from elsv.problem import Problem
from elsv.state import State, check_arms

INTERVAL = (0.025, 0.975)
BEST_TOLERANCE = 1e-4  # of P(best): as many digits as are shown


@dataclass(frozen=True)
class ArmExplanation:
    """One arm: what is believed of it and how the policy scores it."""

    arm: int  # from 0
    name: str
    reward: float
    pulls: int
    mean: float  # under the problem's own belief, order included
    worth: float  # reward times mean: the expected reward of one pull
    low: float  # 2.5 % quantile of the mean under the belief
    high: float  # 97.5 % quantile
    bonus: float | None  # reward times the index's exploration bonus; None without an index
    q: float  # what the policy compares; the expected reward of one pull if it compares nothing
    best: float  # P(this arm has the largest reward times mean)


@dataclass(frozen=True)
class Explanation:
    """A decision and the reasons for it."""

    arm: int  # from 0, the arm to pull
    step: int
    policy: str
    arms: tuple[ArmExplanation, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, for people: arms from 1, an infinite number as None."""
        values = asdict(self)
        values["arm"] += 1
        for arm in values["arms"]:
            arm["arm"] += 1
            for key, x in arm.items():
                if isinstance(x, float) and not np.isfinite(x):
                    arm[key] = None
        return values

    def __str__(self) -> str:
        columns = ("arm", "name", "pulls", "mean", "95 % interval", "worth", "P(best)", "bonus", "q")
        lines = ["{:>4}  {:<16} {:>5} {:>7} {:>17} {:>8} {:>8} {:>8} {:>10}".format(*columns)]
        for a in self.arms:
            mark = "→" if a.arm == self.arm else " "
            bonus = "" if a.bonus is None else f"{a.bonus:.4f}"
            lines.append(
                f"{mark}{a.arm + 1:>3}  {a.name:<16.16} {a.pulls:>5} {a.mean:>7.4f}   "
                f"[{a.low:.4f}, {a.high:.4f}] {a.worth:>8.4f} {a.best:>8.4f} {bonus:>8} {a.q:>10.4f}"
            )
        head = f"step {self.step}: pull arm {self.arm + 1}, {self.arms[self.arm].name} ({self.policy})"
        foot = "worth: reward times mean; bonus: what exploring adds to it; q: what the policy compares"
        return "\n".join([head, *lines, foot])


def explain(
    problem: Problem, policy: Policy, state: State, step: int, rng: np.random.Generator, name: str
) -> Explanation:
    """Return the policy's choice in one state and what it rests on."""
    check_arms(state, problem)
    belief = problem.belief
    mean, (low, high) = marginals(belief, state, INTERVAL, rng)
    best, _ = chances_of(belief, state, problem.rewards, BEST_TOLERANCE)
    if isinstance(policy, ScoringPolicy):
        q = policy.scores(state, step, rng)
        arm = int(best_arm(q, problem.scale, f"scores of {type(policy).__name__} at step {step}"))
    else:
        q = problem.rewards * mean
        arm = int(policy(state, step, rng))
    bonus: list[float | None] = [None] * problem.arms
    if (explored := getattr(policy, "bonus", lambda *_: None)(state, step)) is not None:
        bonus = explored.tolist()
    pulls = state.pulls(problem)
    arms = tuple(
        ArmExplanation(
            arm=i,
            name=problem.names[i],
            reward=float(problem.rewards[i]),
            pulls=int(pulls[i]),
            mean=float(mean[i]),
            worth=float(problem.rewards[i] * mean[i]),
            low=float(low[i]),
            high=float(high[i]),
            bonus=bonus[i],
            q=float(q[i]),
            best=float(best[i]),
        )
        for i in range(problem.arms)
    )
    return Explanation(arm, step, name, arms)
