"""Problems whose Bayes optimum is computed, the policies beside it, and the exact regret of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from elsv._base.machine import available_memory
from elsv.beliefs.abilities import factors
from elsv.beliefs.base import Order
from elsv.exact import estimate, evaluate, solve
from elsv.problem import Problem
from elsv.state import State

POLICIES = {
    "ELSV-Gittins": "elsv:index=gittins",
    "ELSV-UCB": "elsv:index=ucb",
    "TS": "thompson:order=false",
    "TS constrained": "thompson",
    "Bayes-UCB": "bayes-ucb",
    "Gittins": "gittins",
    "UCB": "ucb",
    "greedy on the belief": "greedy",
    "commit, depth 5": "commit:depth=5",
    "finite-horizon Gittins": "finite-gittins",
    "plan": "plan",
}
# Without an order each of these pulls the same arms as the other: the first two by Theorem 1.
SAME_WITHOUT_ORDER = {"ELSV-Gittins": "Gittins", "ELSV-UCB": "UCB", "TS constrained": "TS"}
ALWAYS = 50  # pulls; longer horizons are left out where memory is short
THOMPSON, SEARCHES = ("TS", "TS constrained"), ("commit, depth 5", "plan")
VALUES = {
    "separable (Gittins)": "elsv:index=gittins",
    "separable (UCB)": "elsv:index=ucb,scale=0.4",
    "commit": "commit",
    "block commit": "block",
}


@dataclass(frozen=True)
class Settings:
    """The problems, the horizons, and the depths of the lookahead."""

    discounts: tuple[float, ...] = (0.8, 0.9, 1.0)
    wide: tuple[float, ...] = (0.4, 0.7, 1.0)
    pair: tuple[float, ...] = (0.6, 1.0)
    horizons: tuple[int, ...] = (10, 20, 30, 40, 50, 70, 100)
    discounts_to: int = 50
    wide_to: int = 100
    free_to: int = 70
    thompson_to: int = 40  # three arms
    searches_to: int = 50  # three arms
    depth_horizon: int = 30
    depths: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15)
    region_horizon: int = 60


@dataclass(frozen=True)
class Case:
    """A problem at several horizons, and where the policies that take too long stop."""

    name: str
    rewards: tuple[float, ...]
    order: Order | None
    horizons: tuple[int, ...]
    until: Mapping[str, int] = field(default_factory=dict)  # last horizon, for the labels that stop

    def labels(self, horizon: int) -> list[str]:
        """Return the policies that are evaluated at a horizon."""
        return [label for label in POLICIES if horizon <= self.until.get(label, horizon)]


def cases_of(settings: Settings) -> dict[str, Case]:
    """Return the problems, the one that reaches the longest horizons first."""
    until = dict.fromkeys(THOMPSON, settings.thompson_to) | dict.fromkeys(SEARCHES, settings.searches_to)
    equal = (1.0, 1.0, 1.0)
    return {
        "pair": Case(
            f"two arms, ordered, rewards {in_a_row(settings.pair)}",
            settings.pair,
            "decreasing",
            _within(settings.horizons, settings.horizons[-1], settings.pair, "decreasing"),
        ),
        **{
            key: Case(
                f"ordered, rewards {in_a_row(rewards)}",
                rewards,
                "decreasing",
                _within(settings.horizons, last, rewards, "decreasing"),
                until,
            )
            for key, rewards, last in (
                ("discounts", settings.discounts, settings.discounts_to),
                ("wide", settings.wide, settings.wide_to),
            )
        },
        "free": Case(
            f"no order, rewards {in_a_row(equal)}",
            equal,
            None,
            _within(settings.horizons, settings.free_to, equal, None),
            until,
        ),
    }


def _within(
    horizons: Sequence[int], last: int, rewards: tuple[float, ...], order: Order | None
) -> tuple[int, ...]:
    """Return the horizons up to the last one; above `ALWAYS` those for which there is memory."""
    limit = available_memory()
    needs = {t: estimate(Problem(rewards=rewards, order=order, horizon=t)).bytes for t in horizons}
    fits = {t: t <= ALWAYS or limit is None or needs[t] <= limit for t in horizons}
    return tuple(t for t in horizons if t <= last and fits[t])


def regrets_of(case: Case, horizon: int) -> dict[str, float]:
    """Return the exact regret of the optimum, of every policy of the case, and of the best fixed arm."""
    problem = Problem(rewards=case.rewards, order=case.order, horizon=horizon)
    twins = SAME_WITHOUT_ORDER if factors(problem.belief) else {}
    labels = case.labels(horizon)
    distinct = [label for label in labels if label not in twins]
    optimum, *rows = evaluate(problem, ["optimal", *(POLICIES[label] for label in distinct)])
    known = {label: row.regret for label, row in zip(distinct, rows, strict=True)}
    found = {"optimum": optimum.regret} | {label: known[twins.get(label, label)] for label in labels}
    worth = problem.rewards * problem.belief.mean(State.initial(problem))
    found["best fixed arm"] = optimum.value + optimum.regret - horizon * float(worth.max())
    return found


def by_depth(case: Case, settings: Settings) -> dict[int, dict[str, float]]:
    """Return the exact regret of lookahead on each value by depth, and of the optimum."""
    problem = Problem(rewards=case.rewards, order=case.order, horizon=settings.depth_horizon)
    optimum = solve(problem).regret
    # One call for all depths: what is believed of every state is computed once.
    names = [_with_depth(name, depth) for depth in settings.depths for name in VALUES.values()]
    regrets = iter([row.regret for row in evaluate(problem, names)])
    return {
        depth: {"optimum": optimum} | {label: next(regrets) for label in VALUES} for depth in settings.depths
    }


def _with_depth(name: str, depth: int) -> str:
    return f"{name}{',' if ':' in name else ':'}depth={depth}"


def above(regret: float, optimum: float) -> float:
    """Return regret above the optimum in percent of it."""
    percent = 100.0 * (regret - optimum) / optimum
    return 0.0 if abs(percent) < 1e-6 else percent


def in_a_row(numbers: Sequence[float]) -> str:
    """Return numbers with commas between them."""
    return ", ".join(f"{x:g}" for x in numbers)
