"""What the figures share: lines with bands, labels at line ends, ticks and legends."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from elsv._typing import IntArray
from elsv.report.style import FONT_SIZE, Style

_LONGEST_LABEL = 22


def draw_lines(
    axes: Any,
    x: ArrayLike,
    series: Mapping[str, ArrayLike],
    half_widths: Mapping[str, ArrayLike] | None,
    look: Mapping[str, Style],
    log_x: bool,
    log_y: bool,
    markers: bool,
) -> dict[str, Any]:
    """Draw every series with its band, thinned to what the eye can tell apart; return the lines."""
    drawn = {}
    abscissa = np.asarray(x, dtype=np.float64)
    keep = thinned(len(abscissa), log_x)
    for name, values in series.items():
        y = np.asarray(values, dtype=np.float64)[keep]
        style = look[name]
        (drawn[name],) = axes.plot(
            abscissa[keep],
            y,
            color=style.colour,
            linestyle=style.dash,
            marker="o" if markers else None,
            markersize=4.5,
        )
        if half_widths is not None and name in half_widths:
            half = np.asarray(half_widths[name], dtype=np.float64)[keep]
            if np.isfinite(half).all():
                axes.fill_between(
                    abscissa[keep], y - half, y + half, color=style.colour, alpha=0.18, linewidth=0
                )
    if len(abscissa) > 1:
        axes.margins(x=0.03 if markers else 0)
    if log_x:
        axes.set_xscale("log")
    if log_y:
        axes.set_yscale("log")
    axes.autoscale_view()
    if log_x:
        plain_log_ticks(axes.xaxis)
    if log_y:
        plain_log_ticks(axes.yaxis)
    return drawn


def last_finite(values: ArrayLike) -> float:
    """Return where a line ends: its last value that is a number.

    Examples
    --------
    >>> last_finite([3.0, 2.0, float("nan")])
    2.0
    """
    y = np.asarray(values, dtype=np.float64)
    finite = y[np.isfinite(y)]
    return float(finite[-1]) if len(finite) else float(y[-1])


def thinned(length: int, log_x: bool = False, most: int = 400) -> IntArray:
    """Return at most `most` positions out of `length`, first and last included."""
    if length <= most:
        return np.arange(length)
    spread = np.geomspace(1, length, most) - 1 if log_x else np.linspace(0, length - 1, most)
    return np.unique(np.rint(spread).astype(np.int64))


def label_ends(figure: Any, axes: Any, last: Mapping[str, float], look: Mapping[str, Style]) -> bool:
    """Write each label beside the `last` value of its line, pushed apart where they would overlap.

    Returns False, with nothing written, if the labels are too many for the height; they need a legend.
    """
    line_height = 1.3 * FONT_SIZE / (72 * 0.82 * figure.get_figheight())
    labels = {name: wrapped(name, _LONGEST_LABEL) for name in last}
    heights = {name: line_height * (1 + label.count("\n")) for name, label in labels.items()}
    if sum(heights.values()) > 1:
        return False
    to_axes = axes.transData + axes.transAxes.inverted()
    right = axes.get_xlim()[1]
    ends = sorted((float(to_axes.transform((right, y))[1]), name) for name, y in last.items())
    places = spread_apart([end for end, _ in ends], [heights[name] for _, name in ends], top=1.0)
    for (end, name), place in zip(ends, places, strict=True):
        leader = {"color": look[name].colour, "linewidth": 0.8, "clip_on": False}
        axes.plot([1.003, 1.022], [end, place], transform=axes.transAxes, **leader)
        axes.text(
            1.03,
            place,
            labels[name],
            transform=axes.transAxes,
            va="center",
            color=look[name].ink,
            linespacing=1.1,
        )
    return True


def spread_apart(places: list[float], heights: list[float], top: float = math.inf) -> list[float]:
    """Return sorted `places` moved so that blocks of these `heights` do not overlap nor go below 0.

    They do not go above `top` either, if there is room for all.

    Examples
    --------
    >>> spread_apart([0.0, 1.0, 1.0], [0.5, 0.5, 0.5])
    [0.25, 0.75, 1.25]
    >>> spread_apart([0.5, 0.9], [0.5, 0.5], top=1.0)
    [0.25, 0.75]
    """
    groups: list[tuple[float, list[float]]] = []  # (centre, heights from the bottom)
    for place, height in zip(places, heights, strict=True):
        centre, blocks = max(min(place, top - height / 2), height / 2), [height]
        while groups and groups[-1][0] + sum(groups[-1][1]) / 2 > centre - sum(blocks) / 2 + 1e-12:
            before, lower = groups.pop()
            centre = (before * len(lower) + centre * len(blocks)) / (len(lower) + len(blocks))
            blocks = lower + blocks
            centre = max(min(centre, top - sum(blocks) / 2), sum(blocks) / 2)
        groups.append((centre, blocks))
    moved = []
    for centre, blocks in groups:
        bottom = centre - sum(blocks) / 2
        for block in blocks:
            moved.append(bottom + block / 2)
            bottom += block
    return moved


def plain_log_ticks(axis: Any) -> None:
    """Label the ticks of a logarithmic axis 1, 10, 100 rather than with powers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    if 0 < high < 100 * low:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.12g}"))
    axis.set_minor_formatter(NullFormatter())


def legend_below(figure: Any, entries: Mapping[str, Any]) -> None:
    """Put a legend under the figure, which grows by as much."""
    columns = max(1, min(len(entries), 72 // (max(map(len, entries)) + 7)))
    place = {"loc": "outside lower center", "ncols": columns, "handlelength": 2.6}
    figure.set_figheight(figure.get_figheight() + 0.2 * math.ceil(len(entries) / columns))
    figure.legend(list(entries.values()), list(entries), **place)


def wrapped(name: str, width: int) -> str:
    r"""Break a policy name after its colon or commas into lines of about `width` characters.

    Examples
    --------
    >>> wrapped("elsv:index=gittins,discount=0.9", 20)
    'elsv:index=gittins,\ndiscount=0.9'
    """
    rows = [""]
    for part in re.findall(r"[^:,]+[:,]?", name) or [name]:
        if rows[-1] and len(rows[-1]) + len(part) > width:
            rows.append("")
        rows[-1] += part
    return "\n".join(rows)


def finite_or_none(value: float | None) -> float | None:
    """Return `value` unless it is missing, infinite or not a number."""
    return value if value is not None and math.isfinite(value) else None
