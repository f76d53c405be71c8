"""Figures with one row for each policy: a dot, its interval, and the numbers beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from elsv.report._drawing import finite_or_none, plain_log_ticks, wrapped
from elsv.report.style import INK, RULE, SOFT_INK, WIDTH, Style, new_figure, styled, styles


@styled
def dot_plot(
    values: Mapping[str, float],
    half_widths: Mapping[str, float] | None = None,
    *,
    x_label: str,
    digits: int = 2,
    log_x: bool = False,
    style: Mapping[str, Style] | None = None,
) -> Any:
    """Draw one dot with its interval for each label, the least on top, its numbers at the right."""
    names = sorted(values, key=lambda name: (values[name], name))
    look = styles(values) if style is None else style
    figure, axes = _rows(names)
    for row, name in enumerate(names):
        half = finite_or_none((half_widths or {}).get(name))
        _dot(axes, row, values[name], half, look[name].colour)
        number = f"{values[name]:.{digits}f}" + ("" if half is None else f" ± {half:.{digits}f}")
        axes.annotate(number, (1.02, row), xycoords=axes.get_yaxis_transform(), va="center", color=INK)
    if log_x:
        axes.set_xscale("log")
        axes.autoscale_view()
        plain_log_ticks(axes.xaxis)
    else:
        least = min(v - (finite_or_none((half_widths or {}).get(n)) or 0.0) for n, v in values.items())
        axes.set_xlim(left=min(0.0, 1.05 * least))
    axes.set_xlabel(x_label)
    return figure


@styled
def paired_differences(
    differences: Mapping[str, float],
    half_widths: Mapping[str, float],
    reference: str,
    *,
    x_label: str = "final regret",
    digits: int = 2,
    style: Mapping[str, Style] | None = None,
) -> Any:
    """Draw differences to `reference` with their intervals around zero; hollow where the interval holds 0."""
    names = sorted(differences, key=lambda name: (differences[name], name))
    look = styles([reference, *differences]) if style is None else style
    figure, axes = _rows(names)
    axes.axvline(0, color=INK, linewidth=0.9)
    for row, name in enumerate(names):
        half = finite_or_none(half_widths[name])
        told_apart = half is not None and abs(differences[name]) > half
        _dot(axes, row, differences[name], half, look[name].colour, hollow=not told_apart)
        number = f"{_nonzero(differences[name], digits):+.{digits}f}" + (
            "" if half is None else f" ± {half:.{digits}f}"
        )
        axes.annotate(number, (1.02, row), xycoords=axes.get_yaxis_transform(), va="center", color=INK)
    axes.margins(x=0.08)
    axes.set_xlabel(f"{x_label} minus that of {reference}")
    return figure


def _rows(names: Sequence[str]) -> tuple[Any, Any]:
    """Return axes with one labelled row for each name, the first on top."""
    shown = [wrapped(name, 24) for name in names]
    tall = sum(1 + text.count("\n") for text in shown)
    figure = new_figure(WIDTH, 0.8 + 0.28 * tall)
    axes = figure.add_subplot()
    axes.grid(False)
    axes.grid(True, axis="x")
    axes.hlines(range(len(names)), 0, 1, transform=axes.get_yaxis_transform(), colors=RULE, linewidth=0.5)
    axes.set_yticks(range(len(names)), shown, color=INK)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_ylim(len(names) - 0.5, -0.5)
    return figure, axes


def _dot(axes: Any, row: int, value: float, half: float | None, colour: str, hollow: bool = False) -> None:
    axes.errorbar(
        [value],
        [row],
        xerr=None if half is None else [half],
        fmt="o",
        color=colour,
        markersize=5.5,
        markerfacecolor="white" if hollow else colour,
        markeredgewidth=1.4,
        elinewidth=1.4,
        capsize=2.5,
        clip_on=False,
        zorder=3,
        ecolor=colour if half is not None else SOFT_INK,
    )


def _nonzero(value: float, digits: int) -> float:
    """Return 0.0 for what would be printed as minus zero."""
    return value if round(value, digits) else 0.0
