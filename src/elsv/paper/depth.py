r"""Figure 4 of the paper: does deeper lookahead help? Plain Bernoulli bandits, 3 arms (claim C3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from elsv.paper import base
from elsv.paper.base import Context, Drawing, Outcome, Simulation, Table
from elsv.paper.claims import Change, Claim, claim, minus, no_difference, words
from elsv.problem import Problem
from elsv.report import figures
from elsv.report.page import Cell
from elsv.simulation.compare import Comparison
from elsv.simulation.instances import grid

VALUES = {"Gittins": "index=gittins", "UCB": "index=ucb,scale=0.4"}
AUTHORS_VALUES = {
    "Gittins": "index=gittins,belief=rejection,draws=100",
    "UCB": "index=ucb,count_prior=true,weight=0.4,belief=rejection,draws=100",
}
_say = partial(words, "depth")


@dataclass(frozen=True)
class Settings:
    """Three runs: depth 1 and 3 over the whole horizon, all depths over a shorter one, the authors' way."""

    horizon: int = 290
    depths: tuple[int, ...] = (1, 3)
    instances: int = 2048
    sweep_horizon: int = 100
    sweep_depths: tuple[int, ...] = (1, 2, 3, 5, 7, 10)
    sweep_instances: int = 512
    grid_points: int = 11
    authors_horizon: int = 100
    authors_depths: tuple[int, ...] = (1, 3)


def run(settings: Settings, context: Context) -> Outcome:
    """Run the three comparisons and judge the claim from the first two."""
    plain = Problem(rewards=[1.0, 1.0, 1.0], horizon=settings.horizon)
    ordered = Problem(rewards=[1.0, 1.0, 1.0], order="decreasing", horizon=settings.horizon)
    means = grid(3, settings.grid_points, "decreasing")
    shorter = {"until": settings.sweep_horizon}
    authors = {"until": settings.authors_horizon, "means": means}
    policies = {
        "whole": policies_of(VALUES, settings.depths),
        "sweep": policies_of(VALUES, settings.sweep_depths),
        "authors": policies_of(AUTHORS_VALUES, settings.authors_depths),
    }
    runs = {
        "whole": Simulation(plain, policies["whole"], settings.instances, 0.2),
        "sweep": Simulation(plain, policies["sweep"], settings.sweep_instances, 0.3, shorter),
        "authors": Simulation(ordered, policies["authors"], len(means), 0.5, authors),
    }
    found = context.compare_all(runs)
    titles = {
        name: _say(name, n=run.instances, steps=run.options.get("until", settings.horizon))
        for name, run in runs.items()
    }
    changes = {name: changes_to_depth_1(c, titles[name], policies[name]) for name, c in found.items()}
    rows: list[list[Cell]] = []
    for name, comparison in found.items():
        known = {c.label: minus(f"{c.percent:+.1f} ± {c.half_width:.1f} %") for c in changes[name]}
        rows += [
            [label, titles[name], base.final(comparison, label), known.get(label)] for label in policies[name]
        ]

    def curves(drawing: str, name: str) -> Drawing:
        labels, caption = list(policies[name]), _say(drawing, run=titles[name])
        return base.curves(drawing, found[name], labels, caption, list(policies["whole"]))

    heads = ["value, depth", "run", "regret ± 95 %", "change to depth 1, paired"]
    return Outcome(
        text=_say("text"),
        numbers={
            **{name: base.numbers_of(c, policies[name]) for name, c in found.items()},
            "changes": [vars(change) for rows in changes.values() for change in rows],
        },
        drawings=[
            curves("curves", "whole"),
            _by_depth(settings.sweep_depths, changes["sweep"], titles["sweep"]),
            curves("curves-authors", "authors"),
        ],
        tables=[Table(heads, rows, _say("table"), "lwrr")],
        claims=[_claim(changes["whole"] + changes["sweep"], changes["sweep"], changes["authors"])],
        columns=base.columns_of({titles[name]: c for name, c in found.items()}),
    )


def policies_of(values: dict[str, str], depths: Sequence[int]) -> dict[str, str]:
    """Return policies by label, such as ``Gittins, depth 3``."""
    return {
        f"{value}, depth {depth}": f"elsv:{parameters},depth={depth}"
        for value, parameters in values.items()
        for depth in depths
    }


def changes_to_depth_1(comparison: Comparison, setting: str, policies: dict[str, str]) -> list[Change]:
    """Return the paired change of regret from depth 1 to every other depth, in percent."""
    found = []
    for label in policies:
        first = label.partition(",")[0] + ", depth 1"
        if label != first:
            percent = 100 / max(comparison[first].final[0], 1e-12)
            difference, half = comparison.difference(label, first)
            found.append(Change(setting, label, percent * difference, percent * half))
    return found


def _by_depth(depths: Sequence[int], sweep: list[Change], title: str) -> Drawing:
    by_value = {value: [c for c in sweep if c.label.startswith(value + ",")] for value in VALUES}
    figure = figures.lines(
        depths,
        {value: [0.0, *(c.percent for c in rows)] for value, rows in by_value.items()},
        {value: [0.0, *(c.half_width for c in rows)] for value, rows in by_value.items()},
        x_label="depth of the lookahead",
        y_label="change of regret in %",
        markers=True,
        reference=(0.0, "depth 1"),
        height=3.0,
    )
    return Drawing("by-depth", figure, _say("by-depth", run=title))


def _claim(judged: list[Change], sweep: list[Change], authors: list[Change]) -> Claim:
    least, most = (pick(judged, key=lambda c: c.percent) for pick in (min, max))
    deepest = [c for c in sweep if c.label.endswith(sweep[-1].label.rpartition(" ")[2])]
    better, worse = (sum(sign * c.percent > c.half_width for c in judged) for sign in (-1, 1))
    counts = {"judged": len(judged), "better": better, "worse": worse}
    why = _say("why", least=least, most=most, authors=_shown(authors), **counts)
    measured = _say("measured", deepest=_shown(deepest))
    return claim("C3", no_difference(judged), minus(measured), minus(why))


def _shown(changes: Sequence[Change]) -> str:
    return "; ".join(f"{c.label} {c.percent:+.1f} ± {c.half_width:.1f} %" for c in changes)


EXPERIMENT = base.Experiment(
    "depth",
    "Depth of the lookahead (Figure 4)",
    run,
    Settings(),
    Settings(
        instances=512,
        sweep_depths=(1, 3, 10),
        sweep_instances=64,
        sweep_horizon=50,
        grid_points=6,
        authors_horizon=50,
    ),
    weight=9,
)
