"""Exact answers for problems whose states can all be counted: the optimum, and the value of any policy.

`solve` and `evaluate` go over the lattice of states (past the paper): no simulation, no error bars. What
a policy does in all states of a layer at once is in `elsv.planning.choosers`; here policies are matched
with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from elsv.beliefs import Belief, Chain, Independent
from elsv.errors import InvalidInputError
from elsv.indices import Index, Setting, make_index
from elsv.planning._sweeps import Progress
from elsv.planning.choosers import (
    Chooser,
    FixedChoice,
    FunctionChoice,
    KnownChoice,
    LayerPolicy,
    LookaheadChoice,
    ThompsonMixture,
    UniformMixture,
)
from elsv.planning.evaluate import cost_of, evaluate_choosers
from elsv.planning.followers import Follower, IndexChoice, IndexTables, OneStepChoice, OptimalChoice
from elsv.planning.frontiers import BatchFrontier, frontier_of
from elsv.planning.optimal import Actions, OptimalPolicy
from elsv.planning.plan import Plan
from elsv.planning.plan_layers import plan_chooser
from elsv.planning.solve import Cost, Solution, estimate, horizon_of, solve
from elsv.policies import Fixed, Greedy, IndexPolicy, Policy, Random, Thompson, make_policy
from elsv.problem import Problem
from elsv.values.commit import BlockCommitValue, CommitValue
from elsv.values.separable import SeparableValue

__all__ = [
    "Actions",
    "Cost",
    "OptimalPolicy",
    "PolicyValue",
    "Solution",
    "estimate",
    "evaluate",
    "gap_percent",
    "solve",
]

AnyPolicy = str | Policy | LayerPolicy
OPTIMAL = "optimal"


@dataclass(frozen=True)
class PolicyValue:
    r"""Exact expected reward of a policy over the horizon, and :math:`T\,E[\max_i r_i\mu_i]` minus it."""

    name: str
    value: float
    regret: float
    seconds: float


def evaluate(
    problem: Problem,
    policies: AnyPolicy | Sequence[AnyPolicy],
    *,
    memory: int | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    announce: Callable[[Cost], None] | None = None,
) -> list[PolicyValue]:
    """Return the exact Bayes reward of every policy, in the order given.

    Parameters
    ----------
    problem
        Must have a horizon.
    policies
        Names as for `elsv.make_policy`, ``"optimal"`` for the Bayes optimum, policies, a user's own
        functions (state, step, rng) that draw no random numbers, or whole-layer choosers.
    memory
        Bytes that may be used; default: what is available.
    workers
        Threads; default: one for each core.
    progress
        Called with (steps done, steps in all).
    announce
        Called before the start with what it will take.

    Examples
    --------
    >>> problem = Problem(rewards=[0.4, 0.7, 1.0], order="decreasing", horizon=10)
    >>> for row in evaluate(problem, ["fixed:arm=2", "greedy", "optimal"]):
    ...     print(row.name, round(row.value, 4))
    fixed:arm=2 3.5
    greedy 3.5507
    optimal 3.6032
    """
    several = isinstance(policies, Sequence) and not isinstance(policies, str)
    given: list[Any] = list(policies) if several else [policies]  # type: ignore[arg-type]
    choosers = [chooser_of(problem, policy) for policy in given]
    if announce is not None and choosers:
        announce(cost_of(problem, choosers, memory))
    found = evaluate_choosers(problem, choosers, memory=memory, workers=workers, progress=progress)
    return [
        PolicyValue(_name(policy), one.value, one.regret, one.seconds)
        for policy, one in zip(given, found, strict=True)
    ]


def gap_percent(policy: PolicyValue, optimal: PolicyValue) -> float | None:
    """Return how much a policy's regret lies above the optimal one, in percent of it; None if that is 0."""
    largest = optimal.value + optimal.regret  # what one who knew the means would earn
    if optimal.regret <= 1e-12 * largest:
        return 0.0 if policy.regret <= 1e-9 * largest else None
    percent = 100.0 * (policy.regret - optimal.regret) / optimal.regret
    return 0.0 if abs(percent) < 1e-9 else percent


def chooser_of(problem: Problem, policy: AnyPolicy) -> LayerPolicy:
    """Return the whole-layer form of a policy."""
    if isinstance(policy, LayerPolicy):
        return policy
    if isinstance(policy, str) and policy == OPTIMAL:
        return OptimalChoice()
    made = policy if isinstance(policy, OptimalPolicy) else make_policy(policy, problem)
    if isinstance(made, OptimalPolicy):
        return KnownChoice(made.actions)
    if isinstance(made, IndexPolicy):
        return IndexChoice(IndexTables(problem, made.index, horizon_of(problem)))
    if isinstance(made, Plan):
        return plan_chooser(made)
    if isinstance(made, Fixed):
        return FixedChoice(made.arm)
    if isinstance(made, Random):
        return UniformMixture()
    if isinstance(made, Greedy):
        if _ordered(problem, made.belief):
            return OneStepChoice()
        return IndexChoice(IndexTables(problem, make_index("greedy"), horizon_of(problem)))
    if isinstance(made, Thompson):
        return ThompsonMixture(_ordered(problem, made.belief))
    if all(hasattr(made, part) for part in ("value", "belief", "depth")):
        return _lookahead(problem, made)
    return FunctionChoice(made)


def _lookahead(problem: Problem, policy: Any) -> Chooser | Follower:
    """Return lookahead on the policy's value with its belief and depth."""
    ordered, value = _ordered(problem, policy.belief), policy.value
    if ordered and policy.depth == 1 and isinstance(value, SeparableValue):
        return OneStepChoice(value)
    frontier = frontier_of(value)
    if isinstance(value, CommitValue | BlockCommitValue):
        own = value.belief
        if own is not None and _ordered(problem, own) != ordered:
            frontier = BatchFrontier(value)
    first = None
    if isinstance(value, SeparableValue) and _infinite_at_first(problem, value.index):
        first = IndexTables(problem, value.index, horizon_of(problem))
    return LookaheadChoice(frontier, policy.depth, ordered, first)


def _infinite_at_first(problem: Problem, index: Index) -> bool:
    return bool(np.isinf(index(problem.prior[:, 0], problem.prior[:, 1], 1, Setting.of(problem))).any())


def _ordered(problem: Problem, belief: Belief) -> bool:
    """Return whether the belief is the problem's own order; it must be exact."""
    if isinstance(belief, Independent):
        return False
    if isinstance(belief, Chain) and belief.order == problem.order:
        return True
    raise InvalidInputError(
        f"exact evaluation needs the exact belief of the problem, got {belief!r}; "
        "leave belief= out, or simulate the policy"
    )


def _name(policy: Any) -> str:
    if isinstance(policy, str):
        return policy
    return str(getattr(policy, "__name__", None) or type(policy).__name__)
