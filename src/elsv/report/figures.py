"""Figures in the house style. Every function takes plain arrays and returns a matplotlib figure.

`to_svg` and `save` write one; `styles` gives the colours, so that a policy looks the same everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from elsv._typing import FloatArray
from elsv.report._drawing import (
    draw_lines,
    label_ends,
    last_finite,
    legend_below,
    plain_log_ticks,
    thinned,
    wrapped,
)
from elsv.report._rows import dot_plot, paired_differences
from elsv.report.style import INK, WIDTH, Style, new_figure, save, styled, styles, to_svg

__all__ = [
    "Style",
    "contours",
    "dot_plot",
    "line_panels",
    "lines",
    "paired_differences",
    "pull_shares",
    "regret_curves",
    "save",
    "styles",
    "to_svg",
]

Series = Mapping[str, ArrayLike]


@styled
def lines(
    x: ArrayLike,
    series: Series,
    half_widths: Series | None = None,
    *,
    x_label: str,
    y_label: str,
    log_x: bool = False,
    log_y: bool = False,
    from_zero: bool = False,
    markers: bool = False,
    reference: tuple[float, str] | None = None,
    style: Mapping[str, Style] | None = None,
    height: float = 3.6,
) -> Any:
    """Draw lines with bands of ± `half_widths`, labelled at their ends.

    Parameters
    ----------
    x, series
        Common abscissa ``[K]`` and one array ``[K]`` for each label.
    half_widths
        Half-widths of intervals, for all labels or some.
    from_zero
        Let the y axis start at 0.
    markers
        Mark the points: for a few measured settings rather than a curve.
    reference
        A horizontal line and its label, such as the Bayes optimum.
    style
        Styles by label; default: `styles` of the labels.
    """
    figure = new_figure(WIDTH, height)
    axes = figure.add_subplot()
    look = styles(series) if style is None else style
    drawn = draw_lines(axes, x, series, half_widths, look, log_x, log_y, markers)
    if from_zero and not log_y:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    ends = {name: last_finite(y) for name, y in series.items()}
    if reference is not None:
        value, label = reference
        drawn[label] = axes.axhline(value, color=INK, linewidth=0.9, dashes=(2, 2))
        ends[label], look = value, {**look, label: Style(INK, "solid")}
    if not label_ends(figure, axes, ends, look):
        legend_below(figure, drawn)
    return figure


def regret_curves(
    means: Series,
    half_widths: Series | None = None,
    *,
    steps: ArrayLike | None = None,
    log_x: bool = False,
    x_label: str = "step",
    y_label: str = "cumulative regret",
    style: Mapping[str, Style] | None = None,
    reference: tuple[float, str] | None = None,
    height: float = 3.6,
) -> Any:
    """Draw mean cumulative regret ``[T]`` by policy with its 95 % band; `steps` defaults to 1 … T."""
    horizon = len(np.asarray(next(iter(means.values()))))
    return lines(
        np.arange(1, horizon + 1) if steps is None else steps,
        means,
        half_widths,
        x_label=x_label,
        y_label=y_label,
        log_x=log_x,
        from_zero=True,
        markers=horizon == 1,
        style=style,
        reference=reference,
        height=height,
    )


@styled
def line_panels(
    panels: Mapping[str, tuple[ArrayLike, Series, Series | None]],
    *,
    x_label: str,
    y_label: str,
    log_x: bool = False,
    log_y: bool = False,
    share_y: bool = False,
    columns: int = 2,
    style: Mapping[str, Style] | None = None,
    height: float = 2.5,
) -> Any:
    """Draw small multiples: a title each for (x, series, half-widths or None), one legend for all."""
    look = style or styles(dict.fromkeys(name for _, series, _ in panels.values() for name in series))
    drawn: dict[str, Any] = {}
    figure, grid = _grid(len(panels), columns, height, share_y)
    for axes, (title, (x, series, half_widths)) in zip(grid, panels.items(), strict=True):
        drawn |= draw_lines(axes, x, series, half_widths, look, log_x, log_y, False)
        axes.set_title(title)
    _label_outside(grid, x_label, y_label)
    legend_below(figure, drawn)
    return figure


@styled
def pull_shares(
    shares: Mapping[str, FloatArray],
    arms: Sequence[str],
    *,
    columns: int = 3,
    height: float = 1.75,
) -> Any:
    """Draw the share of instances ``[T, N]`` that pull each arm at each step, stacked, one panel a policy."""
    import matplotlib

    horizon = len(next(iter(shares.values())))
    colours = matplotlib.colormaps["viridis"](np.linspace(0.1, 0.95, len(arms)))
    keep = thinned(horizon, most=150)
    figure, grid = _grid(len(shares), columns, height, True)
    areas: list[Any] = []
    few = len(arms) <= 8
    for axes, (name, share) in zip(grid, shares.items(), strict=True):
        x, y = keep + 1, np.asarray(share)[keep].T
        if horizon == 1:
            x, y = np.array([0.5, 1.5]), np.repeat(y, 2, axis=1)
        areas = axes.stackplot(x, y, colors=colours, linewidth=0.25)
        for area, colour in zip(areas, colours, strict=True):
            area.set_edgecolor("white" if few else colour)
        axes.set_xlim(x[0], x[-1])
        axes.set_ylim(0, 1)
        axes.set_yticks([0, 0.5, 1], ["0", "50 %", "100 %"])
        axes.set_xticks(sorted({1, (horizon + 1) // 2, horizon}))
        axes.grid(False)
        axes.set_title(wrapped(name, 22))
    shown = sorted({round(k) for k in np.linspace(0, len(arms) - 1, min(len(arms), 8))})
    _label_outside(grid, "step", "")
    figure.legend(
        [areas[k] for k in shown],
        [arms[k] for k in shown],
        loc="outside upper left",
        ncols=min(len(shown), 4),
        handlelength=1.0,
        handleheight=1.0,
        columnspacing=1.4,
    )
    return figure


@styled
def contours(
    x: ArrayLike,
    y: ArrayLike,
    z: ArrayLike,
    *,
    x_label: str,
    y_label: str,
    z_label: str,
    levels: int | Sequence[float] = 12,
    log_x: bool = False,
    height: float = 3.6,
) -> Any:
    """Draw z over (x, y), for example a value over pulls and mean.

    `z` is ``[len(y), len(x)]`` on a grid, or ``[K]`` at K scattered points such as the states of an arm.
    """
    heights = np.asarray(z, dtype=np.float64)
    figure = new_figure(0.92 * WIDTH, height)
    axes = figure.add_subplot()
    on_grid = heights.ndim == 2
    fill, trace = (axes.contourf, axes.contour) if on_grid else (axes.tricontourf, axes.tricontour)
    filled = fill(x, y, heights, levels=levels, cmap="viridis")
    trace(x, y, heights, levels=filled.levels, colors="white", linewidths=0.5, linestyles="solid", alpha=0.7)
    bar = figure.colorbar(filled, ax=axes, label=z_label, aspect=28, pad=0.02)
    bar.outline.set_visible(False)
    if log_x:
        axes.set_xscale("log")
        plain_log_ticks(axes.xaxis)
    axes.grid(False)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    return figure


def _grid(panels: int, columns: int, height: float, share_y: bool) -> tuple[Any, list[Any]]:
    """Return a figure with `panels` axes in rows of at most `columns`."""
    columns = columns - 1 if panels == columns + 1 > 2 else min(columns, panels)
    rows = math.ceil(panels / columns)
    width = WIDTH if columns > 1 else 0.65 * WIDTH
    figure = new_figure(width, height * rows + 0.6)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=share_y).ravel().tolist()
    for axes in grid[panels:]:
        axes.remove()
    for axes in grid[max(0, panels - columns) : panels]:
        axes.tick_params(labelbottom=True)
    return figure, grid[:panels]


def _label_outside(grid: Sequence[Any], x_label: str, y_label: str) -> None:
    """Write the labels once: under the lowest panel of each column, and left of the first one of each row."""
    for axes in grid:
        place = axes.get_subplotspec()
        if place.is_first_col():
            axes.set_ylabel(y_label)
        if axes.xaxis.get_tick_params()["labelbottom"]:
            axes.set_xlabel(x_label)
