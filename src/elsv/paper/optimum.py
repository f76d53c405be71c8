"""The Bayes optimum and the exact regret of every policy: claims C3 and C4 without error bars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elsv.paper.base import Context, Experiment, Outcome
from elsv.paper.claims import (
    LEAST_REGRET,
    NO_DIFFERENCE,
    Change,
    Claim,
    Lead,
    least_regret,
    minus,
    no_difference,
)
from elsv.paper.exact_cases import POLICIES, Settings, above, by_depth, cases_of, in_a_row, regrets_of
from elsv.paper.exact_views import (
    depth_drawing,
    depth_table,
    horizon_drawing,
    horizon_table,
    least,
    short_of_memory,
    text,
)
from elsv.paper.regions import regions

_IN_PAPER = ("ELSV-UCB", "TS", "TS constrained", "Bayes-UCB", "Gittins", "UCB")


def run(settings: Settings, context: Context) -> Outcome:
    """Solve and evaluate, and judge both claims from exact numbers."""
    cases = cases_of(settings)
    regrets: dict[str, dict[int, dict[str, float]]] = {}
    for k, case in enumerate(cases.values()):
        regrets[case.name] = {horizon: regrets_of(case, horizon) for horizon in case.horizons}
        context.progress((0.05, 0.13, 0.78, 0.86)[k])
    searched = {key: cases[key] for key in ("wide", "free")}
    deeper = {case.name: by_depth(case, settings) for case in searched.values()}
    context.progress(0.98)
    free = cases["free"].name
    return Outcome(
        text=text(deeper, settings.depth_horizon) + short_of_memory(settings, cases),
        numbers={
            "regret": {name: _keyed(rows) for name, rows in regrets.items()},
            "regret_by_depth": {name: _keyed(rows) for name, rows in deeper.items()},
        },
        drawings=[
            *(horizon_drawing(key, case, regrets[case.name]) for key, case in cases.items()),
            *(
                depth_drawing(settings, deeper[case.name], f"depth-{key}", case.name)
                for key, case in searched.items()
            ),
            regions(settings.region_horizon),
        ],
        tables=[
            *(horizon_table(case, regrets[case.name]) for case in cases.values()),
            *(depth_table(name, found) for name, found in deeper.items()),
        ],
        claims=[
            _depth_claim(_changes(deeper[free], free), deeper[free]),
            _regret_claim(regrets[cases["discounts"].name], cases["discounts"].name),
        ],
    )


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
    down, up = min(changes, key=lambda c: c.percent), max(changes, key=lambda c: c.percent)
    deepest = max(found)
    commit = [above(found[d]["commit"], found[d]["optimum"]) for d in (1, deepest)]
    return Claim(
        "C3 exact",
        "Longer lookahead, 1 to 10 steps, makes virtually no difference to the regret (plain Bernoulli).",
        minus(f"change from {down.percent:+.1f} % ({down.label}) to {up.percent:+.1f} % ({up.label})"),
        verdict,
        in_short,
        f"True of the separable value, not of search: on the commit value depth {deepest} brings the regret "
        f"from {commit[0]:.2f} % to {least(commit[1])} % above the optimum.",
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
        f"horizons {in_a_row(list(rows))}",
        verdict,
        in_short,
        f"With T = {horizon} less regret than ELSV-Gittins: {told}."
        if ahead
        else "No rival has less regret.",
        LEAST_REGRET,
    )


def _keyed(rows: Mapping[int, Any]) -> dict[str, Any]:
    return {str(key): value for key, value in rows.items()}


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
