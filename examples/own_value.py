"""A value function of one's own under lookahead (docs/extending.md)."""

import numpy as np

import elsv

problem = elsv.Problem(rewards=[0.4, 0.7, 1.0], order="decreasing", horizon=8)


def cautious_commit(state, step):
    """What is earned from here by the arm that is best in expectation, nothing at the end."""
    left = problem.horizon - step + 1
    return left * (problem.rewards * problem.belief.mean(state)).max(axis=-1)


def ahead(depth):
    """Lookahead of some depth on the value, as a policy."""

    def policy(state, step, rng):
        q = elsv.lookahead(problem, state, step, cautious_commit, problem.belief, depth)
        return elsv.best_arm(q)

    return policy


state = elsv.State.initial(problem)
print(np.round(elsv.lookahead(problem, state, 1, cautious_commit, problem.belief, depth=3), 4))
for depth, row in zip((1, 3), elsv.evaluate(problem, [ahead(1), ahead(3)]), strict=True):
    print(f"depth {depth}: regret {row.regret:.4f}")
