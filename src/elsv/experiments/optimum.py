"""The Bayes optimum and the exact regret of every policy: claims C3 and C4 without error bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from elsv._typing import FloatArray
from elsv.beliefs import belief_of
from elsv.exact import estimate, evaluate, solve
from elsv.experiments.base import Context, Drawing, Experiment, Outcome, Table
from elsv.experiments.claims import (
    LEAST_REGRET,
    NO_DIFFERENCE,
    Change,
    Claim,
    Lead,
    least_regret,
    listed,
    minus,
    no_difference,
)
from elsv.experiments.regions import regions
from elsv.planning._sweeps import available_memory
from elsv.problem import Order, Problem
from elsv.report import figures
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
_IN_PAPER = ("ELSV-UCB", "TS", "TS constrained", "Bayes-UCB", "Gittins", "UCB")
# Without an order each of these pulls the same arms as the other: the first two by Theorem 1.
_SAME_WITHOUT_ORDER = {"ELSV-Gittins": "Gittins", "ELSV-UCB": "UCB", "TS constrained": "TS"}
_FLOOR, _DEPTH_FLOOR = 1e-2, 1e-3  # per cent; a logarithmic axis has no place for the optimum itself
_THOMPSON, _SEARCHES = ("TS", "TS constrained"), ("commit, depth 5", "plan")
_VALUES = {
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


def run(settings: Settings, context: Context) -> Outcome:
    """Solve and evaluate, and judge both claims from exact numbers."""
    cases = _cases(settings)
    regrets: dict[str, dict[int, dict[str, float]]] = {}
    for k, case in enumerate(cases.values()):
        regrets[case.name] = {horizon: regrets_of(case, horizon) for horizon in case.horizons}
        context.progress((0.05, 0.13, 0.78, 0.86)[k])
    searched = {key: cases[key] for key in ("wide", "free")}
    by_depth = {case.name: _by_depth(case, settings) for case in searched.values()}
    context.progress(0.98)
    free = cases["free"].name
    return Outcome(
        text=_text(by_depth, settings.depth_horizon),
        numbers={
            "regret": {name: _keyed(rows) for name, rows in regrets.items()},
            "regret_by_depth": {name: _keyed(rows) for name, rows in by_depth.items()},
        },
        drawings=[
            *(_horizon_drawing(key, case, regrets[case.name]) for key, case in cases.items()),
            *(
                _depth_drawing(settings, by_depth[case.name], f"depth-{key}", case.name)
                for key, case in searched.items()
            ),
            regions(settings.region_horizon),
        ],
        tables=[
            *(_horizon_table(case, regrets[case.name]) for case in cases.values()),
            *(_depth_table(name, found) for name, found in by_depth.items()),
        ],
        claims=[
            _depth_claim(_changes(by_depth[free], free), by_depth[free]),
            _regret_claim(regrets[cases["discounts"].name], cases["discounts"].name),
        ],
    )


def _cases(settings: Settings) -> dict[str, Case]:
    """Return the problems, the one that reaches the longest horizons first."""
    until = dict.fromkeys(_THOMPSON, settings.thompson_to) | dict.fromkeys(_SEARCHES, settings.searches_to)
    equal = (1.0, 1.0, 1.0)
    return {
        "pair": Case(
            f"two arms, ordered, rewards {_listed(settings.pair)}",
            settings.pair,
            "decreasing",
            _within(settings.horizons, settings.horizons[-1], settings.pair, "decreasing"),
        ),
        **{
            key: Case(
                f"ordered, rewards {_listed(rewards)}",
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
            f"no order, rewards {_listed(equal)}",
            equal,
            None,
            _within(settings.horizons, settings.free_to, equal, None),
            until,
        ),
    }


def _within(
    horizons: Sequence[int], last: int, rewards: tuple[float, ...], order: Order | None
) -> tuple[int, ...]:
    """Return the horizons up to the last one for which there is memory."""
    limit = available_memory()
    needs = {t: estimate(Problem(rewards=rewards, order=order, horizon=t)).bytes for t in horizons}
    return tuple(t for t in horizons if t <= last and (limit is None or needs[t] <= limit))


def _text(by_depth: dict[str, dict[int, dict[str, float]]], horizon: int) -> str:
    told = []
    for problem, found in by_depth.items():
        first, last = min(found), max(found)
        separable, commit = (
            [above(found[d][label], found[d]["optimum"]) for d in (first, last)]
            for label in ("separable (Gittins)", "commit")
        )
        told.append(
            f"from {separable[0]:.1f} to {separable[1]:.1f} % above the optimum on the separable value of "
            f"Gittins and from {commit[0]:.2f} to {_least(commit[1])} % on the commit value ({problem})"
        )
    return (
        "On the lattice of all states the Bayes-optimal policy and the Bayes regret of any other are "
        "computed, not simulated; numbers here have no error bars. Lines end where the states are too many "
        "for the time or the memory of this run: three arms at horizon T have about T⁶ / 720 of them, two "
        "arms T⁴ / 24.\n\n"
        "**Does deeper search help?** The paper sees no gain up to depth 10 and hopes for one from a deeper "
        "and more careful search. It is not the depth. A separable value pays a bonus for every pull, "
        "whether or not what is learnt can change the decision; a deeper search collects more such bonuses "
        "and no more insight. What committing to the best arm is worth is a maximum, convex in the belief: "
        "a pull that may change the best arm raises its expectation, any other pull leaves it as it is. "
        "A search on that value sees what information is worth, and sees more of it the deeper it goes. "
        f"With T = {horizon}, going from depth {first} to depth {last} takes the regret "
        f"{', and '.join(told)}. On the commit value single steps of depth may lose a little; many gain."
    )


def _least(percent: float) -> str:
    return f"{percent:.3f}" if percent >= _DEPTH_FLOOR else f"less than {_DEPTH_FLOOR:g}"


def regrets_of(case: Case, horizon: int) -> dict[str, float]:
    """Return the exact regret of the optimum, of every policy of the case, and of the best fixed arm."""
    problem = Problem(rewards=case.rewards, order=case.order, horizon=horizon)
    twins = {} if case.order is not None else _SAME_WITHOUT_ORDER
    labels = case.labels(horizon)
    distinct = [label for label in labels if label not in twins]
    optimum, *rows = evaluate(problem, ["optimal", *(POLICIES[label] for label in distinct)])
    known = {label: row.regret for label, row in zip(distinct, rows, strict=True)}
    found = {"optimum": optimum.regret} | {label: known[twins.get(label, label)] for label in labels}
    worth = problem.rewards * belief_of(problem).mean(State.initial(problem))
    found["best fixed arm"] = optimum.value + optimum.regret - horizon * float(worth.max())
    return found


def _by_depth(case: Case, settings: Settings) -> dict[int, dict[str, float]]:
    problem = Problem(rewards=case.rewards, order=case.order, horizon=settings.depth_horizon)
    optimum = solve(problem).regret
    found = {}
    for depth in settings.depths:
        names = [_with_depth(name, depth) for name in _VALUES.values()]
        rows = evaluate(problem, names)
        found[depth] = {"optimum": optimum} | {
            label: row.regret for label, row in zip(_VALUES, rows, strict=True)
        }
    return found


def _with_depth(name: str, depth: int) -> str:
    return f"{name}{',' if ':' in name else ':'}depth={depth}"


def above(regret: float, optimum: float) -> float:
    """Return regret above the optimum in percent of it."""
    percent = 100.0 * (regret - optimum) / optimum
    return 0.0 if abs(percent) < 1e-6 else percent


def _percent(rows: Mapping[int, Mapping[str, float]], label: str, floor: float) -> FloatArray:
    """Return the percentages above the optimum, at least `floor`; not a number where there is none."""
    missing = float("nan")
    percent = [above(row.get(label, missing), row["optimum"]) for row in rows.values()]
    return np.maximum(percent, floor)


def _horizon_drawing(key: str, case: Case, rows: dict[int, dict[str, float]]) -> Drawing:
    left_out = _SAME_WITHOUT_ORDER if case.order is None else {}
    shown = [label for label in POLICIES if label not in left_out]
    figure = figures.lines(
        case.horizons,
        {label: _percent(rows, label, _FLOOR) for label in shown},
        x_label="horizon T",
        y_label="regret above the optimum in %",
        log_y=True,
        markers=True,
        style=figures.styles(POLICIES),
        height=4.8,
    )
    same = [f"{label} is {twin}" for label, twin in left_out.items()]
    caption = [
        f"Regret above the Bayes optimum by horizon; {case.name}; exact. {_floor(_FLOOR)}",
        f"Without an order {listed(same)}." if same else "",
        _endings(case),
    ]
    return Drawing(f"horizon-{key}", figure, " ".join(part for part in caption if part))


def _floor(percent: float) -> str:
    return f"What is below {percent:g} % is drawn there."


def _endings(case: Case) -> str:
    """Say which lines end early, and why."""
    last = case.horizons[-1]
    reasons = (
        (_THOMPSON[0], "Thompson sampling", "P(best) in every state takes long"),
        (_SEARCHES[0], "the two searches", "many sweeps for every step take long"),
    )
    told = [
        f"{who} (T = {case.until[label]}: {why})"
        for label, who, why in reasons
        if case.until.get(label, last) < last
    ]
    return f"Lines end early for {listed(told)}." if told else ""


def _depth_drawing(settings: Settings, rows: dict[int, dict[str, float]], name: str, problem: str) -> Drawing:
    series = {label: _percent(rows, label, _DEPTH_FLOOR) for label in _VALUES}
    figure = figures.lines(
        settings.depths,
        series,
        x_label="depth of the lookahead",
        y_label="regret above the optimum in %",
        log_y=True,
        markers=True,
    )
    caption = f"Regret above the Bayes optimum by depth, T = {settings.depth_horizon}; {problem}; exact."
    return Drawing(name, figure, f"{caption} {_floor(_DEPTH_FLOOR)}")


def _horizon_table(case: Case, rows: dict[int, dict[str, float]]) -> Table:
    body: list[list[Any]] = [["optimum: regret", *(f"{row['optimum']:.4f}" for row in rows.values())]]
    body += [
        [label, *(_shown(row[label], row["optimum"]) if label in row else "" for row in rows.values())]
        for label in (*POLICIES, "best fixed arm")
    ]
    return Table(
        ["regret above the optimum", *(f"T = {horizon}" for horizon in rows)],
        body,
        f"Exact Bayes regret; {case.name}.{' Empty: not evaluated.' if _endings(case) else ''}",
        "l" + "r" * len(rows),
        highlight=(0,),
    )


def _shown(regret: float, optimum: float) -> str:
    return f"{above(regret, optimum):.2f} %"


def _depth_table(problem: str, found: dict[int, dict[str, float]]) -> Table:
    rows = [
        [str(d), *(f"{above(row[label], row['optimum']):.3f} %" for label in _VALUES)]
        for d, row in found.items()
    ]
    caption = f"Exact regret above the optimum by depth; {problem}."
    return Table(["depth", *_VALUES], rows, caption, "l" + "r" * len(_VALUES))


def _changes(found: dict[int, dict[str, float]], setting: str) -> list[Change]:
    """Return the change from depth 1 to every other depth of the separable values, exact."""
    return [
        Change(setting, f"{label}, depth {d}", 100 * (row[label] / found[1][label] - 1), 0.0)
        for d, row in found.items()
        for label in ("separable (Gittins)", "separable (UCB)")
        if d > 1
    ]


def _depth_claim(changes: list[Change], found: dict[int, dict[str, float]]) -> Claim:
    verdict, in_short = no_difference(changes)
    least, most = min(changes, key=lambda c: c.percent), max(changes, key=lambda c: c.percent)
    deepest = max(found)
    commit = [above(found[d]["commit"], found[d]["optimum"]) for d in (1, deepest)]
    return Claim(
        "C3 exact",
        "Longer lookahead, 1 to 10 steps, makes virtually no difference to the regret (plain Bernoulli).",
        minus(f"change from {least.percent:+.1f} % ({least.label}) to {most.percent:+.1f} % ({most.label})"),
        verdict,
        in_short,
        f"True of the separable value, not of search: on the commit value depth {deepest} brings the regret "
        f"from {commit[0]:.2f} % to {_least(commit[1])} % above the optimum.",
        NO_DIFFERENCE,
    )


def _regret_claim(rows: dict[int, dict[str, float]], setting: str) -> Claim:
    mine = "ELSV-Gittins"
    leads = [
        Lead(f"{setting}, T = {horizon}", rival, regret - row[mine], 0.0, rival in _IN_PAPER)
        for horizon, row in rows.items()
        for rival, regret in row.items()
        if rival not in (mine, "optimum")
    ]
    verdict, in_short = least_regret(leads)
    horizon = max(t for t, row in rows.items() if set(POLICIES) <= set(row))
    last = rows[horizon]
    ahead = [label for label in last if label != "optimum" and last[label] < last[mine]]
    told = "; ".join(f"{label} {last[label]:.3f}" for label in ahead)
    return Claim(
        "C4 exact",
        "ELSV-Gittins outperforms all other algorithms on the 3-arm discount problem.",
        f"regret of ELSV-Gittins {last[mine]:.3f}, of the optimum {last['optimum']:.3f} (T = {horizon}); "
        f"horizons {_listed(list(rows))}",
        verdict,
        in_short,
        f"With T = {horizon} less regret than ELSV-Gittins: {told}."
        if ahead
        else "No rival has less regret.",
        LEAST_REGRET,
    )


def _keyed(rows: Mapping[int, Any]) -> dict[str, Any]:
    return {str(key): value for key, value in rows.items()}


def _listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{x:g}" for x in numbers)


EXPERIMENT = Experiment(
    "optimum",
    "Against the Bayes optimum (exact)",
    run,
    Settings(),
    Settings(
        horizons=(5, 10, 15, 20),
        wide_to=15,
        free_to=15,
        depth_horizon=15,
        depths=(1, 3, 10),
        region_horizon=30,
    ),
    weight=22,
)
