# ruff: noqa: D101, D102
"""What each optional method of a belief of one's own buys, in seconds: the table of docs/extending.md.

``python -m benchmarks.own_belief`` gives a belief of 1,000 weighted curves one method after another and times
a decision by ``plan``, an explanation, a simulation and an exact solution. Three prices, T = 40 and 10.
"""

from __future__ import annotations

import numpy as np

from benchmarks.shared import seconds
from elsv import Bandit, Problem, State, compare, solve
from elsv.policies import Greedy, make_policy
from elsv.structure.base import Statement

PRICES = np.array([0.5, 1.0, 1.5])
_RNG = np.random.default_rng(1)
CURVES = 1 / (1 + np.exp(np.exp(_RNG.normal(1, 0.5, (1000, 1))) * PRICES - _RNG.normal(0, 2, (1000, 1))))


class Bare:
    """Means and draws, which is all that is required."""

    def _log(self, state):
        return (state.alpha - 1) @ np.log(CURVES).T + (state.beta - 1) @ np.log1p(-CURVES).T

    def _chances(self, state):
        log = self._log(state)
        chance = np.exp(log - log.max(axis=-1, keepdims=True))
        return chance / chance.sum(axis=-1, keepdims=True)

    def mean(self, state, rng=None):
        return self._chances(state) @ CURVES

    def draw(self, state, rng):
        below = np.cumsum(self._chances(state), axis=-1)
        return CURVES[(below < rng.random((*state.shape, 1))).sum(axis=-1)]


class Repeats(Bare):
    repeats = True


class Points(Repeats):
    def points(self, state, count):
        chance = self._chances(state)
        return np.broadcast_to(CURVES, (*state.shape, *CURVES.shape)), chance


class Best(Points):
    def variance(self, state):
        return self._chances(state) @ CURVES**2 - self.mean(state) ** 2

    def quantile(self, state, level):
        chance, order = self._chances(state), np.argsort(CURVES, axis=0)
        columns = []
        for i in range(CURVES.shape[1]):
            below = np.cumsum(chance[..., order[:, i]], axis=-1)
            columns.append(CURVES[order[:, i], i][(below < level).sum(axis=-1).clip(max=len(CURVES) - 1)])
        return np.stack(columns, axis=-1)

    def best(self, state, rewards, tolerance=None):
        chance, worth = self._chances(state), np.asarray(rewards) * CURVES
        wins = np.eye(CURVES.shape[1])[worth.argmax(axis=1)]
        return chance @ wins, chance @ worth.max(axis=1)


class Weighs(Best):
    def log_weight(self, state):
        log = self._log(state)
        most = log.max(axis=-1)
        return most + np.log(np.exp(log - most[..., None]).mean(axis=-1))


KINDS = {
    "mean, draw": Bare,
    "and repeats": Repeats,
    "and points": Points,
    "and variance, quantile, best": Best,
    "and log_weight": Weighs,
}


class Stated(Statement):
    """A structure whose belief is one of these."""

    def __init__(self, belief):
        self._belief = belief

    def describe(self):
        return "one of a thousand curves"

    def to_dict(self):
        return {"curves": type(self._belief).__name__}

    def holds(self, means):
        return np.ones(np.shape(means)[:-1], dtype=bool)

    def belief(self):
        return self._belief


def row(belief) -> list[str]:
    """Return a decision, an explanation, a simulation and a solution in seconds."""
    problem = Problem(PRICES, horizon=40, structure=Stated(belief))
    state = State([3.0, 2, 2], [2.0, 3, 4])
    plan, rng = make_policy("plan", problem), np.random.default_rng(0)
    bandit = Bandit(problem, "greedy", state=state)
    tasks = {
        "plan": lambda: plan(state, 9, rng),
        "explain": lambda: bandit.explain(),
        "simulate": lambda: compare(
            problem, {"greedy": Greedy(problem, belief)}, 500, jobs=1, progress=False
        ),
        "solve": lambda: solve(problem, horizon=10, jobs=1, progress=False),
    }
    found = []
    for task in tasks.values():
        try:
            found.append(f"{1000 * seconds(task, repeat=3):,.1f} ms")
        except ValueError:
            found.append("refused")
    return found


if __name__ == "__main__":
    for name, kind in KINDS.items():
        print(f"{name:<32}", *(f"{cell:>12}" for cell in row(kind())))
