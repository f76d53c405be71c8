"""Tables for notebooks, by Jinja: self-contained, in the notebook's own colours, light or dark."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache
from html import escape
from typing import Any

_TABLE = """\
{%- set cell = "padding:0.2em 0.8em;background:transparent;color:inherit;border:0;white-space:nowrap" -%}
{%- set table = "border-collapse:collapse;color:inherit;background:transparent;margin:0.35em 0" -%}
{%- set line = "border-bottom:1px solid rgba(128,128,128,0.35);font-weight:600" -%}
{%- set chosen_row = "background:rgba(64,140,255,0.16);font-weight:600" -%}
{%- set sides = {"l": "text-align:left", "r": "text-align:right"} -%}
<div style="overflow-x:auto;max-width:100%"><table style="{{ table }}">
{%- if heads %}<thead><tr>
{%- for head in heads %}{% set side = sides[align[loop.index0]] -%}
<th style="{{ cell }};{{ side }};{{ line }}">{{ head | code }}</th>
{%- endfor %}</tr></thead>
{%- endif %}<tbody>
{%- for row in rows %}{% set place = loop.index0 %}<tr style="background:transparent">
{%- for value in row %}{% set side = sides[align[loop.index0]] -%}
<td style="{{ cell }};{{ side }};font-variant-numeric:tabular-nums
{%- if place in chosen %};{{ chosen_row }}{% endif %}">{{ value | code }}</td>
{%- endfor %}</tr>
{%- endfor %}</tbody></table></div>
"""


def table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    align: str = "",
    chosen: Collection[int] = (),
) -> str:
    """Return a table that scrolls where it is too wide; `chosen` are rows that stand out, from 0.

    `align` has a letter ``l`` or ``r`` for each column; default: the first one left, all others right.
    Without Jinja a notebook shows the plain text instead.
    """
    align = align or "l" + "r" * (len(headers) - 1)
    return str(_template().render(heads=headers, rows=rows, align=align, chosen=chosen))


def note(words: str) -> str:
    """Return a line in small print."""
    return f'<div style="opacity:0.75;font-size:0.92em">{code(words)}</div>'


def block(title: str, *parts: str) -> str:
    """Return parts, such as a table or a figure, under a title."""
    whole = '<div style="color:inherit;font-size:inherit;line-height:1.45;margin:0.2em 0">'
    return "\n".join([whole, f'<div style="font-weight:600">{code(title)}</div>', *parts, "</div>"])


def code(words: str) -> str:
    """Return text with its special characters escaped; what stands in backquotes is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(words))


def shortened(rows: Sequence[Sequence[str]], most: int) -> tuple[list[Sequence[str]], bool]:
    """Return at most `most` rows, the last one among them, and whether some were left out."""
    if len(rows) <= most:
        return list(rows), False
    return [*rows[: most - 2], ["…"] * len(rows[0]), rows[-1]], True


@cache
def _template() -> Any:
    try:
        from jinja2 import Environment
    except ImportError as error:  # which IPython takes as: there is no HTML
        raise NotImplementedError("tables for notebooks need jinja2") from error
    environment = Environment(autoescape=False)
    environment.filters["code"] = code
    return environment.from_string(_TABLE)
