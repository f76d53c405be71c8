"""Where figures are drawn: on axes of their own, or on those that the user gives."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from elsv.errors import InvalidInputError
from elsv.report.style import NARROW, WIDTH, new_figure, require_matplotlib


def panels_on(
    axes: Sequence[Any] | None,
    panels: int,
    width: float,
    height: float,
    columns: int = 1,
    share_y: bool = False,
    share_x: bool = True,
) -> list[Any]:
    """Return one axes for each panel: those given, or new ones in rows of at most `columns`."""
    if axes is not None:
        if len(axes) != panels:
            raise InvalidInputError(f"this picture has {panels} panels, give as many axes, got {len(axes)}")
        return list(axes)
    if panels == 1 and columns == 1:
        return [new_figure(width, height).add_subplot()]
    columns = columns - 1 if panels == columns + 1 > 2 else min(columns, panels)
    rows = math.ceil(panels / columns)
    figure = new_figure(width if columns > 1 or width <= NARROW else 0.65 * WIDTH, height * rows + 0.6)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=share_x, sharey=share_y).ravel().tolist()
    for left_over in grid[panels:]:
        left_over.remove()
    for lowest in grid[max(0, panels - columns) : panels]:
        lowest.tick_params(labelbottom=True)
    return list(grid[:panels])


def label_outside(grid: Sequence[Any], x_label: str, y_label: str, own: bool) -> None:
    """Write the labels of the axes; on a grid of its own once for each column and row."""
    lowest = {axes.get_subplotspec().colspan.start: id(axes) for axes in grid}.values() if own else ()
    for axes in grid:
        place = axes.get_subplotspec()
        if not own or place.is_first_col():
            axes.set_ylabel(y_label)
        if not own or id(axes) in lowest:
            axes.set_xlabel(x_label)


def checked_axes(ax: Any, height: float | None = None) -> Any:
    """Return the user's axes, or new ones in a new pyplot figure with the user's own settings.

    `height`, in inches, is that of a new figure which has to hold many rows; default: the user's.
    """
    require_matplotlib()
    from matplotlib.axes import Axes

    if ax is None:
        from matplotlib import pyplot, rcParams

        width, usual = rcParams["figure.figsize"]
        size = (width, usual if height is None else max(usual, height))
        return pyplot.subplots(figsize=size, layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise InvalidInputError(
            f"ax must be a matplotlib Axes, got {type(ax).__name__}; see pyplot.subplots()"
        )
    return ax


def figure_of(grid: Sequence[Any]) -> Any:
    """Return the figure of these axes."""
    return grid[0].get_figure(root=True)


def drawn_panels(figure: Any) -> int:
    """Return how many panels a figure has; bars of colours are none."""
    return sum(axes.get_label() != "<colorbar>" for axes in figure.axes)


def several_axes(ax: Any, panels: int) -> list[Any]:
    """Return the user's axes for this many panels, or new ones in a new pyplot figure, two in a row."""
    require_matplotlib()
    if ax is None:
        from matplotlib import pyplot, rcParams

        rows, (width, height) = math.ceil(panels / 2), rcParams["figure.figsize"]
        size = (width, max(height, 0.55 * height * rows))
        found = (
            pyplot.subplots(rows, 2, figsize=size, layout="constrained", squeeze=False)[1].ravel().tolist()
        )
        for left_over in found[panels:]:
            left_over.remove()
        return list(found[:panels])
    given = list(getattr(ax, "flat", ax)) if isinstance(ax, Iterable) else [ax]
    if len(given) != panels:
        raise InvalidInputError(
            f"this picture has {panels} panels: ax must be as many Axes, got {len(given)}"
        )
    return [checked_axes(one) for one in given]
