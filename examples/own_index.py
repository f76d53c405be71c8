"""An index of one's own, as a policy and inside ELSV (docs/extending.md)."""

import numpy as np

import elsv


def credible_bound(alpha, beta, step):
    """Mean plus one posterior standard deviation."""
    total = alpha + beta
    return alpha / total + np.sqrt(alpha * beta / (total + 1)) / total


problem = elsv.Problem(rewards=[0.8, 0.9, 1.0], order="decreasing", horizon=20)
index = elsv.make_index(credible_bound, uses_step=False)
policies = {
    "my index": elsv.policies.IndexPolicy(problem, index),
    "elsv on my index": elsv.policies.Elsv(problem, elsv.SeparableValue(problem, index), problem.belief),
    "elsv": "elsv",
}
for name, row in zip(policies, elsv.evaluate(problem, list(policies.values())), strict=True):
    print(f"{name:<17} regret {row.regret:.4f}")
