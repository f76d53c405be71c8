"""An index and a policy of one's own, against two that come with the package (docs/extending.md)."""

import numpy as np

import elsv


def credible_bound(alpha, beta, step):
    """Mean plus one posterior standard deviation, shrinking with the step."""
    total = alpha + beta
    deviation = np.sqrt(alpha * beta / (total + 1)) / total
    return alpha / total + deviation


index = elsv.make_index(credible_bound, uses_step=False)

problem = elsv.Problem(rewards=[0.8, 0.9, 1.0], order="decreasing", horizon=60)
value = elsv.SeparableValue(problem, index)
belief = elsv.belief_of(problem)


def elsv_on_my_index(state, step, rng):
    return elsv.best_arm(elsv.lookahead(problem, state, step, value, belief, depth=1))


def explore_then_commit(state, step, rng):
    pulls = state.alpha + state.beta - 2
    fewest = pulls.argmin(axis=-1)
    return np.where(step <= 9, fewest, elsv.best_arm(problem.rewards * belief.mean(state)))


result = elsv.compare(
    problem,
    {"my index": elsv_on_my_index, "explore 9": explore_then_commit, "elsv": "elsv", "thompson": "thompson"},
    instances=500,
    seed=0,
)
for name in result.names:
    print(f"{name:<12} {result[name].mean[-1]:.2f} ± {result[name].ci95[-1]:.2f}")
