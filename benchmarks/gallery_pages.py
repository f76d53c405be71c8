"""The tables and pictures of docs/gallery.md, from what `benchmarks.gallery` measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.shared import plus_minus, table
from elsv import Problem, State
from elsv._base.files import write_text
from elsv.report._drawing import draw_lines, name_lines
from elsv.report.figures import styles, to_svg
from elsv.report.style import INK, SOFT_INK, Style, new_figure, styled

WIDE, TALL = 8.0, 3.2  # inches
DRAWS = 14  # of means, in a picture of what is known
WITHOUT, MIXED = "plan, nothing known", "plan, probably"
ASSUMED = ("plan", MIXED, WITHOUT)
TITLES = {
    "discounts": "discounts",
    "ladder": "40 prices",
    "curve": "demand curve",
    "doses": "doses",
    "contacts": "contacts",
    "tiers": "tier × discount",
    "segments": "segments",
}
# What the arms are, what a success is, who comes.
AXES = {
    "discounts": ("", "probability of a sale", "customer"),
    "ladder": ("price", "probability of a sale", "customer"),
    "curve": ("price", "probability of a sale", "customer"),
    "doses": ("", "probability of no harm", "patient"),
    "contacts": ("letters a month", "probability of an order", "customer"),
    "tiers": ("", "probability of a sale", "customer"),
    "segments": ("", "probability of a sale", "customer"),
}
ROWS = {"tiers": ("gold", "basic"), "segments": ("returning", "new")}
_ROWS = ("#0072B2", "#D55E00")


def draw(name: str, problem: Problem, labels: Sequence[str], found: dict[str, Any], path: Path) -> None:
    """Write the picture of one problem."""
    figure = picture(name, problem, labels, found)
    write_text(path, '<?xml version="1.0" encoding="utf-8"?>\n' + to_svg(figure) + "\n")


@styled()
def picture(name: str, problem: Problem, labels: Sequence[str], found: dict[str, Any]) -> Any:
    """Return a figure of what a structure says, and of the regret with and without it."""
    figure = new_figure(WIDE, TALL)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.25))
    _known(left, problem, labels, ROWS.get(name, ("",)))
    _regrets(right, found)
    for axes, said in zip((left, right), AXES[name][::2], strict=True):
        axes.set_xlabel(said)
    left.set_ylabel(AXES[name][1])
    return figure


def _known(axes: Any, problem: Problem, labels: Sequence[str], rows: tuple[str, ...]) -> None:
    """Draw means that the structure allows, row by row where there are rows."""
    means = problem.belief.draw(State.initial(problem, (DRAWS,)), np.random.default_rng(4))
    mean = problem.belief.mean(State.initial(problem))
    x = np.arange(len(labels))
    for k, row in enumerate(rows):
        own = slice(k * len(labels), (k + 1) * len(labels))
        thin, thick = (SOFT_INK, INK) if len(rows) == 1 else (_ROWS[k], _ROWS[k])
        axes.plot(x, means[:, own].T, color=thin, linewidth=0.8, alpha=0.5)
        axes.plot(x, mean[own], color=thick, linewidth=2.4)
        axes.text(x[0] + 0.05, mean[own][0] + 0.03, row, color=thick, weight="bold")
    few = x if len(x) <= 8 else np.linspace(0, len(x) - 1, 5).astype(int)
    axes.set_xticks(few, [labels[k] for k in few])
    axes.set_ylim(0, 1)
    axes.set_title(f"What is known: {DRAWS} possible worlds")


def _regrets(axes: Any, found: dict[str, Any]) -> None:
    names = [name for name in found["curves"] if name in ("plan", "elsv", "thompson", "ids", WITHOUT)]
    look = styles(names) | {WITHOUT: Style("#6b7078", (0, (6, 1.5, 1.4, 1.5)))}
    series = {name: found["curves"][name] for name in names}
    bands = {name: found["bands"][name] for name in names}
    drawn = draw_lines(axes, found["steps"], series, bands, look, False, False, False)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("regret")
    axes.set_title("What is lost, with 95 % bands")
    name_lines(axes, drawn, {name: values[-1] for name, values in series.items()}, "ends", own=False)


def tables(known: dict[str, Any]) -> str:
    """Return the tables of the page."""
    chosen = {name: known[name] for name in TITLES if name in known}
    parts = [_saves(chosen), _rivals(chosen), _costs(chosen), _exact(chosen)]
    return "\n\n".join([*parts, *(_sharing(one) for one in chosen.values() if "separate" in one["regret"])])


def _saves(known: dict[str, Any]) -> str:
    rows = []
    for name, one in known.items():
        without, (less, half) = one["regret"][WITHOUT], one["plan_less"][WITHOUT]
        saved = f"{plus_minus([-less, half])}, {-100 * less / without[0]:.0f} %"
        rows.append([*_sized(name, one), plus_minus(one["regret"]["plan"]), plus_minus(without), saved])
    heads = ["problem", "arms", "T", "`plan`, knowing it", "`plan`, nothing known", "saved"]
    return table(heads, rows)


def _rivals(known: dict[str, Any]) -> str:
    rows = []
    for name, one in known.items():
        pairs = [one["plan_less"][rival] for rival in ("elsv", "thompson", "ids")]
        worse = any(less - half > 0 for less, half in pairs)
        cells = [plus_minus(pair) for pair in (one["regret"]["plan"], *pairs)]
        rows.append([TITLES[name], *cells, "yes" if worse else "no"])
    heads = ["problem", "`plan`", "less `elsv`", "less `thompson`", "less `ids`", "worse than one of them?"]
    return table(heads, rows, words=(0, 5))


def _costs(known: dict[str, Any]) -> str:
    rows = [
        [TITLES[name], *(plus_minus(one["wrong"][key]) if key in one["wrong"] else "" for key in ASSUMED)]
        for name, one in known.items()
    ]
    return table(
        ["problem", "`plan`, assuming it", "assuming it with probability 0.9", "nothing known"], rows
    )


def _exact(known: dict[str, Any]) -> str:
    rows = []
    for name, one in known.items():
        if "exact" in one:
            regret = one["exact"]["regret"]
            cells = [f"{regret[key]:.4f}" for key in ("optimal", "plan", "elsv", "finite-gittins")]
            saved = f"{100 * (1 - regret['optimal'] / regret['finite-gittins']):.0f} %"
            rows.append([*_sized(name, one["exact"]), *cells, saved])
    heads = "problem", "arms", "T", "optimum", "`plan`", "`elsv`", "`finite-gittins`, arm by arm", "saved"
    return table(heads, rows)


def _sharing(one: dict[str, Any]) -> str:
    less = {"plan": "", **{name: plus_minus(one["plan_less"][name]) for name in ("separate", "pooled")}}
    rows = [[f"`{name}`", plus_minus(one["regret"][name]), cell] for name, cell in less.items()]
    return table(["policy", "regret", "`plan` less it"], rows)


def _sized(name: str, one: dict[str, Any]) -> list[str]:
    return [TITLES[name], str(one["arms"]), str(one["horizon"])]
