"""Small pieces of HTML for notebooks: self-contained, in the notebook's own colours, light or dark."""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Mapping, Sequence

_LINE = "1px solid rgba(128,128,128,0.35)"
_BLOCK = "color:inherit;font-size:inherit;line-height:1.45;margin:0.2em 0"
_TABLE = "border-collapse:collapse;color:inherit;background:transparent;margin:0.35em 0"
_CELL = "padding:0.2em 0.8em;background:transparent;color:inherit;border:0;white-space:nowrap"
_CHOSEN = "background:rgba(64,140,255,0.16);font-weight:600"
_FAINT = "opacity:0.75;font-size:0.92em"


def text(words: str) -> str:
    """Return text with its special characters escaped; what stands in backquotes is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(words))


def table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    align: str = "",
    chosen: Collection[int] = (),
) -> str:
    """Return a table that scrolls where it is too wide.

    Parameters
    ----------
    headers, rows
        The cells as they are to be read.
    align
        A letter ``l`` or ``r`` for each column; default: the first one left, all others right.
    chosen
        Rows that stand out, from 0.
    """
    sides = [{"l": "left", "r": "right"}[side] for side in align or "l" + "r" * (len(headers) - 1)]
    head = "".join(
        f'<th style="{_CELL};text-align:{side};border-bottom:{_LINE};font-weight:600">{text(cell)}</th>'
        for cell, side in zip(headers, sides, strict=True)
    )
    body = "".join(_row(row, sides, place in chosen) for place, row in enumerate(rows))
    found = f'<table style="{_TABLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div style="overflow-x:auto;max-width:100%">{found}</div>'


def _row(cells: Sequence[str], sides: Sequence[str], chosen: bool) -> str:
    more = f";{_CHOSEN}" if chosen else ""
    numbers = "font-variant-numeric:tabular-nums"
    shown = "".join(
        f'<td style="{_CELL};text-align:{side};{numbers}{more}">{text(cell)}</td>'
        for cell, side in zip(cells, sides, strict=True)
    )
    return f'<tr style="background:transparent">{shown}</tr>'


def facts(values: Mapping[str, str]) -> str:
    """Return names and what they are, one line for each."""
    lines = "".join(
        f'<tr style="background:transparent"><td style="{_CELL};text-align:left;opacity:0.75">{text(name)}'
        f'</td><td style="{_CELL};text-align:left;font-variant-numeric:tabular-nums">{text(value)}</td></tr>'
        for name, value in values.items()
    )
    return f'<table style="{_TABLE}"><tbody>{lines}</tbody></table>'


def note(words: str) -> str:
    """Return a line in small print."""
    return f'<div style="{_FAINT}">{text(words)}</div>'


def block(title: str, *parts: str) -> str:
    """Return parts under a title."""
    return f'<div style="{_BLOCK}"><div style="font-weight:600">{text(title)}</div>{"".join(parts)}</div>'


def shortened(rows: Sequence[Sequence[str]], most: int) -> tuple[list[Sequence[str]], bool]:
    """Return at most `most` rows, the last one among them, and whether some were left out."""
    if len(rows) <= most:
        return list(rows), False
    return [*rows[: most - 2], ["…"] * len(rows[0]), rows[-1]], True
