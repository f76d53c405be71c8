"""What a belief costs, measured on this machine."""

from __future__ import annotations

import time
from itertools import count

import numpy as np

from elsv.beliefs import Belief
from elsv.beliefs.base import mean_of
from elsv.state import State

_ENOUGH = 0.05  # seconds of measuring
_MOST = 200  # states


def milliseconds(belief: Belief, state: State, rng: np.random.Generator) -> float:
    """Return how long the means of one state take, the median over states that lie near `state`."""
    mean_of(belief, state, rng)  # compiles
    spent: list[float] = []
    for k in count():
        near = _near(state, k)
        began = time.perf_counter()
        mean_of(belief, near, rng)
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
