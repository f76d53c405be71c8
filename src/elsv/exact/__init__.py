"""Exact answers for problems whose states can all be counted: the optimum, and the value of any policy.

`solve` gives the Bayes optimum and `evaluate` what any policy earns: no simulation, no error bars (past the
paper). Read `solve` first: `evaluate` follows a policy where it takes the maximum, and `passes` decides which
policies go over the lattice together.
"""

from elsv.exact.evaluate import Evaluation, PolicyValue, evaluate, gap_percent
from elsv.exact.passes import Cost, estimate
from elsv.exact.solve import Solution, solve
from elsv.policies.optimal import Actions, OptimalPolicy

__all__ = [
    "Actions",
    "Cost",
    "Evaluation",
    "OptimalPolicy",
    "PolicyValue",
    "Solution",
    "estimate",
    "evaluate",
    "gap_percent",
    "solve",
]
