"""What a problem assumes: put together from what its structure and its belief say of themselves."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from elsv.assumptions.base import ArmCheck
from elsv.assumptions.svg import Check
from elsv.beliefs.abilities import error
from elsv.beliefs.base import mean_of, method_of
from elsv.errors import InvalidInputError
from elsv.policies import DEFAULT_POLICY, make_policy
from elsv.prior.found import believed
from elsv.problem import Problem
from elsv.state import State, check_arms
from elsv.structure.evidence import doubts, evidence
from elsv.structure.facts import outline_of

_INTERVAL = (0.025, 0.975)
_SEED = 0  # for beliefs that draw


def check(problem: Problem, state: State | None = None) -> Check:
    """Return what a problem assumes, what that implies before any data, and what it costs to compute.

    Parameters
    ----------
    problem
        Whose structure is checked.
    state
        Data, as Beta counts of one instance: what they say for or against the structure, and the means after
        them. Default: none.

    Examples
    --------
    >>> found = check(Problem(rewards=[1, 1], order="decreasing", horizon=5), State([1, 9], [9, 1]))
    >>> found.assumed
    'the means decrease: each arm succeeds at least as often as the next'
    >>> [round(arm.prior.mean, 3) for arm in found.arms]
    [0.667, 0.333]
    >>> found.evidence.contradicted
    True
    """
    belief, start = problem.belief, State.initial(problem)
    now = start if state is None else state
    check_arms(now, problem)
    if now.shape != ():
        raise InvalidInputError(f"state must be of one instance, got a batch of shape {now.shape}")
    before = believed(problem, start, _INTERVAL)
    after = [None] * problem.arms if state is None else believed(problem, now, _INTERVAL)
    pulls = now.pulls(problem).astype(int).tolist()
    pairs = " ".join(f"{a:g},{b:g}" for a, b in zip(now.alpha, now.beta, strict=True))
    each = zip(problem.names, problem.rewards.tolist(), before, pulls, after, strict=True)
    wrong = float(error(belief, now))
    said = evidence(problem, now) if any(pulls) else None
    return Check(
        assumed=problem.structure.describe(),
        outline=outline_of(problem.structure),
        arms=tuple(ArmCheck(i, *one) for i, one in enumerate(each)),
        method=method_of(belief, now),
        milliseconds=_milliseconds(lambda near: mean_of(belief, near, np.random.default_rng(_SEED)), now),
        error=None if math.isnan(wrong) else wrong,
        state=None if state is None else pairs,
        evidence=said,
        doubts=doubts(problem, now, said),
        decision=_decision(problem, now),
        segments=problem.segments.describe(problem.names),
    )


def _decision(problem: Problem, state: State) -> float | None:
    """Return the milliseconds that a decision of the default policy takes; None after the last one."""
    step = int(state.pulls(problem).sum()) + 1
    if problem.horizon is not None and step > problem.horizon:
        return None
    policy, rng = make_policy(DEFAULT_POLICY, problem), np.random.default_rng(_SEED)
    return _milliseconds(lambda near: policy(near, step, rng, problem.segments.turns[0]), state)


def _milliseconds(work: Callable[[State], object], state: State) -> float:
    """Return the milliseconds that `work` takes near a state, the least of two: the first may compile."""
    spent = []
    for arm in range(2):
        more = (np.arange(state.arms) == arm % state.arms) * (1.0 + arm // state.arms)
        near = State(state.alpha + more, state.beta)
        began = time.perf_counter()
        work(near)
        spent.append(time.perf_counter() - began)
    return 1e3 * min(spent)
