"""How a campaign stands, in tables: the terminal, the report and files show the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from elsv._base.numbers import with_minus
from elsv.campaign.figures import BELIEF, HOLDOUT, OUTCOMES, Figures
from elsv.simulation.precision import HEADS

METHODS = {
    BELIEF: "all that is known",
    OUTCOMES: "this campaign's outcomes alone",
    HOLDOUT: "the held-out customers",
}
"""What a gain is estimated from, in words."""

_SHOWN_DAYS = 14  # in the terminal
_COUNTS = {
    "failures": "failures",
    "expired": "expired",
    "under way": "under_way",
    "late": "late",
    "void": "voided",
    "from before": "history",
}


@dataclass(frozen=True)
class Table:
    """Cells as text; the first column names the rows."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str
    align: str  # a letter for each column: l, r, or w for text that may wrap
    best: tuple[int, ...] = ()  # rows that are set off

    @classmethod
    def of(
        cls,
        title: str,
        caption: str,
        things: Sequence[Any],
        *columns: tuple[str, str, str | Callable[[Any], str]],
        best: tuple[int, ...] = (),
    ) -> Table:
        """Return a table with a row for each thing.

        A column has a head, a letter, and a format or function that makes a cell of a thing.
        """
        heads, letters, cells = zip(*columns, strict=True)
        rows = tuple(
            tuple(cell.format(thing) if isinstance(cell, str) else cell(thing) for cell in cells)
            for thing in things
        )
        return cls(title, heads, rows, caption, "".join(letters), best)

    def __str__(self) -> str:
        cells = (self.heads, *self.rows)
        wide = [max(len(row[k]) for row in cells) for k in range(len(self.heads))]
        return "\n".join(
            "  ".join(
                cell.rjust(room) if letter == "r" else cell.ljust(room)
                for cell, room, letter in zip(row, wide, self.align, strict=True)
            ).rstrip()
            for row in cells
        )


def tables_of(status: Figures) -> tuple[Table, ...]:
    """Return precision or gains, days, segments, arms, outcomes and changes."""
    found = []
    if status.gains:
        found.append(
            Table.of(
                "Gain",
                "What the campaign earned more than these would have, over the outcomes that are known.",
                status.gains,
                ("against", "w", "{0.name}"),
                ("by", "w", lambda gain: METHODS[gain.method]),
                ("gain", "r", lambda gain: status.near(gain.gain)),
                ("95 % interval", "r", status.between),
                ("per cent", "r", lambda g: "–" if g.percent is None else with_minus(f"{g.percent:+.1f} %")),
            )
        )
    if (known := status.precision) is not None:
        words = (
            f"How precisely {known.customers:,} customers will tell the gain over always {known.name}: "
            "what a holdout costs, and the half-widths of the 95 % intervals to expect."
        )
        found.append(Table("Precision", HEADS, tuple(known.cells()), words, "lrrr"))
    if status.days:
        found.append(
            Table.of(
                "Days",
                f"Days of {status.timezone}: who came, and what was reported.",
                status.days[-_SHOWN_DAYS:],
                ("day", "l", "{0.date}"),
                ("customers", "r", "{0.came:,}"),
                ("outcomes", "r", "{0.outcomes:,}"),
                (status.successes_word, "r", lambda day: f"{sum(day.successes):,}"),
                ("earned", "r", lambda day: status.money(status.earned_on(day))),
            )
        )
    if status.segments:
        found.append(
            Table.of(
                "Segments",
                "Segments of customers. Only the arms of a segment are on offer to its customers.",
                status.segments,
                ("segment", "l", "{0.name}"),
                ("of those to come", "r", lambda s: f"{100 * s.share:.3g} %"),
                ("customers", "r", "{0.decided:,}"),
                ("under way", "r", "{0.under_way:,}"),
                ("earned", "r", lambda s: status.money(s.earned)),
                ("earns most", "l", lambda s: status.first()[s.name].option),
                ("is best", "r", lambda s: f"{100 * s.best:.0f} %"),
            )
        )
    names = (("segment", "l", "{0.segment}"), ("option", "l", "{0.option}"))
    arms = Table.of(
        "Arms",
        "Every arm: what it brought, how often it succeeds by all that is known, what one customer is "
        "worth, and the probability that no other arm earns more.",
        status.arms,
        *(names if status.segments else [("arm", "l", "{0.name}")]),
        ("customers", "r", "{0.decided:,}"),
        (status.successes_word, "r", "{0.successes:,}"),
        ("earned", "r", lambda a: status.money(a.earned)),
        ("conversion", "r", lambda a: f"{100 * a.conversion:.1f} %"),
        ("95 % interval", "r", lambda a: f"{100 * a.low:.1f} – {100 * a.high:.1f} %"),
        ("worth", "r", status.worth),
        ("is best", "r", lambda a: "withdrawn" if a.withdrawn else f"{100 * a.best:.0f} %"),
        best=tuple(arm.arm for arm in status.first().values()),
    )
    outcomes = Table.of(
        "Outcomes",
        "Other outcomes. Expired: none came in time, which counts as a failure. Void: nobody saw the "
        "decision, which counts as nothing.",
        status.arms,
        ("arm", "l", "{0.name}"),
        *((head, "r", f"{{0.{field}:,}}") for head, field in _COUNTS.items()),
    )
    changes = Table.of(
        "Changes",
        f"History of changes: when ({status.timezone}), by whom, and what.",
        status.changes,
        ("when", "l", lambda change: f"{status.local(change.at):%Y-%m-%d %H:%M}"),
        ("by", "l", lambda change: change.who or "–"),
        ("what", "w", "{0.what}"),
    )
    return (*found, arms, outcomes, *([changes] if len(status.changes) > 1 else []))
