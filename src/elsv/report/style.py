"""The house style of figures: one look, one colour and dash per policy, the same bytes every time.

Nothing here touches pyplot or leaves a setting behind: figures are made and written inside a style context.
What draws reads its colours and sizes from matplotlib's settings, so that the same code draws in the house
style inside that context and in the user's own outside it.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import math
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial, wraps
from importlib import resources
from pathlib import Path
from typing import Any, BinaryIO, ParamSpec

from elsv._base.files import write_atomically, write_text
from elsv.errors import InvalidInputError, of_extra

INK, SOFT_INK, RULE = "#222222", "#5a5f66", "#d9dce0"
WIDTH = 6.0  # inches
NARROW = 3.9  # for a telephone, where the text of a wider figure would be too small to read
_DASHES: tuple[Any, ...] = ("solid", (0, (5, 1.6)), (0, (1.4, 1.3)), (0, (6, 1.5, 1.4, 1.5)))
_MARKERS = (None, "o", "s", "^", "D", "v", "P", "X")  # of the second time that a colour is used, the third, …
# Okabe and Ito's colours without the yellow, which white paper swallows; wine, grey and ink added. Each with
# what it becomes on dark paper, and the well-known policies that have it.
_PALETTE = (
    ("#0072B2", "#4ea6e6", "elsv"),
    ("#D55E00", "#f58a3f", "thompson"),
    ("#009E73", "#2ec498", "bayes-ucb"),
    ("#CC79A7", "#e39cc5", "gittins"),
    ("#E69F00", "#f2b632", "finite-gittins ucb"),
    ("#56B4E9", "#92d4fb", "ucb1 kl-ucb"),
    ("#882255", "#d9648f", "optimistic-gittins"),
    ("#6b7078", "#a0a7b0", "greedy random fixed"),
    (INK, "#eceef0", "plan"),
)
_PREFERRED = {name: k for k, (_, _, names) in enumerate(_PALETTE) for name in names.split()}
# What fills an area by value stays as it is.
DARK = {colour.lower(): dark for colour, dark, _ in _PALETTE} | {
    SOFT_INK: "#aab2bb",
    RULE: "#3a414a",
    "#ffffff": "#1b1f24",
    "#000000": "#eceef0",
    "#e3eef7": "#1d3447",
    "#e4f3ed": "#173a30",
}
# How notebooks say that they are dark (JupyterLab, VS Code, Colab), and the colour of their paper.
_DARK_NOTEBOOK = ':is(body[data-jp-theme-light="false"], body.vscode-dark, html[theme=dark]) .elsv-figure'
_NOTEBOOK_PAPER = "var(--jp-layout-color0, var(--vscode-editor-background, #1b1f24))"
_drawing = threading.RLock()
Parameters = ParamSpec("Parameters")


@dataclass(frozen=True)
class Style:
    """How one policy is drawn in every figure of a report."""

    colour: str
    dash: Any
    marker: str | None = None  # where colours repeat


def styles(names: Iterable[str]) -> dict[str, Style]:
    """Return a style for each name: well-known policies keep their own, the others take what is free.

    The first nine differ in colour; the next ones repeat the colours with other dashes and markers.

    Examples
    --------
    >>> styles(["thompson", "elsv"])["elsv"].colour
    '#0072B2'
    """
    slots: dict[str, int] = {}
    found, names = {}, list(names)
    for name in names:
        wanted = _PREFERRED.get(name.partition(":")[0])
        if wanted is not None and wanted not in slots.values():
            slots[name] = wanted
    for name in names:
        slot = slots.setdefault(name, next(k for k in itertools.count() if k not in slots.values()))
        turn, k = divmod(slot, len(_PALETTE))
        dash, marker = _DASHES[(k + turn) % len(_DASHES)], _MARKERS[turn % len(_MARKERS)]
        found[name] = Style(_PALETTE[k][0], dash, marker)
    return found


def look_of(names: Iterable[str], given: Mapping[str, Style] | None = None) -> dict[str, Style]:
    """Return the style of each name: the user's own cycle of colours if one is set, else `given` or ours."""
    from matplotlib import rcParams, rcParamsDefault
    from matplotlib.colors import to_hex

    names, cycle, found = list(names), rcParams["axes.prop_cycle"], {}
    if cycle == rcParamsDefault["axes.prop_cycle"]:
        return {**styles(names), **(given or {})}
    for k, (name, entry) in enumerate(zip(names, itertools.cycle(cycle), strict=False)):
        turn = k // len(cycle)
        dash, marker = _DASHES[turn % len(_DASHES)], _MARKERS[turn % len(_MARKERS)]
        colour = to_hex(entry.get("color", rcParams["lines.color"]))
        found[name] = Style(colour, entry.get("linestyle", dash), entry.get("marker", marker))
    return found


def require_matplotlib() -> None:
    """Raise `MissingExtraError` if figures cannot be drawn."""
    of_extra("matplotlib.figure", "drawing figures", "plot")


@contextmanager
def styled() -> Iterator[None]:
    """Draw in the house style, whatever the user's own settings are; also a decorator.

    The settings are those of the whole process, so that one thread draws at a time.
    """
    require_matplotlib()
    from matplotlib import style

    with _drawing, style.context(["default", _settings()]):
        yield


@cache
def _settings() -> Any:
    from matplotlib import rc_params_from_file

    with resources.as_file(resources.files("elsv.report") / "elsv.mplstyle") as path:
        return rc_params_from_file(path, use_default_template=False)


