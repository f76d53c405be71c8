"""Figures in the house style. Every function takes plain arrays and returns a matplotlib figure.

`to_svg` and `save` write one, `for_page` makes it part of a page; `styles` gives the colours, so that a
policy looks the same everywhere. With `axes`, one for each panel, a function draws on these instead, in the
user's own style. `width` is in inches.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.typing import FloatArray
from elsv.report._drawing import (
    Labels,
    dot,
    draw_lines,
    equal_series,
    legend_below,
    logarithmic,
    name_lines,
    rows_on,
    thinned,
    wrapped,
)
from elsv.report.style import NARROW, WIDTH, Style, figure_of, label_outside, look_of, panels_on, redrawable
from elsv.report.style import for_page as for_page
from elsv.report.style import save as save
from elsv.report.style import styles as styles
from elsv.report.style import to_svg as to_svg

Series = Mapping[str, ArrayLike]
_FEW_ARMS = 8  # a legend tells so many shades apart


@redrawable
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
    x_ticks: Sequence[float] | None = None,
    reference: tuple[float, str] | None = None,
    style: Mapping[str, Style] | None = None,
    height: float = 3.6,
    width: float = WIDTH,
    axes: Sequence[Any] | None = None,
    labels: Labels | None = None,
) -> Any:
    """Draw lines with bands of ± `half_widths`; lines that are equal are drawn as one, with all their names.

    `x` is ``[K]``, as is each of the `series`; `reference` is a horizontal line and its label, such as the
    Bayes optimum. `markers` are for a few measured settings rather than a curve. `labels` says where lines
    are named: beside them (``"ends"``), in a ``"legend"``, or ``"none"``; default: beside them if there is
    room.
    """
    from matplotlib import rcParams
    from matplotlib.colors import to_hex

    (panel,) = grid = panels_on(axes, 1, width, height)
    look, shared = look_of(series, style), equal_series([series])
    drawn = draw_lines(panel, x, series, half_widths, look, log_x, log_y, markers, shared)
    if x_ticks is not None:
        panel.set_xticks(x_ticks, minor=False)
        panel.xaxis.minorticks_off()
    panel.set_xlabel(x_label)
    panel.set_ylabel(y_label)
    if reference is not None:
        (value, label), ink = reference, to_hex(rcParams["text.color"])
        drawn[label] = panel.axhline(value, color=ink, linewidth=0.9, dashes=(2, 2), label=label)
    if from_zero and not log_y:
        # The user's axes may share theirs with a panel that is drawn later and needs more room.
        panel.set_ylim(bottom=0, auto=False if axes is None else None)
    name_lines(panel, drawn, labels, axes is None)
    return figure_of(grid)


def regret_curves(
    means: Series,
    half_widths: Series | None = None,
    *,
    log_x: bool = False,
    x_label: str = "step",
    **options: Any,
) -> Any:
    """Draw mean cumulative regret ``[T]`` by policy with its 95 % band; `options` are those of `lines`."""
    horizon = len(np.asarray(next(iter(means.values()))))
    return lines(
        np.arange(1, horizon + 1),
        means,
        half_widths,
        x_label=x_label,
        y_label="cumulative regret",
        log_x=log_x,
        from_zero=True,
        markers=horizon == 1,
        **options,
    )


@redrawable
def line_panels(
    panels: Mapping[str, tuple[ArrayLike, Series, Series | None]],
    *,
    x_label: str,
    y_label: str,
    log_y: bool = False,
    share_y: bool = False,
    style: Mapping[str, Style] | None = None,
    height: float = 2.5,
    width: float = WIDTH,
    axes: Sequence[Any] | None = None,
) -> Any:
    """Draw small multiples: a title each for (x, series, half-widths or None), one legend for all.

    Lines that are equal in every panel are one, with all names; those that are in one panel are said there.
    """
    shared = equal_series([series for _, series, _ in panels.values()])
    look = look_of(shared, style)
    drawn: dict[str, Any] = {}
    grid = panels_on(axes, len(panels), width, height, 1 if width <= NARROW else 2, share_y)
    for panel, (title, (x, series, half_widths)) in zip(grid, panels.items(), strict=True):
        drawn |= draw_lines(panel, x, series, half_widths, look, False, log_y, False, shared)
        here = {label for label in equal_series([series]).values() if " = " in label} - set(shared.values())
        panel.set_title("\n".join([title, *(wrapped(label, 38) for label in sorted(here))]))
    label_outside(grid, x_label, y_label, axes is None)
    if axes is None:
        legend_below(figure_of(grid), drawn)
    else:
        grid[0].legend(list(drawn.values()), list(drawn), loc="best")
    return figure_of(grid)


@redrawable
def pull_shares(
    shares: Mapping[str, FloatArray],
    arms: Sequence[str],
    *,
    width: float = WIDTH,
    axes: Sequence[Any] | None = None,
) -> Any:
    """Draw the share of instances ``[T, N]`` that pull each arm at each step, stacked, one panel a policy."""
    import matplotlib

    horizon = len(next(iter(shares.values())))
    colours = matplotlib.colormaps["viridis"](np.linspace(0.1, 0.95, len(arms)))
    keep = thinned(horizon, most=150)
    narrow = width <= NARROW
    grid = panels_on(axes, len(shares), width, 1.75, 2 if narrow else 3, True)
    areas: list[Any] = []
    few = len(arms) <= _FEW_ARMS
    for panel, (name, share) in zip(grid, shares.items(), strict=True):
        x, y = keep + 1, np.asarray(share)[keep].T
        if horizon == 1:
            x, y = np.array([0.5, 1.5]), np.repeat(y, 2, axis=1)
        areas = panel.stackplot(x, y, labels=arms, colors=colours, linewidth=0.25)
        for area, colour in zip(areas, colours, strict=True):
            area.set_edgecolor("white" if few else colour)
        panel.set_xlim(x[0], x[-1])
        panel.set_ylim(0, 1)
        panel.set_yticks([0, 0.5, 1], ["0", "50 %", "100 %"])
        panel.set_xticks(sorted({1, (horizon + 1) // 2, horizon}))
        panel.grid(False)
        panel.set_title(wrapped(name, 18 if narrow else 22))
    label_outside(grid, "step", "" if axes is None else "share of instances", axes is None)
    if few:
        _legend_of_arms(grid, areas, arms, axes is None)
    else:
        _bar_of_arms(grid, arms, colours)
    return figure_of(grid)


def _legend_of_arms(grid: Sequence[Any], areas: Sequence[Any], arms: Sequence[str], own: bool) -> None:
    """Name the arms above the panels, in the order of the stack from below."""
    look = {"handlelength": 1.0, "handleheight": 1.0, "columnspacing": 1.4}
    if not own:
        grid[-1].legend(
            areas[::-1], arms[::-1], loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0, **look
        )
        return
    figure = figure_of(grid)
    room = max(1, int(76 * figure.get_figwidth() / WIDTH) // (max(map(len, arms)) + 5))
    rows = math.ceil(len(arms) / room)
    figure.legend(areas, arms, loc="outside upper left", ncols=math.ceil(len(arms) / rows), **look)
    figure.set_figheight(figure.get_figheight() + 0.2 * (rows - 1))


def _bar_of_arms(grid: Sequence[Any], arms: Sequence[str], colours: Any) -> None:
    """Name the first arm, the last and some between on a bar: there are more than a legend can tell apart."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm, ListedColormap

    scale = BoundaryNorm(np.arange(len(arms) + 1) - 0.5, len(arms))
    shown = sorted({round(k) for k in np.linspace(0, len(arms) - 1, 6)})
    bar = figure_of(grid).colorbar(
        ScalarMappable(scale, ListedColormap(colours)), ax=list(grid), ticks=shown, aspect=40, pad=0.02
    )
    bar.ax.set_yticklabels([wrapped(arms[k], 14) for k in shown])
    bar.ax.tick_params(length=0)
    bar.ax.minorticks_off()
    bar.outline.set_visible(False)


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
    halves = _finite(half_widths or {})
    panel = _dots(values, halves, digits, look_of(values, style), width, axes)
    if reference is not None:
        (value, name), above = reference, panel.get_xaxis_transform()
        _upright(panel, value, dashes=(2, 2))
        panel.annotate(name, (value, 1.0), (0, 3), xycoords=above, textcoords="offset points", ha="center")
    if log_x:
        logarithmic(panel, log_x)
    else:
        least = min(value - halves.get(name, 0.0) for name, value in values.items())
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
    look = look_of([reference, *differences], style)
    panel = _dots(differences, _finite(half_widths), digits, look, width, axes, sign="+")
    _upright(panel, 0)
    panel.margins(x=0.08)
    panel.set_xlabel(f"{x_label} minus that of {reference}")
    return figure_of([panel])


