"""Figures with one row for each policy or arm: a dot, its interval, and the numbers beside them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

from elsv.report._drawing import finite_or_none, plain_log_ticks, wrapped
from elsv.report.canvas import figure_of, panels_on
from elsv.report.style import NARROW, WIDTH, Style, look_of, redrawable

_ROW, _LINE = 0.28, 0.17  # inches


@redrawable
def dot_plot(
    values: Mapping[str, float],
    half_widths: Mapping[str, float] | None = None,
    *,
    x_label: str,
    digits: int = 2,
    log_x: bool = False,
    reference: tuple[float, str] | None = None,
    style: Mapping[str, Style] | None = None,
    width: float = WIDTH,
    axes: Sequence[Any] | None = None,
) -> Any:
    """Draw one dot with its interval for each label, the least on top, its numbers at the right.

    `reference` is a vertical line and its name, such as the Bayes optimum.
    """
    names = sorted(values, key=lambda name: (values[name], name))
    look = look_of(values, style)
    panel = rows_on(names, width, axes)
    if reference is not None:
        _reference(panel, *reference)
    for row, name in enumerate(names):
        half = finite_or_none((half_widths or {}).get(name))
        dot(panel, row, values[name], half, half, look[name].colour)
        number_beside(
            panel, row, f"{values[name]:.{digits}f}" + ("" if half is None else f" ± {half:.{digits}f}")
        )
    if log_x:
        panel.set_xscale("log")
        panel.autoscale_view()
        plain_log_ticks(panel.xaxis)
    else:
        least = min(v - (finite_or_none((half_widths or {}).get(n)) or 0.0) for n, v in values.items())
        panel.set_xlim(left=min(0.0, 1.05 * least))
    panel.set_xlabel(x_label)
    return figure_of([panel])


@redrawable
def paired_differences(
    differences: Mapping[str, float],
    half_widths: Mapping[str, float],
    reference: str,
    *,
    x_label: str = "final regret",
    digits: int = 2,
    style: Mapping[str, Style] | None = None,
    width: float = WIDTH,
    axes: Sequence[Any] | None = None,
) -> Any:
    """Draw differences to `reference` with their intervals around zero; hollow where the interval holds 0."""
    from matplotlib import rcParams

    names = sorted(differences, key=lambda name: (differences[name], name))
    look = look_of([reference, *differences], style)
    panel = rows_on(names, width, axes)
    panel.axvline(0, color=rcParams["text.color"], linewidth=0.9)
    for row, name in enumerate(names):
        half = finite_or_none(half_widths[name])
        told_apart = half is not None and abs(differences[name]) > half
        dot(panel, row, differences[name], half, half, look[name].colour, hollow=not told_apart)
        number = f"{_nonzero(differences[name], digits):+.{digits}f}" + (
            "" if half is None else f" ± {half:.{digits}f}"
        )
        number_beside(panel, row, number)
    panel.margins(x=0.08)
    panel.set_xlabel(f"{x_label} minus that of {reference}")
    return figure_of([panel])


def rows_on(
    names: Sequence[str], width: float, axes: Sequence[Any] | None, bold: Collection[int] = ()
) -> Any:
    """Return axes with one labelled row for each name, the first on top.

    If there are too many for the height only some are named, those in `bold` in any case.
    """
    from matplotlib import rcParams

    shown = [wrapped(name, 14 if width <= NARROW else 24) for name in names]
    lines = [1 + text.count("\n") for text in shown]
    spacing = max([_ROW, *(_LINE * (a + b) / 2 for a, b in pairwise(lines))])
    (panel,) = panels_on(axes, 1, width, 0.8 + spacing * max(len(names), sum(lines) * _ROW / spacing))
    rows = range(len(names))
    if axes is None:
        panel.spines["left"].set_visible(False)
    if rcParams["axes.grid"]:
        panel.grid(False)
        panel.grid(True, axis="x")
    panel.hlines(
        rows, 0, 1, transform=panel.get_yaxis_transform(), colors=rcParams["grid.color"], linewidth=0.5
    )
    room = 72 * panel.get_position().height * figure_of([panel]).get_figheight()
    tall = 1.15 * rcParams["font.size"] * len(names)
    if axes is not None and tall * max(map(sum, pairwise(lines)), default=0) / 2 > room:
        shown = list(names)
    every = math.ceil(tall / room)
    named = [k for k in rows if k in bold or (k % every == 0 and not _beside(k, bold, every))]
    panel.set_yticks(named, [shown[k] for k in named])
    for k, text in zip(named, panel.get_yticklabels(), strict=False):  # a panel that shares its axis has none
        text.set_color(rcParams["text.color"])
        text.set_fontweight("bold" if k in bold else rcParams["font.weight"])
    panel.tick_params(axis="y", length=0)
    panel.elsv_rows = len(names)
    together = panel.get_shared_y_axes().get_siblings(panel)
    panel.set_ylim(max(getattr(other, "elsv_rows", 0) for other in together) - 0.5, -0.5)
    return panel


def _beside(row: int, bold: Collection[int], every: int) -> bool:
    return any(0 < abs(row - other) < every for other in bold)


def dot(
    axes: Any,
    row: int,
    value: float,
    below: float | None,
    above: float | None,
    colour: str,
    hollow: bool = False,
) -> None:
    """Draw one dot with its interval, filled or hollow."""
    axes.errorbar(
        [value],
        [row],
        xerr=None if below is None else [[below], [above]],
        fmt="o",
        color=colour,
        markersize=5.5,
        markerfacecolor=axes.get_facecolor() if hollow else colour,
        markeredgewidth=1.4,
        elinewidth=1.4,
        capsize=2.5,
        clip_on=False,
        zorder=3,
    )


def number_beside(axes: Any, row: int, number: str) -> None:
    """Write a number at the right of a row that is named, if the figure makes room for it by itself."""
    from matplotlib import rcParams

    if figure_of([axes]).get_layout_engine() is not None and row in axes.get_yticks():
        place = axes.get_yaxis_transform()
        axes.annotate(number, (1.02, row), xycoords=place, va="center", color=rcParams["text.color"])


def _reference(axes: Any, value: float, name: str) -> None:
    from matplotlib import rcParams

    axes.axvline(value, color=rcParams["text.color"], linewidth=0.9, dashes=(2, 2))
    axes.annotate(
        name,
        (value, 1.0),
        (0, 3),
        xycoords=axes.get_xaxis_transform(),
        textcoords="offset points",
        ha="center",
    )


def _nonzero(value: float, digits: int) -> float:
    """Return 0.0 for what would be printed as minus zero."""
    return value if round(value, digits) else 0.0
