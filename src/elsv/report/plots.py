"""What results draw with ``plot(ax=…)``: one picture on one matplotlib axes, in the user's own style.

Fonts, sizes, grids and line widths are those of the user's settings (``rcParams``), and so are the colours if
the user has set a cycle of them; else they are the colour-blind safe ones of the reports. Every function
returns the axes. Without `ax` a new pyplot figure is made.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from elsv._base import triangle
from elsv.errors import InvalidInputError
from elsv.report import figures
from elsv.report._drawing import Labels, dot, name_lines, rows_on
from elsv.report.comparison import pictures, regret_of
from elsv.report.style import WIDTH, look_of, require_matplotlib, users_axes
from elsv.simulation.compare import Comparison

_OPTIMAL = "optimal"
_ROW = 0.3  # inches
_MANY_LINES = 8  # of an index; more would hide one another


def plot_comparison(
    comparison: Comparison,
    ax: Any,
    kind: Literal["regret", "final", "differences", "pulls"],
    policy: str | None,
    leave_out: Collection[str],
    log_x: bool,
    labels: Labels | None,
    colours: Mapping[str, str] | None,
) -> Any:
    """Draw a comparison; what the parameters mean is said at `elsv.Comparison.plot`."""
    for name in (*leave_out, *(colours or ()), *(() if policy is None else (policy,))):
        comparison[name]
    if kind == "pulls":
        if policy is None and len(comparison.names) > 1:
            raise InvalidInputError(
                f"kind='pulls' shows one policy: policy= one of {', '.join(comparison.names)}"
            )
        policy, axes = policy or comparison.names[0], users_axes(ax)
        shares = {comparison.label(policy): comparison[policy].pull_share}
        figures.pull_shares(shares, comparison.problem.names, axes=axes)
        return axes[0]
    if policy is not None:
        raise InvalidInputError(f"policy is for kind='pulls', got kind={kind!r}")
    if kind == "regret":
        axes, drawing = users_axes(ax), regret_of(comparison, log_x, leave_out)
        options: dict[str, Any] = {"labels": labels}
    elif kind in ("final", "differences"):
        if kind == "differences" and len(comparison.names) < 2:
            raise InvalidInputError("differences need two policies, got one")
        axes = users_axes(ax, height=1.0 + _ROW * len(comparison.names))
        drawing = pictures(comparison)["final-regret" if kind == "final" else "paired-differences"]
        options = {}
    else:
        raise InvalidInputError(f"kind must be 'regret', 'final', 'differences' or 'pulls', got {kind!r}")
    if colours:
        from matplotlib.colors import to_hex

        look = options["style"] = dict(drawing.keywords["style"])
        for name, colour in colours.items():
            label = comparison.label(name)
            look[label] = replace(look[label], colour=to_hex(colour))
    drawing(axes=axes, **options)
    return axes[0]


def plot_values(regrets: Mapping[str, float], ax: Any = None, *, steps: int) -> Any:
    """Draw the exact regrets of policies over a number of steps, one row a policy, the least on top.

    One that is named ``optimal`` is the Bayes optimum and becomes a line through the rows of the others.
    """
    others = {name: regret for name, regret in regrets.items() if name != _OPTIMAL} or dict(regrets)
    reference = (regrets[_OPTIMAL], "optimum") if _OPTIMAL in regrets and _OPTIMAL not in others else None
    axes = users_axes(ax, height=1.0 + _ROW * len(others))
    label, digits = f"regret over {steps:,} steps, exact", _digits(others.values())
    figures.dot_plot(others, x_label=label, digits=digits, reference=reference, axes=axes)
    return axes[0]


def plot_arms(
    names: Sequence[str],
    values: ArrayLike,
    ax: Any = None,
    *,
    x_label: str,
    best: Collection[int],
    intervals: tuple[ArrayLike, ArrayLike] | None = None,
    marks: tuple[ArrayLike, str] | None = None,
    numbers: Sequence[str] | None = None,
    title: str = "",
) -> Any:
    """Draw one row for each arm: a dot, its interval, a second mark, and a number beside it.

    `best` are the arms to pull, from 0: filled and in bold, the others hollow. `intervals` are lower and
    upper ends, `marks` a second value of each arm and what it is.
    """
    (axes,) = users_axes(ax, height=1.0 + _ROW * len(names))
    rows_on(names, WIDTH, [axes], bold=best)
    first, second = (look.colour for look in look_of(["elsv", "thompson"]).values())
    centres = np.asarray(values, dtype=np.float64)
    low, high = (centres, centres) if intervals is None else map(np.asarray, intervals)
    around = np.stack([centres - low, high - centres], axis=-1).tolist()
    for row, centre in enumerate(centres.tolist()):
        interval = None if intervals is None else around[row]
        number = None if numbers is None else numbers[row]
        dot(axes, row, centre, interval, first, number, hollow=row not in best)
    if marks is not None:
        places, what = np.asarray(marks[0], dtype=np.float64), marks[1]
        finite = np.isfinite(places)
        axes.scatter(
            places[finite], np.flatnonzero(finite), marker="D", s=26, color=second, label=what, zorder=4
        )
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.2)
    axes.margins(x=0.06)
    axes.set_xlabel(x_label)
    if title:
        axes.set_title(title, loc="left")
    return axes


def plot_steps(series: Mapping[str, ArrayLike], ax: Any = None, *, y_label: str) -> Any:
    """Draw what depends on the step alone, such as an expected reward."""
    axes = users_axes(ax)
    steps = np.arange(1, len(np.asarray(next(iter(series.values())))) + 1)
    labels: Labels | None = None if len(series) > 1 else "none"
    figures.lines(steps, series, x_label="step", y_label=y_label, axes=axes, labels=labels)
    return axes[0]


def plot_index(
    table: ArrayLike,
    ax: Any = None,
    *,
    prior: tuple[float, float] = (1.0, 1.0),
    y_label: str = "index",
    labels: Labels | None = None,
) -> Any:
    """Draw the table of an index, such as `elsv.indices.gittins.gittins_table` gives, over an arm's mean.

    One line for each number of pulls, or for some of them if they are many; the mean itself is dotted, so
    that what lies above it is the bonus.

    Parameters
    ----------
    table
        The index of all states with fewer pulls than some number, in the numbering of `elsv._base.triangle`.
    prior
        The counts (α, β) that the table begins with.

    Examples
    --------
    >>> from elsv.indices.gittins import gittins_table
    >>> axes = plot_index(gittins_table(1, 1, levels=30, discount=0.9))
    >>> axes.get_xlabel()
    'mean α / (α + β)'
    """
    require_matplotlib()
    import matplotlib
    from matplotlib.colors import to_hex

    values = np.asarray(table, dtype=np.float64)
    levels = round((np.sqrt(8 * len(values) + 1) - 1) / 2) if values.ndim == 1 else 0
    if triangle.size(levels) != len(values) or levels < 2:
        raise InvalidInputError(
            f"table must have all states of two or more levels (3, 6, 10, … values), got shape {values.shape}"
        )
    successes, pulls = triangle.states(levels)
    alpha, beta = prior[0] + successes, prior[1] + pulls - successes
    mean, (axes,) = alpha / (alpha + beta), users_axes(ax)
    shown = np.unique(np.rint(np.geomspace(1, levels - 1, min(_MANY_LINES, levels - 1))).astype(int)).tolist()
    # The lines of few pulls are dark and those of many are light: they are in order.
    colours = matplotlib.colormaps["viridis"](np.linspace(0.05, 0.85, len(shown)))
    drawn = {}
    for n, colour in zip(shown, colours, strict=True):
        name, x, y = f"{n} {'pull' if n == 1 else 'pulls'}", mean[pulls == n], values[pulls == n]
        look = {"color": to_hex(colour), "marker": "o" if len(x) < 12 else "", "linestyle": "-"}
        (drawn[name],) = axes.plot(x, y, label=name, **look)
    ink = matplotlib.rcParams["text.color"]
    axes.plot([0, 1], [0, 1], color=ink, linestyle=":", marker="", linewidth=0.8)
    axes.set_xlim(0, 1)
    axes.set_xlabel("mean α / (α + β)")
    axes.set_ylabel(y_label)
    name_lines(axes, drawn, labels or "legend", own=False)
    return axes


def _digits(values: Collection[float]) -> int:
    """Return decimals that show the least of these with three digits."""
    least = min((abs(v) for v in values if v), default=1.0)
    return int(np.clip(2 - np.floor(np.log10(least)), 1, 5))
