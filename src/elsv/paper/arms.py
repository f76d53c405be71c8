r"""More arms: does the lead of ELSV-Gittins over Gittins grow with N? (claim C5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from elsv.paper.base import Context, Drawing, Experiment, Outcome, Simulation, Table, columns_of, numbers_of
from elsv.paper.claims import GROWS, Claim, Verdict, grows, listed, minus
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


@dataclass(frozen=True)
class Settings:
    """Rewards evenly spaced from `least` to 1, decreasing means."""

    arms: tuple[int, ...] = (3, 5, 10, 20)
    least: tuple[float, ...] = (0.8, 0.4)
    horizon: int = 100
    instances: tuple[int, ...] = (2048, 1024, 512, 256)


Runs = Mapping[tuple[float, int], Comparison]


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
    names = [_ladder(least) for least in settings.least]
    table = [
        [found[least, n].difference("Gittins", "ELSV-Gittins") for n in settings.arms]
        for least in settings.least
    ]
    verdict, in_short = grows(table, names)
    overtaken = _overtaken(found)
    if overtaken and verdict is not Verdict.NOT_REPRODUCED:
        verdict, in_short = Verdict.PARTLY, f"{in_short} against Gittins, not against {listed(overtaken)}"
    leads = "; ".join(
        f"{name}: " + ", ".join(minus(f"{lead:.1f} ± {half:.1f}") for lead, half in row)
        for name, row in zip(names, table, strict=True)
    )
    counts = ", ".join(map(str, settings.arms))
    claim = Claim(
        "C5",
        "The lead of ELSV-Gittins over the Gittins index grows with the number of arms.",
        f"lead for N = {counts}: {leads}",
        verdict,
        in_short,
        _why(found, settings),
        f"{GROWS}; in part as well if a rival that knows the order has clearly less regret at some N",
    )
    return Outcome(
        text=(
            f"Arms 1 … N with decreasing means and rewards evenly spaced up to 1, {settings.horizon} steps, "
            f"means drawn from the ordered prior, exact beliefs. Two ladders: {listed(names)}. Gittins "
            "ignores the order and treats every arm as new; the other policies know it."
        ),
        numbers={
            f"{_ladder(least)}, N = {n}": {
                **numbers_of(c, POLICIES),
                "lead_over_gittins": list(c.difference("Gittins", "ELSV-Gittins")),
            }
            for (least, n), c in found.items()
        },
        drawings=[_drawing(settings, found)],
        tables=[_table(settings, found)],
        claims=[claim],
        columns=columns_of({f"{_ladder(least)}, N = {n}": c for (least, n), c in found.items()}),
    )


def _ladder(least: float) -> str:
    return f"rewards {least:g} to 1"


def _overtaken(found: Runs) -> list[str]:
    """Return the rivals that know the order and have clearly less regret somewhere."""
    return [
        rival
        for rival in _RIVALS
        if any(
            c.difference(rival, "ELSV-Gittins")[0] < -c.difference(rival, "ELSV-Gittins")[1]
            for c in found.values()
        )
    ]


def _why(found: Runs, settings: Settings) -> str:
    parts = []
    for least in settings.least:
        c = found[least, settings.arms[-1]]
        regrets = ", ".join(
            f"{name} {c[name].mean[-1]:.2f}" for name in ("Gittins", "ELSV-Gittins", *_RIVALS)
        )
        parts.append(f"{_ladder(least)}, N = {settings.arms[-1]}: {regrets}")
    return "Gittins pays for trying every arm. Regret for the most arms: " + "; ".join(parts) + "."


def _drawing(settings: Settings, found: Runs) -> Drawing:
    panels = {
        _ladder(least): (
            settings.arms,
            {name: [float(found[least, n][name].mean[-1]) for n in settings.arms] for name in POLICIES},
            {name: [float(found[least, n][name].ci95[-1]) for n in settings.arms] for name in POLICIES},
        )
        for least in settings.least
    }
    figure = figures.line_panels(
        panels,
        x_label="number of arms",
        y_label=f"regret after {settings.horizon} steps",
        log_y=True,
        share_y=True,
        height=2.9,
    )
    return Drawing(
        "by-arms",
        figure,
        f"Regret after {settings.horizon} steps by number of arms, logarithmic scale, 95 % bands; instances "
        f"for N = {', '.join(map(str, settings.arms))}: {', '.join(f'{n:,}' for n in settings.instances)}.",
    )


def _table(settings: Settings, found: Runs) -> Table:
    rows: list[list[Cell]] = []
    for (least, n), c in found.items():
        lead, half = c.difference("Gittins", "ELSV-Gittins")
        share = 100 * lead / float(c["Gittins"].mean[-1])
        cells = [f"{c[name].mean[-1]:.2f} ± {c[name].ci95[-1]:.2f}" for name in POLICIES]
        ahead = [minus(f"{lead:.2f} ± {half:.2f}"), minus(f"{share:.0f} %")]
        rows.append([f"{least:g} to 1", n, *cells, *ahead])
    return Table(
        ["rewards", "N", *POLICIES, "lead over Gittins", "in %"],
        rows,
        f"Regret after {settings.horizon} steps, and the paired lead of ELSV-Gittins over Gittins, absolute "
        "and in percent of Gittins' regret.",
        "l" + "r" * (len(POLICIES) + 3),
    )


EXPERIMENT = Experiment(
    "arms",
    "More arms",
    run,
    Settings(),
    Settings(arms=(3, 5, 10), instances=(512, 256, 256), horizon=60),
    weight=9,
)
