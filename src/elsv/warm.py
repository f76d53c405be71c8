"""Compile every kernel in advance, so that no later call has to wait for it.

Each part is a small piece of real work that calls the kernels which its kind of question needs.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from elsv._base.notices import compiling
from elsv.beliefs.base import Order
from elsv.exact import evaluate, solve
from elsv.indices import INDEX_NAMES
from elsv.live import Bandit
from elsv.problem import Problem
from elsv.simulation.compare import compare
from elsv.state import State
from elsv.structure import decreasing, grid, order

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Warmth:
    """What was compiled."""

    functions: int
    seconds: float  # of compiling; the rest of the time went into the work itself
    total: float


def warm(progress: Progress | None = None) -> Warmth:
    """Compile what the commands and the library need, and keep it; quick if that was done before.

    Parameters
    ----------
    progress
        Called with (parts done, parts in all, name of the current part).

    Examples
    --------
    >>> warm().functions >= 0
    True
    """
    began, seconds, functions = time.perf_counter(), compiling.seconds, compiling.functions
    report = progress or (lambda done, total, name: None)
    for done, (name, work) in enumerate(_PARTS):
        report(done, len(_PARTS), name)
        work()
    report(len(_PARTS), len(_PARTS), "done")
    return Warmth(compiling.functions - functions, compiling.seconds - seconds, time.perf_counter() - began)


def _problem(
    direction: Order | None, arms: int = 3, horizon: int | None = 6, discount: float | None = None
) -> Problem:
    return Problem(np.linspace(0.4, 1.0, arms), direction, horizon, discount)


def warm_decisions() -> None:
    """Compile what most decisions need, by making some."""
    for problem in (_problem("decreasing"), _problem(None)):
        for policy in ("plan", "elsv", "thompson", "greedy"):
            Bandit(problem, policy, seed=0).explain()


def _far() -> None:
    for problem in (
        _problem("decreasing", 14, 300),
        _problem("decreasing", 3, 300),
        _problem("decreasing", 3, None, 0.9),
        _problem(None, 3, None, 0.9),
        _problem(None, 3, 400),
    ):
        Bandit(problem, "plan", seed=0).explain()
        problem.belief.draw(State.initial(problem, (2,)), np.random.default_rng(0))


def _indices() -> None:
    for name in INDEX_NAMES:
        Bandit(_problem(None), name).explain()
        Bandit(_problem("decreasing"), f"elsv:index={name},depth=2").explain()


def _solve() -> None:
    with tempfile.TemporaryDirectory() as directory:
        for k, problem in enumerate((_problem("decreasing"), _problem(None))):
            solve(problem, save=Path(directory) / str(k))


def _evaluate() -> None:
    names = ["optimal", "plan", "elsv", "elsv:depth=2", "commit", "block", "gittins", "thompson", "random"]
    for problem in (_problem("decreasing"), _problem(None)):
        evaluate(problem, names)


def _compare() -> None:
    names = ["plan", "elsv", "gittins", "thompson", "thompson:belief=rejection", "block"]
    for problem in (_problem("decreasing"), _problem(None)):
        compare(problem, names, instances=8)
        compare(problem, ["gittins"], instances=8, delay=2)


def _structures() -> None:
    start = np.random.default_rng(0)
    for known in (order([(1, 2), (1, 3)]), order([(1, 2), (1, 3)]).by("gibbs")):
        problem = Problem([0.4, 0.7, 1.0], horizon=6, structure=known)
        Bandit(problem, "plan", seed=0, state=State([1, 2, 1], [1, 1, 1])).explain()
        problem.belief.draw(State.initial(problem, (2,)), start)


def _segments() -> None:
    groups = [[1, 2], [3, 4]]
    for known, horizon in ((decreasing(), 6), (decreasing(), 300), (None, 6)):
        problem = Problem([0.4, 0.7, 0.5, 1.0], horizon=horizon, structure=known, segments=groups)
        for policy in ("plan", "elsv:depth=2"):
            Bandit(problem, policy, seed=0).explain(segment=1)
    shop = Problem([0.4, 0.7, 0.5, 1.0], structure=grid(2, 2), horizon=3, segments=groups)
    evaluate(shop, ["optimal", "plan", "gittins", "thompson"])
    compare(shop, ["gittins", "greedy"], instances=8)


_PARTS: tuple[tuple[str, Callable[[], None]], ...] = (
    ("decisions", warm_decisions),
    ("long horizons", _far),
    ("indices", _indices),
    ("solutions", _solve),
    ("evaluations", _evaluate),
    ("simulation", _compare),
    ("structures", _structures),
    ("segments", _segments),
)