def redrawable(function: Callable[Parameters, Any]) -> Callable[Parameters, Any]:
    """Draw in the house style unless axes are given, and let the figure be drawn again.

    The function has `width` and `axes`; the figure has as `redraw` what it was drawn from, to be called with
    another width or on the user's own axes.
    """

    @wraps(function)
    def inner(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Any:
        if kwargs.get("axes") is not None:
            return function(*args, **kwargs)
        with styled():
            figure = function(*args, **kwargs)
        figure.redraw = partial(function, *args, **kwargs)
        return figure

    return inner


def new_figure(width: float, height: float) -> Any:
    """Return an empty `matplotlib.figure.Figure`, in inches, that fits itself to its labels."""
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(width, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.06, h_pad=0.06)
    return figure


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


def users_axes(ax: Any, panels: int = 1, height: float = 0.0) -> list[Any]:
    """Return the user's axes, or new ones in a new pyplot figure with the user's own settings, two in a row.

    `height`, in inches, is that of a new figure which has to hold many rows; default: the user's.
    """
    require_matplotlib()
    from matplotlib.axes import Axes

    if ax is None:
        from matplotlib import pyplot, rcParams

        rows, (width, usual) = math.ceil(panels / 2), rcParams["figure.figsize"]
        size = (width, max(usual, height if panels == 1 else 0.55 * usual * rows))
        options: dict[str, Any] = {"figsize": size, "layout": "constrained", "squeeze": False}
        found = list(pyplot.subplots(rows, min(panels, 2), **options)[1].flat)
        for left_over in found[panels:]:
            left_over.remove()
        return found[:panels]
    given = list(getattr(ax, "flat", ax)) if panels > 1 and isinstance(ax, Iterable) else [ax]
    if len(given) != panels:
        raise InvalidInputError(
            f"this picture has {panels} panels: ax must be as many Axes, got {len(given)}"
        )
    for one in given:
        if not isinstance(one, Axes):
            raise InvalidInputError(
                f"ax must be a matplotlib Axes, got {type(one).__name__}; see pyplot.subplots()"
            )
    return given


def figure_of(grid: Sequence[Any]) -> Any:
    """Return the figure of these axes."""
    return grid[0].get_figure(root=True)


def _settle(figure: Any) -> None:
    """Lay a figure out once and for all: a second pass would move things by a hair."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    if isinstance(figure.get_layout_engine(), ConstrainedLayoutEngine):
        figure.draw_without_rendering()
        figure.set_layout_engine(None)  # "none" would leave one behind, for which every file is drawn twice


@styled()
def to_svg(figure: Any) -> str:
    """Return a figure as one ``<svg>`` element whose ids no other figure has; equal figures, equal bytes.

    It is written once: the figure keeps it for the next time.
    """
    if (known := getattr(figure, "elsv_svg", None)) is not None:
        return str(known)
    _settle(figure)
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    text = buffer.getvalue()
    svg = text[text.index("<svg") :].rstrip()
    # The style sheet of an inline svg would act on the whole page; its two rules are inherited instead.
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>\s*", "", svg, count=1, flags=re.DOTALL)
    svg = svg.replace("<svg ", '<svg style="stroke-linejoin:round;stroke-linecap:butt" ', 1)
    svg = re.sub(r'\bd="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), svg)
    prefix = "f" + hashlib.sha256(svg.encode()).hexdigest()[:8]
    svg = re.sub(r'(\bid=")', rf"\1{prefix}-", svg)
    figure.elsv_svg = re.sub(r'(url\(#|href="#)', rf"\1{prefix}-", svg)
    return str(figure.elsv_svg)


def for_page(figure: Any) -> list[str]:
    """Return a figure as ``<svg>``: for a wide screen and, if it can be drawn again, for a telephone.

    It is drawn once: the figure keeps its narrow form for the next time.
    """
    if not hasattr(figure, "redraw"):
        return [to_svg(figure)]
    if not hasattr(figure, "elsv_narrow"):
        figure.elsv_narrow = styled()(figure.redraw)(width=NARROW)
    return [to_svg(figure), to_svg(figure.elsv_narrow)]


def for_notebook(svg: str) -> str:
    """Return an ``<svg>`` in the colours of the notebook that shows it, light or dark, on its own paper."""
    rules = dark_rules(_DARK_NOTEBOOK).replace(DARK["#ffffff"], _NOTEBOOK_PAPER)
    figure = f'<div class="elsv-figure" style="max-width:52em;overflow-x:auto">{svg}</div>'
    return f"<style>{rules}</style>{figure}"


def dark_rules(where: str) -> str:
    """Return the rules of a style sheet that give figures their dark colours, under the selector `where`."""
    return "\n".join(
        f'{where} [style*="{what}: {light}"] {{ {what}: {dark} !important; }}'
        for light, dark in DARK.items()
        for what in ("fill", "stroke")
    )


@styled()
def save(figure: Any, stem: str | Path) -> tuple[Path, Path]:
    """Write ``STEM.svg`` and ``STEM.png``, each atomically, and return their paths."""
    _settle(figure)
    svg, png = (Path(stem).with_name(Path(stem).name + suffix) for suffix in (".svg", ".png"))
    write_text(svg, '<?xml version="1.0" encoding="utf-8"?>\n' + to_svg(figure) + "\n")

    def write(stream: BinaryIO) -> None:
        figure.savefig(stream, format="png", metadata={"Software": None})

    write_atomically(png, write)
    return svg, png
