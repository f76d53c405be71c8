"""Figures on a page: in the colours of its theme, light or dark, and at the width of its screen."""

from __future__ import annotations

import re
from typing import Any

from elsv.report.style import INK, NARROW, RULE, SOFT_INK, Style, styled, to_svg

# What each colour of the house style becomes on dark paper. What fills an area by value stays as it is.
_LINES = {
    "#0072B2": "#4ea6e6",
    "#D55E00": "#f58a3f",
    "#009E73": "#2ec498",
    "#CC79A7": "#e39cc5",
    "#E69F00": "#f2b632",
    "#56B4E9": "#92d4fb",
    "#882255": "#d9648f",
    "#6b7078": "#a0a7b0",
    INK: "#eceef0",
}
_OTHERS = {
    "#ffffff": "#1b1f24",
    "#000000": "#eceef0",
    SOFT_INK: "#aab2bb",
    RULE: "#3a414a",
    "#e3eef7": "#1d3447",
    "#e4f3ed": "#173a30",
}
DARK = {colour.lower(): dark for colour, dark in {**_LINES, **_OTHERS}.items()} | {
    Style(colour, "solid").ink: dark for colour, dark in _LINES.items()
}


def for_page(figure: Any) -> str:
    """Return a figure as ``<svg>`` elements of the classes wide and narrow, of which a page shows one.

    A figure that cannot be drawn again has one for every screen.
    """
    redraw = getattr(figure, "redraw", None)
    wide = themed(to_svg(figure))
    if redraw is None:
        return wide
    narrow = themed(to_svg(styled(redraw)(width=NARROW)))
    return f"{_classed(wide, 'wide')}\n{_classed(narrow, 'narrow')}"


def themed(svg: str) -> str:
    """Return an ``<svg>`` whose colours follow the page; where a page says nothing they are as drawn.

    Examples
    --------
    >>> themed('<path style="stroke: #222222"/>')
    '<path style="stroke: var(--x222222, #222222)"/>'
    """

    def replaced(found: re.Match[str]) -> str:
        what, colour = found[1], found[2].lower()
        return f"{what}: var(--x{colour[1:]}, {colour})" if colour in DARK else found[0]

    return re.sub(r"\b(fill|stroke): (#[0-9a-fA-F]{6})\b", replaced, svg)


# How notebooks say that they are dark: JupyterLab, VS Code, Colab.
_DARK_NOTEBOOKS = ('body[data-jp-theme-light="false"]', "body.vscode-dark", "html[theme=dark]")
_PAPER = "var(--jp-layout-color0, var(--vscode-editor-background, #1b1f24))"


def for_notebook(svg: str) -> str:
    """Return an ``<svg>`` in the colours of the notebook that shows it, light or dark, on its own paper."""
    where = ", ".join(f"{notebook} .elsv-figure" for notebook in _DARK_NOTEBOOKS)
    rules = f"{where} {{ {dark_rules()} --xffffff: {_PAPER}; }}"
    figure = f'<div class="elsv-figure" style="max-width:52em;overflow-x:auto">{themed(svg)}</div>'
    return f"<style>{rules}</style>{figure}"


def dark_rules() -> str:
    """Return the style sheet's line that gives themed figures their dark colours."""
    return " ".join(f"--x{colour[1:]}: {dark};" for colour, dark in DARK.items())


def _classed(svg: str, name: str) -> str:
    return svg.replace("<svg ", f'<svg class="{name}" ', 1)
