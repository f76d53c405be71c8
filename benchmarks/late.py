"""Outcomes that come late: the exact optimum of small problems beside ``plan`` with open decisions.

With outcomes d customers late the state of the optimum has the open decisions in it, in their order. For two
and three ordered arms, d = 1 to 4 and T ≤ 12 that is a plain recursion. ``python -m benchmarks.gaps --late``
prints how far ``plan`` is above it, with open decisions and ignoring them.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from elsv import Problem, State, make_policy
from elsv.policies.asking import planning_state

State_ = tuple[tuple[int, int], ...]  # successes and failures of each arm, whose outcomes are in
Open = tuple[int, ...]  # arms of the open decisions, the oldest first

PROBLEMS = (((0.6, 1.0), 12), ((0.8, 1.0), 12), ((0.4, 0.7, 1.0), 8), ((0.6, 0.7, 1.0), 8))
DELAYS = (1, 2, 3, 4)


class Late:
    """A problem whose outcomes come `delay` customers late."""

    def __init__(self, problem: Problem, delay: int) -> None:
        self.problem, self.delay, self.horizon = problem, delay, problem.steps
        self.means = cache(self._means)
        self.optimum = cache(self._optimum)

    def state(self, counts: State_) -> State:
        """Return the counts with the prior."""
        return State(
            self.problem.prior[:, 0] + [s for s, _ in counts],
            self.problem.prior[:, 1] + [f for _, f in counts],
        )

    def _means(self, counts: State_) -> tuple[float, ...]:
        return tuple(self.problem.belief.mean(self.state(counts)).tolist())

    def pays(self, counts: State_, waiting: Open, arm: int, value: object) -> float:
        """Return what pulling `arm` is worth, `value` being that of what follows."""
        p, reward = self.means(counts)[arm], float(self.problem.rewards[arm])
        waiting = (*waiting, arm)
        if len(waiting) <= self.delay:
            return p * reward + value(counts, waiting)
        first, rest = waiting[0], waiting[1:]
        chance, now = self.means(counts)[first], p * reward
        won, lost = ((counts[first][0] + 1, counts[first][1]), (counts[first][0], counts[first][1] + 1))
        after = (tuple(row if i == first else old for i, old in enumerate(counts)) for row in (won, lost))
        better, worse = (value(then, rest) for then in after)
        return float(now + chance * better + (1 - chance) * worse)

    def made(self, counts: State_, waiting: Open) -> int:
        """Return how many decisions were made."""
        return sum(map(sum, counts)) + len(waiting)

    def _optimum(self, counts: State_, waiting: Open) -> float:
        if self.made(counts, waiting) == self.horizon:
            return 0.0
        return max(self.pays(counts, waiting, arm, self.optimum) for arm in range(self.problem.arms))

    def worth(self, name: str) -> float:
        """Return what a policy earns."""
        policy = make_policy(name, self.problem)

        @cache
        def follow(counts: State_, waiting: Open) -> float:
            made = self.made(counts, waiting)
            if made == self.horizon:
                return 0.0
            number = np.bincount(waiting, minlength=self.problem.arms)
            asked = planning_state(self.problem, policy, self.state(counts), number)
            arm = int(policy(asked, made + 1, None))
            return self.pays(counts, waiting, arm, follow)

        return follow(self.start, ())

    @property
    def start(self) -> State_:
        """No outcomes."""
        return ((0, 0),) * self.problem.arms

    def regret(self, worth: float) -> float:
        """Return what is lost against knowing the means."""
        most = self.problem.belief.best(State.initial(self.problem), self.problem.rewards)[1]
        return float(self.horizon * most - worth)


def gaps(rewards: tuple[float, ...], horizon: int, delay: int) -> tuple[float, float, float]:
    """Return the optimum's regret, and how far `plan` is above it in per cent: as it is, and ignoring."""
    task = Late(Problem(rewards, "decreasing", horizon), delay)
    best = task.regret(task.optimum(task.start, ()))
    expected, ignoring = (task.regret(task.worth(name)) for name in ("plan", "plan:pending=ignore"))
    return best, 100 * (expected / best - 1), 100 * (ignoring / best - 1)


def main() -> None:
    print("| arms | T | outcomes late by | optimum | `plan` above it | ignoring open decisions |")
    print("|---|---|---|---|---|---|")
    for rewards, horizon in PROBLEMS:
        for delay in DELAYS:
            best, expected, ignoring = gaps(rewards, horizon, delay)
            print(
                f"| {rewards} | {horizon} | {delay} | {best:.4f} | {expected:.2f} % | {ignoring:.2f} % |",
                flush=True,
            )


if __name__ == "__main__":
    main()
