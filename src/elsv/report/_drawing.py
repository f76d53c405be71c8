"""Parts of figures: lines with bands, their names and legends, ticks; rows of dots with intervals."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.typing import IntArray
from elsv.errors import InvalidInputError
from elsv.report.style import NARROW, WIDTH, Style, figure_of, panels_on

Labels = Literal["ends", "legend", "none"]
_LONGEST_LABEL = 22  # letters
_LEGEND_LINE = 0.2  # inches
_ROW, _LINE = 0.28, 0.17  # inches


def draw_lines(
    axes: Any,
    x: ArrayLike,
    series: Mapping[str, ArrayLike],
    half_widths: Mapping[str, ArrayLike] | None,
    look: Mapping[str, Style],
    log_x: bool,
    log_y: bool,
    markers: bool,
    labels: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Draw every series with its band, thinned to what the eye can tell apart; return the lines by label.

    Of those that share one of the `labels`, as `equal_series` gives them, the first is drawn.
    """
    drawn: dict[str, Any] = {}
    abscissa = np.asarray(x, dtype=np.float64)
    keep = thinned(len(abscissa), log_x)
    for name, values in series.items():
        if (label := (labels or {}).get(name, name)) in drawn:
            continue
        y, style = np.asarray(values, dtype=np.float64)[keep], look[name]
        (drawn[label],) = axes.plot(
            abscissa[keep],
            y,
            label=label,
            color=style.colour,
            linestyle=style.dash,
            marker=style.marker or ("o" if markers else None),
            markevery=None if markers or style.marker is None else _some_of(len(keep), len(drawn)),
        )
        if half_widths is not None and name in half_widths:
            half = np.asarray(half_widths[name], dtype=np.float64)[keep]
            if np.isfinite(half).all():
                axes.fill_between(
                    abscissa[keep], y - half, y + half, color=style.colour, alpha=0.18, linewidth=0
                )
    if len(abscissa) > 1:
        axes.margins(x=0.03 if markers else 0)
    logarithmic(axes, log_x, log_y)
    return drawn


