"""A rehearsal as a figure and as one page."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from elsv.report import figures
from elsv.report.page import Page, words
from elsv.report.style import require_matplotlib
from elsv.simulation.rehearsal import Rehearsal

_MOST_TICKS = 6
_say = partial(words, "elsv.report", "rehearsal")


def gain_figure(rehearsal: Rehearsal) -> Any:
    """Return the gain over today's arm by customers; the band holds the middle 90 of 100 shops."""
    rows = {name: [row for row in rehearsal.outcomes if row.policy == name] for name in rehearsal.policies}
    sizes = np.array(rehearsal.sizes, dtype=np.float64)
    figure = figures.lines(
        sizes,
        {name: [row.gain for row in some] for name, some in rows.items()},
        x_label="customers",
        y_label=f"gain ({rehearsal.unit})" if rehearsal.unit else "gain",
        x_ticks=rehearsal.sizes if len(rehearsal.sizes) <= _MOST_TICKS else None,
        markers=True,
        reference=(0.0, f"always {rehearsal.today}"),
    )
    (panel,) = figure.axes
    first = rows[rehearsal.policies[0]]
    band = [row.low for row in first], [row.high for row in first]
    panel.fill_between(sizes, *band, color=panel.lines[0].get_color(), alpha=0.15, linewidth=0)
    return figure


def rehearsal_page(rehearsal: Rehearsal, command: str = "") -> Page:
    """Return the page."""
    require_matplotlib()
    name = rehearsal.today
    single = f"{rehearsal.policies[0]} a" if len(rehearsal.policies) == 1 else "A"
    drawn = "shops drawn from the prior" if rehearsal.truth is None else "times in one given shop"
    page = Page(
        "Is a campaign worth it?",
        f"{single}gainst always {name}; {rehearsal.instances:,} {drawn}; seed {rehearsal.seed}.",
    )
    page.section("Result")
    first, *rest = rehearsal.answers()
    page.callout(first)
    for sentence in rest:
        page.text(sentence)
    if rehearsal.truth is None:
        page.text(rehearsal.shops())
    if len(rehearsal.sizes) > 1:
        svg = figures.for_page(gain_figure(rehearsal))
        page.figure(svg, _say("gain", today=name), "gain")
    said = "; ".join(f"*{column}*: {meaning}" for column, meaning in rehearsal.legend().items())
    heads = ["customers", "policy", "earns", "gain", "per cent", "5–95 % of shops", "loses", "finds", "after"]
    rows, align = [list(row.cells()) for row in rehearsal.outcomes], "rlrrrrrrr"
    if len(rehearsal.policies) == 1:  # it is named above
        heads, rows, align = heads[:1] + heads[2:], [row[:1] + row[2:] for row in rows], align[:1] + align[2:]
    page.table(heads, rows, f"{said}.", align=align)
    if rehearsal.truth is None:
        page.section("How precisely it will be known")
        heads = ["holdout", "costs", "gain known to ±", "by holdout alone ±"]
        page.table(heads, [list(row) for row in rehearsal.precision().cells()], _say("holdout"), "rrrr")
    page.settings(
        {
            "assumed": rehearsal.problem.structure.describe(),
            "outcomes": rehearsal.delays or "known before the next customer",
            "earnings": _say("earnings"),
        }
    )
    if command:
        page.text("This command repeats the rehearsal:")
        page.code(command)
    return page
