"""Lookahead on 3 arms: time of one decision, in a batch and alone."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.shared import row, seconds
from elsv import Chain, Independent, Problem, SeparableValue, State, lookahead, make_index


def _states(problem: Problem, instances: int, pulls: int) -> State:
    rng = np.random.default_rng(0)
    state = State.initial(problem, (instances,))
    for _ in range(pulls):
        state = state.observe(rng.integers(problem.arms, size=instances), rng.random(instances) < 0.5)
    return state


def run() -> list[dict]:
    free = Problem(rewards=[0.8, 0.9, 1.0], horizon=200)
    ordered = Problem(rewards=[0.8, 0.9, 1.0], order="decreasing", horizon=200)
    rows = []
    for problem, belief, name, cases in (
        (
            free,
            Independent(),
            "independent",
            ((1, 1000, None), (3, 1000, 30), (3, 1, None), (10, 20, 2000), (10, 1, 2000)),
        ),
        (ordered, Chain("decreasing"), "chain", ((1, 200, None), (3, 50, 1000), (3, 1, 1000))),
    ):
        value = SeparableValue(problem, make_index("gittins"))
        for depth, instances, target in cases:
            state = _states(problem, instances, 60)
            search = partial(lookahead, problem, state, 61, value, belief, depth)
            each = seconds(search) / instances
            rows.append(
                row(
                    f"lookahead, 3 arms, {name}, depth {depth}, batch of {instances}",
                    1e6 * each,
                    "µs per decision",
                    target and f"≤ {target}",
                )
            )
    return rows
