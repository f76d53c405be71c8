"""Tables for notebooks, by Jinja: self-contained, in the notebook's own colours, light or dark."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from typing import Any

_TEMPLATE = """\
{%- set cell = "padding:0.2em 0.8em;background:transparent;color:inherit;border:0;white-space:nowrap" -%}
{%- set table = "border-collapse:collapse;color:inherit;background:transparent;margin:0.35em 0" -%}
{%- set line = "border-bottom:1px solid rgba(128,128,128,0.35);font-weight:600" -%}
{%- set chosen = "background:rgba(64,140,255,0.16);font-weight:600" -%}
{%- set sides = {"l": "text-align:left", "r": "text-align:right"} -%}
<div style="color:inherit;font-size:inherit;line-height:1.45;margin:0.2em 0">
<div style="font-weight:600">{{ title | code }}</div>
{%- for part in parts %}
{%- if part.note is not none %}
<div style="opacity:0.75;font-size:0.92em">{{ part.note | code }}</div>
{%- elif part.svg is not none %}
{{ part.svg }}
{%- else %}
<div style="overflow-x:auto;max-width:100%"><table style="{{ table }}">
{%- if part.heads %}<thead><tr>
{%- for head in part.heads %}{% set side = sides[part.align[loop.index0]] -%}
<th style="{{ cell }};{{ side }};{{ line }}">{{ head | code }}</th>
{%- endfor %}</tr></thead>
{%- endif %}<tbody>
{%- for row in part.rows %}{% set place = loop.index0 %}<tr style="background:transparent">
{%- for value in row %}{% set side = sides[part.align[loop.index0]] -%}
<td style="{{ cell }};{{ side }};font-variant-numeric:tabular-nums
{%- if place in part.chosen %};{{ chosen }}{% endif %}">{{ value | code }}</td>
{%- endfor %}</tr>
{%- endfor %}</tbody></table></div>
{%- endif %}
{%- endfor %}
</div>
"""


@dataclass(frozen=True)
class Part:
    """A piece of a notebook's output: a table, a line in small print, or a figure."""

    heads: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    align: str = ""
    chosen: Collection[int] = field(default_factory=tuple)
    note: str | None = None
    svg: str | None = None


def table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    align: str = "",
    chosen: Collection[int] = (),
) -> Part:
    """Return a table that scrolls where it is too wide; `chosen` are rows that stand out, from 0.

    `align` has a letter ``l`` or ``r`` for each column; default: the first one left, all others right.
    """
    return Part(headers, rows, align or "l" + "r" * (len(headers) - 1), chosen)


def note(words: str) -> Part:
    """Return a line in small print."""
    return Part(note=words)


def block(title: str, *parts: Part) -> str:
    """Return parts under a title as HTML. Without Jinja a notebook shows the plain text instead."""
    return str(_environment().from_string(_TEMPLATE).render(title=title, parts=parts))


def code(words: str) -> str:
    """Return text with its special characters escaped; what stands in backquotes is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(words))


def shortened(rows: Sequence[Sequence[str]], most: int) -> tuple[list[Sequence[str]], bool]:
    """Return at most `most` rows, the last one among them, and whether some were left out."""
    if len(rows) <= most:
        return list(rows), False
    return [*rows[: most - 2], ["…"] * len(rows[0]), rows[-1]], True


@cache
def _environment() -> Any:
    try:
        from jinja2 import Environment
    except ImportError as error:  # which IPython takes as: there is no HTML
        raise NotImplementedError("tables for notebooks need jinja2") from error
    found = Environment(autoescape=False)
    found.filters["code"] = code
    return found
