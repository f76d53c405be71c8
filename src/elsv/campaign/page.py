"""A campaign as one self-contained page: what was earned, arm by arm, and three sentences at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from elsv._base.numbers import with_minus
from elsv.campaign.status import Status
from elsv.report import figures
from elsv.report.page import Page
from elsv.report.style import WIDTH, new_figure, redrawable, require_matplotlib, styles

Course = Sequence[tuple[int, int, int, int]]  # last customer of a part, arm, decisions, successes


def campaign_page(status: Status, course: Course) -> Page:
    """Return the page; `course` are the decisions in parts, by `elsv.campaign.log.course`."""
    require_matplotlib()
    planned = "" if status.customers is None else f" of {status.customers:,}"
    page = Page(
        f"Campaign {status.name}",
        f"{status.phase.capitalize()}: {status.decided:,}{planned} customers, "
        f"{status.under_way:,} outcomes under way; {status.at[:16].replace('T', ' ')} UTC.",
    )
    _earnings(page, status)
    _arms(page, status)
    if course:
        _course(page, status, course)
    _settings(page, status)
    page.section("In short")
    page.callout("\n\n".join(status.sentences()))
    return page


def _earnings(page: Page, status: Status) -> None:
    page.section("Earnings")
    page.text(f"**{status.money(status.earned)}** earned so far.")
    if status.gains:
        rows = [
            [
                gain.name,
                status.money(gain.gain, True),
                with_minus(f"{gain.low:+,.2f} to {gain.high:+,.2f}"),
                None if gain.percent is None else with_minus(f"{gain.percent:+.1f} %"),
                "logged probabilities" if gain.method == "log" else "what is believed by now",
            ]
            for gain in status.gains
        ]
        page.table(
            ["against", "gain", "95 % interval", "per cent", "estimated from"],
            rows,
            "What the campaign earned more than these would have, over the outcomes that are known.",
            align="wrrrl",
        )
    if status.left and status.ahead is not None and status.to_learn is not None:
        page.text(
            f"{status.left:,} customers are left. With the arm that is best by now they bring about "
            f"{status.money(status.ahead)}; knowing more could add {status.money(status.to_learn)} at most."
        )


def _arms(page: Page, status: Status) -> None:
    page.section("Arms")
    page.figure(
        figures.for_page(_intervals(status)),
        "Expected earnings of one customer by arm, with 95 % intervals: what a success pays times how often "
        "it happens, by all that is known.",
        "arms",
    )
    best = _best_of_each(status)
    if status.segments:
        page.table(
            ["segment", "of those to come", "customers", "under way", "earned", "best arm", "probability"],
            [
                [
                    s.name,
                    f"{100 * s.share:.3g} %",
                    s.decided,
                    s.under_way,
                    status.money(s.earned),
                    s.leader,
                    f"{100 * s.best:.0f} %",
                ]
                for s in status.segments
            ],
            "Segments of customers. Only the arms of a segment are on offer to its customers.",
            align="lrrrrlr",
        )
    page.table(
        ["arm", "conversion", "95 % interval", "earns", "is best"],
        [
            [
                arm.name,
                f"{100 * arm.conversion:.1f} %",
                f"{100 * arm.low:.1f} – {100 * arm.high:.1f} %",
                status.worth(arm),
                f"{100 * arm.best:.0f} %",
            ]
            for arm in status.arms
        ],
        "What is known of every arm by now: how often it succeeds, what one customer earns, and the "
        "probability that no other arm earns more.",
        align="lrrrr",
        highlight=best,
    )
    page.table(
        ["arm", "customers", "successes", "failures", "expired", "under way"],
        [[a.name, a.decided, a.successes, a.failures, a.expired, a.under_way] for a in status.arms],
        "Customers and their outcomes. Expired: none came in time, which counts as a failure.",
        align="lrrrrr",
    )
    if status.doubt is not None:
        if status.contradicted:
            page.callout(
                f"The outcomes speak **against** what is assumed ({status.assumed}): they are "
                f"{status.doubt:,.0f} times likelier without it. Check that they are booked on the right "
                "arms; if they are, leave the assumption out or soften it with a mixture.",
                "bad",
            )
        else:
            page.text(f"Assumed: {status.assumed}. The outcomes do not speak against it.")


def _best_of_each(status: Status) -> tuple[int, ...]:
    """Return the arm that earns most, of each segment if there are some."""
    found: dict[str | None, int] = {}
    for i, arm in enumerate(status.arms):
        if arm.segment not in found or arm.worth > status.arms[found[arm.segment]].worth:
            found[arm.segment] = i
    return tuple(found.values())


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
    drawn = figures.lines(
        x,
        {name: totals[:, i] for i, name in enumerate(names)},
        None,
        x_label="customers",
        y_label="customers of each arm",
        style=styles(names),
    )
    page.figure(figures.for_page(drawn), "Who got which arm: customers of each arm so far.", "course")
    total = np.concatenate(([0.0], earned.cumsum()))
    label = f"earned ({status.unit})" if status.unit else "earned"
    drawn = figures.lines(x, {"campaign": total}, None, x_label="customers", y_label=label)
    page.figure(
        figures.for_page(drawn),
        "Earnings by customer; the last ones may still have outcomes under way.",
        "earnings",
    )


def _settings(page: Page, status: Status) -> None:
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