def _finite(half_widths: Mapping[str, float]) -> dict[str, float]:
    return {name: half for name, half in half_widths.items() if math.isfinite(half)}


def _upright(panel: Any, value: float, **look: Any) -> None:
    from matplotlib import rcParams

    panel.axvline(value, color=rcParams["text.color"], linewidth=0.9, **look)


def _dots(
    values: Mapping[str, float],
    halves: Mapping[str, float],
    digits: int,
    look: Mapping[str, Style],
    width: float,
    axes: Sequence[Any] | None,
    sign: str = "",
) -> Any:
    """Return axes with a dot for each value, the least on top; with a sign: hollow where 0 is within."""
    names = sorted(values, key=lambda name: (values[name], name))
    panel = rows_on(names, width, axes)
    for row, name in enumerate(names):
        value, half = values[name], halves.get(name)
        shown = value if round(value, digits) or not sign else 0.0  # no minus zero
        interval, more = (None, "") if half is None else ((half, half), f" ± {half:.{digits}f}")
        hollow = bool(sign) and (half is None or abs(value) <= half)
        dot(panel, row, value, interval, look[name].colour, f"{shown:{sign}.{digits}f}{more}", hollow)
    return panel


@redrawable
def contours(
    x: ArrayLike,
    y: ArrayLike,
    z: ArrayLike,
    *,
    x_label: str,
    y_label: str,
    z_label: str,
    height: float = 3.6,
    width: float = 0.92 * WIDTH,
    axes: Sequence[Any] | None = None,
) -> Any:
    """Draw z ``[K]`` at K scattered points (x, y), for example a value over the states of an arm."""
    (panel,) = grid = panels_on(axes, 1, width, height)
    filled = panel.tricontourf(x, y, z, levels=12, cmap="viridis")
    white = {"colors": "white", "linewidths": 0.5, "linestyles": "solid", "alpha": 0.7}
    panel.tricontour(x, y, z, levels=filled.levels, **white)
    bar = figure_of(grid).colorbar(filled, ax=panel, label=z_label, aspect=28, pad=0.02)
    bar.outline.set_visible(False)
    panel.grid(False)
    panel.set_xlabel(x_label)
    panel.set_ylabel(y_label)
    return figure_of(grid)
