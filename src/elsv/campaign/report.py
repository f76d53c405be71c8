"""A campaign's status as one self-contained page, in short first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from elsv.campaign.status import Status
from elsv.report import figures
from elsv.report.page import Page
from elsv.report.style import WIDTH, new_figure, redrawable, require_matplotlib, styles

Course = Sequence[tuple[int, int, int, int]]  # last customer of a part, arm, decisions, successes

_METHOD = (
    "Gains are given by all that is known (outcomes, structure, prior, history), by this campaign's outcomes "
    "alone (an interval that holds for any policy and however often one looks), and by holdout where there "
    "is one. Reports of earlier versions took them from logged probabilities, and their figures differ."
)


def report_page(status: Status, course: Course) -> Page:
    """Return the page; `course` are the decisions in parts, by `elsv.campaign.log.course`."""
    require_matplotlib()
    planned = "" if status.customers is None else f" of {status.customers:,}"
    page = Page(
        f"Campaign {status.name}",
        f"{status.phase.capitalize()}: {status.decided:,}{planned} customers, "
        f"{status.under_way:,} outcomes under way; {status.at[:16].replace('T', ' ')} UTC.",
    )
    page.section("In short")
    page.callout("\n\n".join(status.sentences()))
    if status.notes():
        page.text("\n\n".join(status.notes()))
    for doubt in status.doubts:
        page.callout(doubt.words, "bad")
    for table in status.tables():
        page.section(table.title)
        if table.title == "Arms":
            words = "Expected earnings of one customer by arm, with 95 % intervals, by all that is known."
            page.figure(figures.for_page(_intervals(status)), words, "arms")
        page.table(table.heads, table.rows, table.caption, table.align, table.best)
    if course:
        _course(page, status, course)
    page.section("Settings")
    page.settings(
        {
            "policy": f"`{status.policy}`",
            "window": f"{status.window} for an outcome",
            "floor": f"{100 * status.floor:g} % of the customers at least for every arm",
            "holdout": f"{100 * status.holdout:g} % of the customers get the control arm",
            "assumed": status.assumed,
        }
    )
    page.text(_METHOD)
    return page


def _course(page: Page, status: Status, course: Course) -> None:
    page.section("Course")
    ends = sorted({end for end, *_ in course})
    given = np.zeros((len(ends), len(status.arms)))
    earned = np.zeros(len(ends))
    for end, arm, count, successes in course:
        given[ends.index(end), arm] += count
        earned[ends.index(end)] += successes * status.arms[arm].reward
    x = np.array([0, *ends])
    totals = np.vstack([np.zeros(len(status.arms)), given.cumsum(axis=0)])
    names = [arm.name for arm in status.arms]
    each = {name: totals[:, i] for i, name in enumerate(names)}
    label = "customers of each arm"
    drawn = figures.lines(x, each, None, x_label="customers", y_label=label, style=styles(names))
    page.figure(figures.for_page(drawn), "Who got which arm: customers of each arm.", "course")
    total = np.concatenate(([0.0], earned.cumsum()))
    label = f"earned ({status.unit})" if status.unit else "earned"
    drawn = figures.lines(x, {"campaign": total}, None, x_label="customers", y_label=label)
    words = "Earnings by customer; the last ones may still have outcomes under way."
    page.figure(figures.for_page(drawn), words, "earnings")


@redrawable
def _intervals(status: Status, *, width: float = WIDTH, axes: None = None) -> Any:
    """Draw the expected earnings of each arm with its interval, in the arms' own order."""
    arms, look = status.arms, styles(arm.name for arm in status.arms)
    figure = new_figure(width, 0.7 + 0.32 * len(arms))
    panel = figure.subplots()
    for row, arm in enumerate(arms):
        colour = look[arm.name].colour
        panel.plot([arm.reward * arm.low, arm.reward * arm.high], [row, row], color=colour, linewidth=2.2)
        panel.plot([arm.worth], [row], "o", color=colour, markersize=6)
    panel.set_yticks(range(len(arms)), [arm.name for arm in arms])
    panel.set_ylim(len(arms) - 0.5, -0.5)
    panel.set_xlim(left=0)
    panel.grid(True, axis="x")
    panel.grid(False, axis="y")
    panel.set_xlabel(f"expected earnings of one customer{f' ({status.unit})' if status.unit else ''}")
    return figure
