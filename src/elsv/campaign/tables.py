"""How a campaign stands, in tables for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from elsv._base.numbers import with_minus
from elsv.campaign.figures import METHODS, Figures
from elsv.simulation.precision import HEADS

_SHOWN_DAYS = 14
_COUNTS = {
    "failures": "failures",
    "expired": "expired",
    "under way": "under_way",
    "late": "late",
    "void": "voided",
    "from before": "history",
}


def tables_of(status: Figures) -> Iterator[str]:
    """Yield precision or gains, days, segments, arms, outcomes and changes."""
    if status.gains:
        yield _table(
            status.gains,
            ("against", "<", "{0.name}"),
            ("by", "<", lambda gain: METHODS[gain.method]),
            ("gain", ">", lambda gain: status.near(gain.gain)),
            ("95 % interval", ">", status.between),
            ("per cent", ">", lambda g: "–" if g.percent is None else with_minus(f"{g.percent:+.1f} %")),
        )
    if status.precision is not None:
        yield _text([HEADS, *status.precision.cells()], "<>>>")
    if status.days:
        yield _table(
            status.days[-_SHOWN_DAYS:],
            ("day", "<", "{0.date}"),
            ("customers", ">", "{0.came:,}"),
            ("outcomes", ">", "{0.outcomes:,}"),
            (status.successes_word, ">", lambda day: f"{sum(day.successes):,}"),
            ("earned", ">", lambda day: status.money(status.earned_on(day))),
        )
    if status.segments:
        yield _table(
            status.segments,
            ("segment", "<", "{0.name}"),
            ("of those to come", ">", lambda s: f"{100 * s.share:.3g} %"),
            ("customers", ">", "{0.decided:,}"),
            ("under way", ">", "{0.under_way:,}"),
            ("earned", ">", lambda s: status.money(s.earned)),
            ("earns most", "<", lambda s: status.first()[s.name].option),
            ("is best", ">", lambda s: f"{100 * s.best:.0f} %"),
        )
    names = [("segment", "<", "{0.segment}"), ("option", "<", "{0.option}")]
    yield _table(
        status.arms,
        *(names if status.segments else [("arm", "<", "{0.name}")]),
        ("customers", ">", "{0.decided:,}"),
        (status.successes_word, ">", "{0.successes:,}"),
        ("earned", ">", lambda a: status.money(a.earned)),
        ("conversion", ">", lambda a: f"{100 * a.conversion:.1f} %"),
        ("95 % interval", ">", lambda a: f"{100 * a.low:.1f} – {100 * a.high:.1f} %"),
        ("worth", ">", status.worth),
        ("is best", ">", lambda a: "withdrawn" if a.withdrawn else f"{100 * a.best:.0f} %"),
    )
    yield _table(
        status.arms,
        ("arm", "<", "{0.name}"),
        *((head, ">", f"{{0.{field}:,}}") for head, field in _COUNTS.items()),
    )
    if len(status.changes) > 1:
        yield _table(
            status.changes,
            ("when", "<", lambda change: f"{status.local(change.at):%Y-%m-%d %H:%M}"),
            ("by", "<", lambda change: change.who or "–"),
            ("what", "<", "{0.what}"),
        )


def _table(things: Sequence[Any], *columns: tuple[str, str, str | Callable[[Any], str]]) -> str:
    """Return a row for each thing; a column has a head, a side, and a format or function for its cells."""
    heads, sides, cells = zip(*columns, strict=True)
    rows = [
        [cell.format(thing) if isinstance(cell, str) else cell(thing) for cell in cells] for thing in things
    ]
    return _text([heads, *rows], sides)


def _text(rows: Sequence[Sequence[str]], sides: Sequence[str]) -> str:
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(f"{cell:{side}{room}}" for cell, side, room in zip(row, sides, wide, strict=True))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)
