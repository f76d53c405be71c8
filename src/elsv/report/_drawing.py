"""What the figures share: lines with bands, and ticks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.typing import IntArray
from elsv.report.style import Style


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
    drawn: dict[str, Any] = {}
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


def _some_of(points: int, number: int) -> tuple[int, int]:
    """Return where a line has markers: at every seventh of it, not at the same places as the next line."""
    every = max(1, points // 7)
    return (number * every // 3) % every, every


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


def plain_log_ticks(axis: Any) -> None:
    """Label the ticks of a logarithmic axis 1, 10, 100 rather than with powers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    if 0 < high < 100 * low:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.12g}"))
    axis.set_minor_formatter(NullFormatter())


def finite_or_none(value: float | None) -> float | None:
    """Return `value` unless it is missing, infinite or not a number."""
    return value if value is not None and math.isfinite(value) else None
