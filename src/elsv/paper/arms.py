r"""More arms: does the lead of ELSV-Gittins over Gittins grow with N? (claim C5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from elsv.paper import base
from elsv.paper.base import Context, Drawing, Outcome, Simulation, Table
from elsv.paper.claims import Claim, Verdict, claim, grows, in_a_row, listed, minus, words
from elsv.problem import Problem
from elsv.report import figures
from elsv.report.page import Cell
from elsv.simulation.compare import Comparison

POLICIES = {
    "ELSV-Gittins": "elsv:index=gittins",
    "Gittins": "gittins",
    "TS constrained": "thompson",
    "greedy on the belief": "greedy",
    "arm 1 always": "fixed:arm=1",
}
_RIVALS = ("TS constrained", "greedy on the belief", "arm 1 always")
_say = partial(words, "arms")


@dataclass(frozen=True)
class Settings:
    """Rewards evenly spaced from `least` to 1, decreasing means."""

    arms: tuple[int, ...] = (3, 5, 10, 20)
    least: tuple[float, ...] = (0.8, 0.4)
    horizon: int = 100
    instances: tuple[int, ...] = (2048, 1024, 512, 256)


Runs = Mapping[tuple[float, int], Comparison]
Leads = Mapping[tuple[float, int], tuple[float, float]]


def run(settings: Settings, context: Context) -> Outcome:
    """Compare for every number of arms and both ladders of rewards."""
    found = context.compare_all(
        {
            (least, arms): Simulation(
                Problem(rewards=np.linspace(least, 1, arms), order="decreasing", horizon=settings.horizon),
                POLICIES,
                instances,
                weight=arms,
            )
            for least in settings.least
            for arms, instances in zip(settings.arms, settings.instances, strict=True)
        }
    )
    leads = {key: c.difference("Gittins", "ELSV-Gittins") for key, c in found.items()}
    ladders = {least: f"rewards {least:g} to 1" for least in settings.least}
    named = {f"{ladders[least]}, N = {n}": (least, n) for least, n in found}
    return Outcome(
        text=_say("text", s=settings, ladders=listed(ladders.values())),
        numbers={
            name: {**base.numbers_of(found[key], POLICIES), "lead_over_gittins": list(leads[key])}
            for name, key in named.items()
        },
        drawings=[_drawing(settings, found, ladders)],
        tables=[_table(settings, found, leads)],
        claims=[_claim(settings, found, leads, ladders)],
        columns=base.columns_of({name: found[key] for name, key in named.items()}),
    )


def _claim(settings: Settings, found: Runs, leads: Leads, ladders: Mapping[float, str]) -> Claim:
    rows = [[leads[least, n] for n in settings.arms] for least in ladders]
    verdict, in_short = grows(rows, list(ladders.values()))
    apart = {rival: [c.difference(rival, "ELSV-Gittins") for c in found.values()] for rival in _RIVALS}
    overtaken = [rival for rival, row in apart.items() if any(x < -half for x, half in row)]
    if overtaken and verdict is not Verdict.NOT_REPRODUCED:
        verdict, in_short = Verdict.PARTLY, f"{in_short} against Gittins, not against {listed(overtaken)}"
    told = [", ".join(minus(f"{lead:.1f} ± {half:.1f}") for lead, half in row) for row in rows]
    measured = "; ".join(f"{name}: {row}" for name, row in zip(ladders.values(), told, strict=True))
    most, regrets = settings.arms[-1], []
    for least, name in ladders.items():
        last = {label: found[least, most][label].mean[-1] for label in ("Gittins", "ELSV-Gittins", *_RIVALS)}
        each = ", ".join(f"{label} {regret:.2f}" for label, regret in last.items())
        regrets.append(f"{name}, N = {most}: {each}")
    return claim(
        "C5",
        (verdict, in_short),
        _say("measured", arms=in_a_row(settings.arms), leads=measured),
        _say("why", regrets="; ".join(regrets)),
    )


def _drawing(settings: Settings, found: Runs, ladders: Mapping[float, str]) -> Drawing:
    panels = {}
    for least, ladder in ladders.items():
        runs = [found[least, n] for n in settings.arms]
        means = {name: [float(c[name].mean[-1]) for c in runs] for name in POLICIES}
        halves = {name: [float(c[name].ci95[-1]) for c in runs] for name in POLICIES}
        panels[ladder] = settings.arms, means, halves
    figure = figures.line_panels(
        panels,
        x_label="number of arms",
        y_label=f"regret after {settings.horizon} steps",
        log_y=True,
        share_y=True,
        height=2.9,
    )
    instances = ", ".join(f"{n:,}" for n in settings.instances)
    caption = _say("drawn", s=settings, arms=in_a_row(settings.arms), instances=instances)
    return Drawing("by-arms", figure, caption)


def _table(settings: Settings, found: Runs, leads: Leads) -> Table:
    rows: list[list[Cell]] = []
    for (least, n), c in found.items():
        lead, half = leads[least, n]
        share = 100 * lead / float(c["Gittins"].mean[-1])
        ahead = [minus(f"{lead:.2f} ± {half:.2f}"), minus(f"{share:.0f} %")]
        rows.append([f"{least:g} to 1", n, *(base.final(c, name) for name in POLICIES), *ahead])
    heads = ["rewards", "N", *POLICIES, "lead over Gittins", "in %"]
    return Table(heads, rows, _say("table", s=settings))


EXPERIMENT = base.Experiment(
    "arms",
    "More arms",
    run,
    Settings(),
    Settings(arms=(3, 5, 10), instances=(512, 256, 256), horizon=60),
    weight=9,
)
