"""A policy of one's own, as a function and as a class (docs/extending.md)."""

from dataclasses import dataclass

import numpy as np

import elsv

problem = elsv.Problem(rewards=[0.8, 0.9, 1.0], order="decreasing", horizon=60)


def explore_then_commit(state, step, rng):
    """Pull the least pulled arm for nine steps, then the one that looks best."""
    fewest = state.pulls(problem).argmin(axis=-1)
    return np.where(step <= 9, fewest, elsv.best_arm(problem.rewards * problem.belief.mean(state)))


@dataclass(frozen=True, eq=False)
class Upper(elsv.policies.BestScore):
    """Pull the arm whose expected reward could be largest: the 90 % quantile under the belief."""

    problem: elsv.Problem

    def scores(self, state, step, rng):
        return self.problem.rewards * self.problem.belief.quantile(state, 0.9)


policies = {"explore 9": explore_then_commit, "upper": Upper(problem), "thompson": "thompson"}
result = elsv.compare(problem, policies, instances=500, seed=0)
for name in result.names:
    print(f"{name:<10} {result[name].mean[-1]:.2f} ± {result[name].ci95[-1]:.2f}")
print(elsv.Bandit(problem, Upper(problem)).explain())