def _some_of(points: int, number: int) -> tuple[int, int]:
    """Return where a line has markers: at every seventh of it, not at the same places as the next line."""
    every = max(1, points // 7)
    return (number * every // 3) % every, every


def last_finite(values: ArrayLike) -> float:
    """Return where a line ends: its last value that is a number."""
    y = np.asarray(values, dtype=np.float64)
    finite = y[np.isfinite(y)]
    return float(finite[-1]) if len(finite) else float(y[-1])


def thinned(length: int, log_x: bool = False, most: int = 400) -> IntArray:
    """Return at most `most` positions out of `length`, first and last included."""
    if length <= most:
        return np.arange(length)
    spread = np.geomspace(1, length, most) - 1 if log_x else np.linspace(0, length - 1, most)
    return np.unique(np.rint(spread).astype(np.int64))


def logarithmic(axes: Any, log_x: bool, log_y: bool = False) -> None:
    """Make axes logarithmic, with ticks 1, 10, 100 rather than powers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    chosen = [axis for axis, wanted in ((axes.xaxis, log_x), (axes.yaxis, log_y)) if wanted]
    for axis in chosen:
        getattr(axes, f"set_{axis.axis_name}scale")("log")
    axes.autoscale_view()
    for axis in chosen:
        low, high = axis.get_view_interval()
        if 0 < high < 100 * low:
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.12g}"))
        axis.set_minor_formatter(NullFormatter())


def name_lines(axes: Any, drawn: Mapping[str, Any], labels: Labels | None, own: bool) -> None:
    """Say which line is which in a legend, in the order in which the lines end.

    ``"ends"`` puts the legend beside the lines, ``"legend"`` below the figure, or, on the user's axes, where
    matplotlib finds room. By default it stands beside the lines where the figure makes room for it.
    `own` is for axes that were made for this figure, which may grow.
    """
    if labels not in (None, "ends", "legend", "none"):
        raise InvalidInputError(f"labels must be 'ends', 'legend' or 'none', got {labels!r}")
    if labels == "none":
        return
    figure = axes.get_figure(root=True)
    drawn = dict(sorted(drawn.items(), key=lambda named: -last_finite(named[1].get_ydata())))
    lines = {wrapped(name, _LONGEST_LABEL): line for name, line in drawn.items()}
    tall = _LEGEND_LINE * sum(1 + label.count("\n") for label in lines)
    fits = tall < 0.9 * figure.get_figheight() and figure.get_figwidth() > NARROW
    if labels == "ends" or (labels is None and figure.get_layout_engine() is not None and (fits or not own)):
        place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "handlelength": 1.6}
        axes.legend(list(lines.values()), list(lines), **place)
    elif own:
        legend_below(figure, drawn)
    else:
        axes.legend(list(lines.values()), list(lines), loc="best")


def legend_below(figure: Any, drawn: Mapping[str, Any]) -> None:
    """Put a legend under the figure, which grows by as much."""
    lines = {wrapped(name, _LONGEST_LABEL + 8): line for name, line in drawn.items()}
    longest = max(len(row) for name in lines for row in name.split("\n"))
    columns = max(1, min(len(lines), int(72 * figure.get_figwidth() / WIDTH) // (longest + 7)))
    rows = math.ceil(len(lines) / columns) + max(name.count("\n") for name in lines)
    figure.set_figheight(figure.get_figheight() + _LEGEND_LINE * rows)
    figure.legend(
        list(lines.values()), list(lines), loc="outside lower center", ncols=columns, handlelength=2.6
    )


def equal_series(panels: Sequence[Mapping[str, ArrayLike]]) -> dict[str, str]:
    """Return for every name the label that it shares with those whose lines are the same in all panels."""
    groups: list[list[str]] = []
    for name in dict.fromkeys(name for series in panels for name in series):
        for group in groups:
            if all(_same(series, group[0], name) for series in panels):
                group.append(name)
                break
        else:
            groups.append([name])
    return {name: " = ".join(group) for group in groups for name in group}


def _same(series: Mapping[str, ArrayLike], first: str, second: str) -> bool:
    if first not in series or second not in series:
        return first not in series and second not in series
    one, other = (np.asarray(series[name], dtype=np.float64) for name in (first, second))
    return len(one) == len(other) and bool(np.allclose(one, other, rtol=1e-9, atol=1e-12, equal_nan=True))


def wrapped(name: str, width: int) -> str:
    """Break a policy name after its colon or commas into lines of about `width` characters."""
    rows: list[str] = []
    for k, equal in enumerate(name.split(" = ")):
        whole = f"= {equal}" if k else equal
        if rows and len(rows[-1]) + 1 + len(whole) <= width:
            rows[-1] += f" {whole}"
            continue
        rows.append("")
        for part in re.findall(r"[^:,]+[:,]?", whole) or [whole]:
            if rows[-1] and len(rows[-1]) + len(part) > width:
                rows.append("")
            rows[-1] += part
    return "\n".join(rows)


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
    crowded = {k + near for k in bold for near in range(1 - every, every)}
    named = [k for k in rows if k in bold or (k % every == 0 and k not in crowded)]
    panel.set_yticks(named, [shown[k] for k in named])
    for k, text in zip(named, panel.get_yticklabels(), strict=False):  # a panel that shares its axis has none
        text.set_color(rcParams["text.color"])
        text.set_fontweight("bold" if k in bold else rcParams["font.weight"])
    panel.tick_params(axis="y", length=0)
    panel.elsv_rows = len(names)
    together = panel.get_shared_y_axes().get_siblings(panel)
    panel.set_ylim(max(getattr(other, "elsv_rows", 0) for other in together) - 0.5, -0.5)
    return panel


def dot(
    axes: Any,
    row: int,
    value: float,
    interval: tuple[float, float] | None,
    colour: str,
    number: str | None,
    hollow: bool = False,
) -> None:
    """Draw one dot, filled or hollow; `interval` says how far it reaches below and above the dot.

    Its number stands at the right if the row is named and the figure makes room for it by itself.
    """
    from matplotlib import rcParams

    axes.errorbar(
        [value],
        [row],
        xerr=None if interval is None else [[side] for side in interval],
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
    if number and figure_of([axes]).get_layout_engine() is not None and row in axes.get_yticks():
        place = axes.get_yaxis_transform()
        axes.annotate(number, (1.02, row), xycoords=place, va="center", color=rcParams["text.color"])
