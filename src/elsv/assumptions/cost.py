"""What a belief and a decision cost, measured on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count

import numpy as np

from elsv.beliefs import Belief
from elsv.beliefs.base import mean_of
from elsv.policies import DEFAULT_POLICY, make_policy
from elsv.problem import Problem
from elsv.state import State

_ENOUGH = 0.05  # seconds of measuring
_MOST = 200  # states


def milliseconds(belief: Belief, state: State, rng: np.random.Generator) -> float:
    """Return how long the means of one state take, the median over states that lie near `state`."""
    return _median(lambda near: mean_of(belief, near, rng), state)


def decision_milliseconds(problem: Problem, state: State, rng: np.random.Generator) -> float | None:
    """Return how long a decision of the default policy takes near `state`; None after the last one."""
    step = int(state.pulls(problem).sum()) + 1
    if problem.horizon is not None and step > problem.horizon:
        return None
    policy = make_policy(DEFAULT_POLICY, problem)
    segment = () if not problem.segments.stated else (0,)
    return _median(lambda near: policy(near, step, rng, *segment), state)


def _median(work: Callable[[State], object], state: State) -> float:
    """Return the milliseconds that `work` takes, the median over states that lie near `state`."""
    work(state)  # compiles
    spent: list[float] = []
    for k in count():
        near = _near(state, k)
        began = time.perf_counter()
        work(near)
        spent.append(time.perf_counter() - began)
        if len(spent) == _MOST or (sum(spent) > _ENOUGH and len(spent) >= 3):
            return 1e3 * float(np.median(spent))
    raise AssertionError


def _near(state: State, number: int) -> State:
    """Return the state after a pull of one arm and, further on, more than one: no two are the same."""
    rounds, turn = divmod(number, 2 * state.arms)
    arm, won = divmod(turn, 2)
    more = (np.arange(state.arms) == arm) * (1.0 + rounds)
    return State(state.alpha + won * more, state.beta + (1 - won) * more)
