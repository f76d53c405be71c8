"""What a problem assumes: put together from what its structure and its belief say of themselves."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from elsv.assumptions.base import ArmCheck, Findings
from elsv.beliefs.abilities import error, factors
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
_TIMED = 3  # states whose median time is told


class Check(Findings):
    """What a problem assumes; prints as text and draws itself."""

    def __repr__(self) -> str:
        return f"Check({self.assumed!r}, arms={len(self.arms)}, method={self.method.name!r})"

    def __str__(self) -> str:
        from elsv.assumptions.terminal import text

        return text(self)

    def svg(self) -> str:
        """Return the order, and the means that it implies, as one SVG image that needs nothing else."""
        from elsv.assumptions.svg import drawn

        return drawn(self)

    def _repr_svg_(self) -> str:
        return self.svg()


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
    something = not factors(belief)
    now = start if state is None else _one(state, problem)
    before = believed(problem, start, _INTERVAL)
    after = None if state is None else believed(problem, now, _INTERVAL)
    pulls = now.pulls(problem)
    arms = tuple(
        ArmCheck(
            arm=i,
            name=problem.names[i],
            reward=float(problem.rewards[i]),
            prior=before[i],
            pulls=int(pulls[i]),
            posterior=None if after is None else after[i],
        )
        for i in range(problem.arms)
    )
    wrong = float(error(belief, now))
    said = evidence(problem, now) if state is not None and pulls.any() else None
    return Check(
        assumed=problem.structure.describe(),
        outline=outline_of(problem.structure),
        arms=arms,
        method=method_of(belief, now),
        milliseconds=_milliseconds(lambda near: mean_of(belief, near, np.random.default_rng(_SEED)), now),
        error=None if math.isnan(wrong) else wrong,
        state=None if state is None else _pairs(now),
        evidence=said,
        doubts=doubts(problem, now, said) if state is not None else (),
        something=something,
        decision=_decision(problem, now),
        segments=problem.segments.describe(problem.names) or None,
    )


def _pairs(state: State) -> str:
    return " ".join(f"{a:g},{b:g}" for a, b in zip(state.alpha, state.beta, strict=True))


def _one(state: State, problem: Problem) -> State:
    check_arms(state, problem)
    if state.shape != ():
        raise InvalidInputError(f"state must be of one instance, got a batch of shape {state.shape}")
    return state


def _decision(problem: Problem, state: State) -> float | None:
    """Return the milliseconds that a decision of the default policy takes; None after the last one."""
    step = int(state.pulls(problem).sum()) + 1
    if problem.horizon is not None and step > problem.horizon:
        return None
    policy, rng = make_policy(DEFAULT_POLICY, problem), np.random.default_rng(_SEED)
    return _milliseconds(lambda near: policy(near, step, rng, problem.segments.turns[0]), state)


def _milliseconds(work: Callable[[State], object], state: State) -> float:
    """Return the milliseconds that `work` takes, the median over a few states near `state`."""
    work(state)  # compiles
    spent = []
    for arm in range(_TIMED):
        more = (np.arange(state.arms) == arm % state.arms) * (1.0 + arm // state.arms)
        near = State(state.alpha + more, state.beta)
        began = time.perf_counter()
        work(near)
        spent.append(time.perf_counter() - began)
    return 1e3 * float(np.median(spent))
