"""Figure 5 at its own horizon, exactly: policies beside the optimum (claims C4 and C6 without error bars).

Three arms have 9·10¹¹ states up to T = 290, so that this was computed on a GPU once; the results are kept in
``long_horizon.json`` with how they were computed, and computed again with ``elsv reproduce --device cuda``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import Any

import numpy as np

from elsv.exact import evaluate
from elsv.exact.solve import largest_reward
from elsv.paper import base, claims
from elsv.paper.base import Context, Drawing, Experiment, Outcome, Table
from elsv.paper.claims import MINE, Claim, claim, in_a_row, words
from elsv.paper.optimum import above
from elsv.problem import Problem
from elsv.report import figures
from elsv.state import State

POLICIES = {"optimum": "optimal"} | base.policies(
    *(MINE, "ELSV-UCB", "ELSV-UCB × 0.4", "Bayes-UCB", "Gittins", "UCB", "UCB × 0.4", "greedy on the belief")
)
_DRAWN = ("optimum", MINE, "Gittins", "Bayes-UCB", "ELSV-UCB", "UCB", "arm 1 always")
_say = partial(words, "long-horizon")
Rows = dict[int, dict[str, float]]  # horizon: label: regret


@dataclass(frozen=True)
class Settings:
    """The rewards of both problems, the paper's first, and the horizons, its own last."""

    problems: tuple[tuple[float, ...], ...] = ((0.8, 0.9, 1.0), (0.4, 0.7, 1.0))
    horizons: tuple[int, ...] = (100, 200, 290)


def run(settings: Settings, context: Context) -> Outcome:
    """Show the exact regrets and judge both claims."""
    known, paper, last = kept(), settings.problems[0], settings.horizons[-1]
    regrets: dict[tuple[float, ...], Rows] = known["regrets"]
    if context.device != "cpu":
        cases = tuple((rewards, t) for rewards in settings.problems for t in settings.horizons)
        regrets = computed(cases, context.device, context.progress)
    shown = {r: {t: regrets[r][t] for t in settings.horizons if t in regrets[r]} for r in settings.problems}
    row = shown[paper][last]
    leads, ahead = claims.exact_leads(shown[paper], last)
    measured = _say("regret", row=row, rewards=in_a_row(paper))
    why = _say("ahead", told=ahead) if ahead else claims.NOBODY_AHEAD
    return Outcome(
        text=_text(row, last, known["about"], context.device),
        numbers={
            "regret": {in_a_row(r): {str(t): row for t, row in rows.items()} for r, rows in shown.items()},
            "plan": known["plan"],
        },
        drawings=[_drawing(shown)],
        tables=[*(_table(rewards, rows) for rewards, rows in shown.items()), _plan_table(known)],
        claims=[
            claim(f"C4 at T = {last}", claims.least_regret(leads), measured, why),
            _far_better(row, last),
        ],
    )


def kept() -> dict[str, Any]:
    """Return what the results file holds: how it was computed, and regrets by rewards and horizon."""
    text = files("elsv.paper").joinpath("long_horizon.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    regrets: dict[tuple[float, ...], Rows] = {}
    for row in data["regrets"]:
        by_label = regrets.setdefault(tuple(row["rewards"]), {}).setdefault(row["horizon"], {})
        by_label[row["label"]] = row["regret"]
    for rewards, rows in regrets.items():
        for horizon, row in rows.items():
            row |= always(rewards, horizon)
    return {"about": data["about"], "regrets": regrets, "plan": data["plan"]}


def always(rewards: tuple[float, ...], horizon: int) -> dict[str, float]:
    """Return the regret of always pulling each arm."""
    problem = Problem(rewards, "decreasing", horizon)
    means, largest = problem.belief.mean(State.initial(problem)), largest_reward(problem)
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
            row[label] = evaluate(Problem(rewards, "decreasing", horizon), name, device=device)[0].regret
            done += 1
            progress(done / total)
        row |= always(rewards, horizon)
    return found


def _text(row: dict[str, float], horizon: int, about: dict[str, str], device: str) -> str:
    best = min((label for label in row if label.endswith("always")), key=lambda label: row[label])
    how = _say("kept", **about) if device == "cpu" else _say("computed")
    said: dict[str, Any] = {"fixed": row[best], "gain": row[best] - row["optimum"]}
    return _say("text", row=row, horizon=horizon, how=how, best=best, **said)


def _drawing(shown: dict[tuple[float, ...], Rows]) -> Drawing:
    panels = {}
    for rewards, rows in shown.items():
        series = {k: np.array([row.get(k, np.nan) for row in rows.values()]) for k in _DRAWN}
        panels[f"rewards {in_a_row(rewards)}"] = (np.array(list(rows)), series, None)
    figure = figures.line_panels(
        panels, x_label="horizon T", y_label="exact Bayes regret", log_y=True, style=figures.styles(_DRAWN)
    )
    return Drawing("horizons", figure, _say("drawn"))


def _table(rewards: tuple[float, ...], rows: Rows) -> Table:
    labels = [*POLICIES, *(f"arm {i + 1} always" for i in range(len(rewards)))]
    order = sorted(labels, key=lambda label: rows[max(rows)].get(label, np.inf))
    body = []
    for label in order:
        cells = [label]
        for row in rows.values():
            apart = "" if label == "optimum" else f"{above(row, label):.1f} %"
            cells += [f"{row[label]:.4f}", apart] if label in row else ["", ""]
        body.append(cells)
    caption = _say("table", rewards=in_a_row(rewards))
    if any(label not in row for row in rows.values() for label in labels):
        caption += " Empty: not computed."
    headers = ["policy", *(head for t in rows for head in (f"T = {t}", "above"))]
    return Table(headers, body, caption, highlight=(order.index("optimum"),))


def _plan_table(known: dict[str, Any]) -> Table:
    body = []
    for row in known["plan"]:
        rewards, horizon, paths = row["rewards"], row["horizon"], row["paths"]
        optimum = known["regrets"][tuple(rewards)][horizon]["optimum"]
        shown, how = f"{100 * row['loss'] / optimum:.2f} %", "all states"
        if paths is not None:
            shown, how = f"{shown} ± {196 * row['error'] / optimum:.2f}", f"{paths:,} simulated paths"
        body.append([in_a_row(rewards), str(horizon), f"{optimum:.4f}", shown, how])
    heads = ["rewards", "T", "optimum: regret", "plan above it", "from"]
    return Table(heads, body, _say("plan"), "lrrrl")


def _far_better(last: dict[str, float], t: int) -> Claim:
    ratios = [
        claims.Ratio(f"T = {t}", label, last[mine] / last[rival], last[rival] - last[mine], 0.0)
        for label, (mine, rival) in base.PAIRS.items()
    ]
    shares = "; ".join(f"{r.label} {r.ratio:.3f}" for r in ratios)
    measured, why = _say("shares", shares=shares), _say("equal", row=last)
    return claim(f"C6 at T = {t}", claims.far_better(ratios), measured, why)


EXPERIMENT = Experiment(
    "long-horizon", "The paper's own horizon, exactly (Figure 5)", run, Settings(), Settings(), weight=1
)
