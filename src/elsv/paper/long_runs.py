"""Exact regrets at the paper's own horizon: kept in a file, or computed again on a GPU."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from elsv.exact import evaluate
from elsv.exact.solve import largest_reward
from elsv.problem import Problem
from elsv.state import State

FILE = "long_horizon.json"
POLICIES = {
    "optimum": "optimal",
    "ELSV-Gittins": "elsv:index=gittins",
    "ELSV-UCB": "elsv:index=ucb",
    "ELSV-UCB × 0.4": "elsv:index=ucb,weight=0.4",
    "Bayes-UCB": "bayes-ucb",
    "Gittins": "gittins",
    "UCB": "ucb",
    "UCB × 0.4": "ucb:scale=0.16",
    "greedy on the belief": "greedy",
}

Rows = dict[int, dict[str, float]]  # horizon: label: regret


@dataclass(frozen=True)
class PlanLoss:
    """By how much `plan` earns less than the optimum: exactly, or from simulated paths with its error."""

    rewards: tuple[float, ...]
    horizon: int
    loss: float
    error: float  # one standard error
    paths: int | None  # None: computed in every state


def problem_of(rewards: tuple[float, ...], horizon: int) -> Problem:
    """Return the discount problem with these rewards."""
    return Problem(rewards=rewards, order="decreasing", horizon=horizon)


def kept() -> dict[str, Any]:
    """Return what the results file holds: how it was computed, and regrets by rewards and horizon."""
    data: dict[str, Any] = json.loads(files("elsv.paper").joinpath(FILE).read_text(encoding="utf-8"))
    regrets: dict[tuple[float, ...], Rows] = {}
    for row in data["regrets"]:
        by_label = regrets.setdefault(tuple(row["rewards"]), {}).setdefault(row["horizon"], {})
        by_label[row["label"]] = row["regret"]
    for rewards, rows in regrets.items():
        for horizon, row in rows.items():
            row |= always(rewards, horizon)
    plan = [
        PlanLoss(tuple(row["rewards"]), row["horizon"], row["loss"], row["error"], row["paths"])
        for row in data["plan"]
    ]
    return {"about": data["about"], "regrets": regrets, "plan": plan}


def always(rewards: tuple[float, ...], horizon: int) -> dict[str, float]:
    """Return the regret of always pulling each arm."""
    problem = problem_of(rewards, horizon)
    means = problem.belief.mean(State.initial(problem))
    largest = largest_reward(problem)
    return {
        f"arm {i + 1} always": largest - horizon * reward * float(means[i])
        for i, reward in enumerate(rewards)
    }


def computed(
    cases: tuple[tuple[tuple[float, ...], int], ...], device: str, progress: Callable[[float], None]
) -> dict[tuple[float, ...], Rows]:
    """Return the regrets of all policies, computed again."""
    found: dict[tuple[float, ...], Rows] = {}
    total, done = len(cases) * len(POLICIES), 0
    for rewards, horizon in cases:
        row = found.setdefault(rewards, {}).setdefault(horizon, {})
        for label, name in POLICIES.items():
            row[label] = evaluate(problem_of(rewards, horizon), name, device=device)[0].regret
            done += 1
            progress(done / total)
        row |= always(rewards, horizon)
    return found
