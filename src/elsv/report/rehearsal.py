"""A rehearsal as a figure and as one page."""

from __future__ import annotations

from typing import Any

import numpy as np

from elsv._base.numbers import with_minus
from elsv.policies.single import choice_name
from elsv.report import figures
from elsv.report.page import Page
from elsv.report.style import require_matplotlib
from elsv.simulation.rehearsal import Outcome, spread_of
from elsv.simulation.rehearse import Rehearsal

_MOST_TICKS = 6


def gain_figure(rehearsal: Rehearsal) -> Any:
    """Return the gain over the present arm in per cent, by customers, with 95 % bands."""
    rows = {name: [row for row in rehearsal.outcomes if row.policy == name] for name in rehearsal.policies}
    return figures.lines(
        np.array(rehearsal.sizes, dtype=np.float64),
        {name: [row.percent for row in some] for name, some in rows.items()},
        {name: [100 * row.error / row.present for row in some] for name, some in rows.items()},
        x_label="customers",
        y_label="gain (%)",
        log_x=len(rehearsal.sizes) > 1,
        x_ticks=rehearsal.sizes if len(rehearsal.sizes) <= _MOST_TICKS else None,
        markers=True,
        reference=(0.0, f"always {choice_name(rehearsal.problem, rehearsal.against)}"),
    )


def rehearsal_page(rehearsal: Rehearsal, command: str = "") -> Page:
    """Return the page."""
    require_matplotlib()
    name = choice_name(rehearsal.problem, rehearsal.against)
    single = f"{rehearsal.policies[0]} a" if len(rehearsal.policies) == 1 else "A"
    page = Page(
        "Is a campaign worth it?",
        f"{single}gainst always {name}; {rehearsal.instances:,} shops drawn from the prior; "
        f"seed {rehearsal.seed}.",
    )
    page.section("Result")
    page.callout(rehearsal.recommendation())
    page.text(rehearsal.shops())
    svg = figures.for_page(gain_figure(rehearsal))
    page.figure(svg, f"Gain over always {name} by number of customers, with 95 % bands of the mean.", "gain")
    said = "; ".join(f"*{column}*: {meaning}" for column, meaning in rehearsal.legend().items())
    heads = ["customers", "policy", "earns", "gain", "per cent", "5–95 % of shops", "loses", "finds", "after"]
    rows, align = [_row(row) for row in rehearsal.outcomes], "rlrrrrrrr"
    if len(rehearsal.policies) == 1:  # it is named above
        heads, rows, align = heads[:1] + heads[2:], [row[:1] + row[2:] for row in rows], align[:1] + align[2:]
    page.table(heads, rows, f"{said}.", align=align)
    page.settings(
        {
            "assumed": rehearsal.problem.structure.describe(),
            "outcomes": rehearsal.delays or "known before the next customer",
            "earnings": "expected ones, given a shop's own conversions: luck of single customers is left out",
        }
    )
    if command:
        page.text("This command repeats the rehearsal:")
        page.code(command)
    return page


def _row(row: Outcome) -> list[str | int | float | None]:
    return [
        f"{row.customers:,}",
        row.policy,
        f"{row.earnings:,.2f}",
        with_minus(f"{row.gain:+,.2f} ") + ("exact" if row.exact else f"± {row.error:,.2f}"),
        with_minus(f"{row.percent:+.1f} %"),
        spread_of(row),
        f"{100 * row.losing:.0f} %",
        f"{100 * row.found:.0f} %",
        None if row.until is None else f"{row.until:,.0f}",
    ]
