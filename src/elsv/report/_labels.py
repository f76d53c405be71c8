"""Which line is which: labels at the ends of lines, legends that cover nothing, names of equal lines."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from elsv.errors import InvalidInputError
from elsv.report.style import NARROW, WIDTH, Style

Labels = Literal["ends", "legend", "none"]
_LONGEST_LABEL = 22
_LONGEST_BESIDE_NARROW = 12  # beside the lines of a narrow figure longer ones leave no room for the lines
_CORNERS = ("upper left", "lower right", "upper right", "lower left")


def name_lines(
    axes: Any,
    drawn: Mapping[str, Any],
    ends: Mapping[str, float],
    look: Mapping[str, Style],
    labels: Labels | None,
    own: bool,
) -> None:
    """Say which line is which, at the lines' `ends` if there is room, else in a legend.

    `own` is for axes that were made for this figure, under which a legend may grow. On other axes labels
    stand beside the lines only if the figure lays itself out, since nothing else makes room for them.
    """
    if labels not in (None, "ends", "legend", "none"):
        raise InvalidInputError(f"labels must be 'ends', 'legend' or 'none', got {labels!r}")
    figure = axes.get_figure(root=True)
    if labels == "none":
        return
    if own:
        narrow = figure.get_figwidth() <= NARROW
        longest = max(
            (len(row) for name in ends for row in wrapped(name, _LONGEST_LABEL).split("\n")), default=0
        )
        beside = labels != "legend" and not (narrow and longest > _LONGEST_BESIDE_NARROW)
    else:
        beside = labels == "ends" or (labels is None and figure.get_layout_engine() is not None)
    if beside and label_ends(figure, axes, ends, look):
        return
    drawn = {name: drawn[name] for name in sorted(drawn, key=lambda name: -ends[name])}  # as they lie
    if own:
        legend_below(figure, drawn)
    else:
        free_legend(axes, drawn)


def equal_series(panels: Sequence[Mapping[str, ArrayLike]]) -> dict[str, str]:
    """Return for every name the label that it shares with those whose lines are the same in all panels.

    Examples
    --------
    >>> equal_series([{"a": [1, 2], "b": [1, 3], "c": [1, 2]}])
    {'a': 'a = c', 'c': 'a = c', 'b': 'b'}
    """
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


def merged(
    labels: Mapping[str, str], values: Mapping[str, Any], part_of: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return `values` by the labels of `equal_series`, the first of each; only those also in `part_of`."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if part_of is None or name in part_of:
            found.setdefault(labels.get(name, name), value)
    return found


def text_colour(axes: Any, style: Style) -> str:
    """Return the colour of a line's label, dark enough for light paper."""
    from matplotlib.colors import to_rgb

    return style.ink if sum(to_rgb(axes.get_facecolor())) > 1.5 else style.colour


def label_ends(figure: Any, axes: Any, last: Mapping[str, float], look: Mapping[str, Style]) -> bool:
    """Write each label beside the `last` value of its line, pushed apart where they would overlap.

    Returns False, with nothing written, if the labels are too many for the height; they need a legend.
    """
    from matplotlib import rcParams

    tall = 1.06 * axes.get_position().height * figure.get_figheight()
    line_height = 1.3 * rcParams["font.size"] / (72 * tall)
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
        axes.plot(
            [1.003, 1.022], [end, place], transform=axes.transAxes, linestyle="solid", marker="", **leader
        )
        axes.text(
            1.03,
            place,
            labels[name],
            transform=axes.transAxes,
            va="center",
            color=text_colour(axes, look[name]),
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


def legend_below(figure: Any, entries: Mapping[str, Any]) -> None:
    """Put a legend under the figure, which grows by as much."""
    entries = {wrapped(name, _LONGEST_LABEL + 8): line for name, line in entries.items()}
    longest = max(len(row) for name in entries for row in name.split("\n"))
    columns = max(1, min(len(entries), int(72 * figure.get_figwidth() / WIDTH) // (longest + 7)))
    place = {"loc": "outside lower center", "ncols": columns, "handlelength": 2.6}
    rows = math.ceil(len(entries) / columns) + max(name.count("\n") for name in entries)
    figure.set_figheight(figure.get_figheight() + 0.2 * rows)
    figure.legend(list(entries.values()), list(entries), **place)


def free_legend(axes: Any, entries: Mapping[str, Any]) -> None:
    """Put a legend into a corner without lines; if all have some, above the lines or beside the axes."""
    names = [wrapped(name, _LONGEST_LABEL + 8) for name in entries]
    for corner in _CORNERS:
        box = axes.legend(list(entries.values()), names, loc=corner).get_window_extent()
        if not _covers(axes, box):
            return
    room = axes.get_window_extent()
    for size, columns in ((None, 1), (None, 2), ("small", 2), ("x-small", 2), ("x-small", 3)):
        legend = axes.legend(
            list(entries.values()), names, loc="upper left", ncols=columns, fontsize=size, columnspacing=1.2
        )
        box = legend.get_window_extent()
        share = (box.height + 8.0) / room.height
        if share < 0.5 and box.width < room.width:
            forward, back = axes.transScale, axes.transScale.inverted()
            low, high = (float(forward.transform((1.0, y))[1]) for y in axes.get_ylim())
            axes.set_ylim(top=float(back.transform((1.0, low + (high - low) / (1 - share)))[1]))
            return
    axes.legend(list(entries.values()), names, loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)


def _covers(axes: Any, box: Any) -> bool:
    lines = (line.get_transform().transform_path(line.get_path()) for line in axes.lines)
    bands = (
        band.get_transform().transform_path(path) for band in axes.collections for path in band.get_paths()
    )
    return any(path.intersects_bbox(box, filled=False) for path in lines) or any(
        path.intersects_bbox(box, filled=True) for path in bands
    )


def wrapped(name: str, width: int) -> str:
    r"""Break a policy name after its colon or commas into lines of about `width` characters.

    Examples
    --------
    >>> wrapped("elsv:index=gittins,discount=0.9", 20)
    'elsv:index=gittins,\ndiscount=0.9'
    >>> wrapped("elsv = gittins = thompson", 16)
    'elsv = gittins\n= thompson'
    """
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
