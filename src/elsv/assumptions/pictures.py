"""Pictures of what is assumed, of the arms in an order or under a peak: as text and as SVG.

An image is as wide as a telephone, 390 units, and its colours follow the reader's light or dark setting.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from html import escape

from elsv.beliefs.ladder.ranking import Pairs
from elsv.prior.found import Implied, shortened
from elsv.structure import Outline

WIDTH = 96
_LABEL = 10  # columns of the words on the left
_BAR = 25  # columns of an interval from 0 to 1
_CELL = 14  # columns of a name
_MANY = 60  # arms up to which a tree is drawn line by line
_STEPS = "▁▂▃▄▅▆▇█"
_ACROSS = 390.0  # units of an image
_EDGE = 14.0  # left and right
_LETTER = 6.9  # width of a letter of 13 units, about
_BOX = 24.0  # height of an arm
_STEP = 46.0  # from a row of arms to the next
_ROW = 30.0  # of an interval
_LETTERS = 54  # of a line of text
_STYLE = """
svg { color-scheme: light dark; background: var(--paper); --paper: #fdfdfb; --ink: #1c1f23; --soft: #5a6068;
  --rule: #c4c9d0; --wash: #eef1f3; --accent: #0b5c8f; --bad: #b3401f; }
@media (prefers-color-scheme: dark) {
  svg { --paper: #15181c; --ink: #e4e6e8; --soft: #a3abb4;
    --rule: #49515b; --wash: #252b32; --accent: #7dbde8; --bad: #f29b7f; }
}
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, Arial, "DejaVu Sans", sans-serif; }
text { fill: var(--ink); }
.head { font-weight: 600; }
.soft { fill: var(--soft); }
.bad { fill: var(--bad); }
.middle { text-anchor: middle; }
.end { text-anchor: end; }
.paper { fill: var(--paper); }
.box { fill: var(--wash); stroke: var(--rule); }
.edge { stroke: var(--soft); fill: none; }
.rule { stroke: var(--rule); }
.curve { stroke: var(--accent); stroke-width: 2; fill: none; }
.prior { stroke: var(--rule); stroke-width: 8; stroke-linecap: round; }
.now { stroke: var(--accent); stroke-width: 3; stroke-linecap: round; }
.dot { fill: var(--accent); }
.ring { fill: var(--paper); stroke: var(--soft); stroke-width: 2; }
"""


@dataclass(frozen=True)
class ArmCheck:
    """One arm: what the prior implies, and what is believed after the data."""

    arm: int  # from 0
    name: str
    reward: float
    prior: Implied
    pulls: int = 0
    posterior: Implied | None = None  # None without data

    def worth(self, outline: Outline) -> float:
        """Return what has a peak over the arms: the prior mean, or the expected reward."""
        return self.prior.mean * (self.reward if outline.scale == "reward" else 1.0)


def line(arms: int, pairs: Pairs) -> list[int] | None:
    """Return all arms from the largest to the smallest if the order is one line, else None."""
    after = dict(pairs)
    tops = set(range(arms)) - set(after.values())
    if len(pairs) != arms - 1 or len(after) != arms - 1 or len(tops) != 1:
        return None
    found = [tops.pop()]
    while found[-1] in after:
        found.append(after[found[-1]])
    return found if len(found) == arms else None


def levels(arms: int, pairs: Pairs) -> list[list[int]]:
    """Return arms in rows, each below all that are known to be larger.

    In a row they stand about where their neighbours in the row above do, so that few lines cross.
    """
    above: dict[int, list[int]] = {arm: [] for arm in range(arms)}
    for a, b in pairs:
        above[b].append(a)
    rows: list[list[int]] = []
    place: dict[int, float] = {}
    sorter = TopologicalSorter(above)
    sorter.prepare()
    while sorter:
        ready = sorter.get_ready()
        row = sorted((sum(place[a] for a in above[arm]) / max(1, len(above[arm])), arm) for arm in ready)
        rows.append([arm for _, arm in row])
        place |= {arm: (k + 0.5) / len(row) for k, arm in enumerate(rows[-1])}
        sorter.done(*ready)
    return rows


def picture(outline: Outline, arms: Sequence[ArmCheck]) -> list[str]:
    """Return rows, a tree, one line, levels or a curve; nothing where there is nothing to draw."""
    names = [arm.name for arm in arms]
    rows = _blocks([arm.worth(outline) for arm in arms], names) if outline.peak else []
    if outline.grid is not None:
        rows += _grid(outline.grid, names)
    elif outline.pairs:
        rows += _order(outline.pairs, names)
    if rows and outline.scale == "reward":
        rows.append("of reward times mean")
    return [f"{' ' * _LABEL}{row}".rstrip() for row in rows]


def _order(pairs: Pairs, names: list[str]) -> list[str]:
    count = len(names)
    if (one := line(count, pairs)) is not None:
        joined = " ≥ ".join(names[arm].replace(" ", "\N{NO-BREAK SPACE}") for arm in one)
        wrapped = textwrap.wrap(joined, WIDTH - _LABEL, break_long_words=False, break_on_hyphens=False)
        return [row.replace("\N{NO-BREAK SPACE}", " ") for row in wrapped]
    if len({b for _, b in pairs}) == len(pairs) and count <= _MANY:  # one arm above each
        return _trees(pairs, names)
    above: list[list[str]] = [[] for _ in names]
    for a, b in pairs:
        above[b].append(names[a])
    return [
        f"{shortened(names[arm], _CELL):<{_CELL}}" + (f" ≤ {', '.join(above[arm])}" if above[arm] else "")
        for row in levels(count, pairs)
        for arm in row
    ]


def _trees(pairs: Pairs, names: list[str]) -> list[str]:
    """Return trees from the largest arm down; an arm with nothing above it begins one."""
    below = {arm: [b for a, b in pairs if a == arm] for arm in range(len(names))}
    lower = {b for _, b in pairs}
    rows: list[str] = []

    def grow(arm: int, first: str, rest: str) -> None:
        rows.append(first + names[arm])
        for k, child in enumerate(below[arm]):
            last = k + 1 == len(below[arm])
            grow(child, rest + ("└ ≥ " if last else "├ ≥ "), rest + ("    " if last else "│   "))

    for arm in range(len(names)):
        if arm not in lower:
            grow(arm, "", "")
    return rows


def _grid(size: tuple[int, int], names: list[str]) -> list[str]:
    """Return the arms row by row, with signs between them."""
    rows, columns = size
    room = max(3, min(max(map(len, names)), (WIDTH - _LABEL) // columns - 3))
    cells = [shortened(name, room) for name in names]
    found = []
    for r in range(rows):
        own = cells[r * columns : (r + 1) * columns]
        if r:
            found.append("   ".join(f"{'∨':^{len(cell)}}".ljust(room) for cell in own))
        found.append(" ≥ ".join(cell.ljust(room) for cell in own))
    return [*found, "≥ and ∨: the arm before it, or above it, is at least as good"]


def _blocks(worth: list[float], names: list[str]) -> list[str]:
    """Return what the prior implies as a curve of blocks, one for each arm."""
    low = min(worth)
    step = (max(worth) - low) / (len(_STEPS) - 1) or 1.0
    blocks = " ".join(_STEPS[round((value - low) / step)] for value in worth)
    ends = f"from {names[0]} up to one arm, which is not known, and down to {names[-1]}"
    return [*textwrap.wrap(blocks, WIDTH - _LABEL), ends]


def table(arms: Sequence[ArmCheck], before: bool) -> list[str]:
    """Return means and intervals, each with a bar from 0 to 1."""
    pulls = "" if before else f"{'pulls':>6} "
    scale = "0" + "1".rjust(_BAR - 1)
    rows = [f"{'arm':>4}  {'name':<16} {pulls}{'mean':>7}   {'95 % interval':<16}  {scale}"]
    for arm in arms:
        shown = arm.prior if before or arm.posterior is None else arm.posterior
        pulled = "" if before else f"{arm.pulls:>6} "
        rows.append(
            f"{arm.arm + 1:>4}  {shortened(arm.name, 16):<16} {pulled}{shown.mean:>7.4f}   "
            f"[{shown.low:.4f}, {shown.high:.4f}]  {_bar(shown)}"
        )
    return rows


def _bar(shown: Implied) -> str:
    """Return an interval and its mean on a line from 0 to 1."""
    low, middle, high = (round(x * (_BAR - 1)) for x in (shown.low, shown.mean, shown.high))
    marks = ["━" if low <= k <= high else "·" for k in range(_BAR)]
    marks[middle] = "●"
    return "".join(marks)


@dataclass
class Canvas:
    """Elements from the top down, and how far down they reach."""

    below: float = 22.0
    elements: list[str] = field(default_factory=list)
    numbered: bool = False  # whether arms are drawn as their numbers somewhere

    def add(self, tag: str, content: str | None = None, **attributes: object) -> None:
        """Add an element; numbers are shortened, and an underscore ends a name that Python has taken."""
        plain = {key: f"{x:.4g}" if isinstance(x, float) else escape(str(x)) for key, x in attributes.items()}
        said = "".join(f' {key.rstrip("_")}="{value}"' for key, value in plain.items())
        self.elements.append(
            f"<{tag}{said}/>" if content is None else f"<{tag}{said}>{escape(content)}</{tag}>"
        )

    def write(self, said: str, kind: str = "") -> None:
        """Add wrapped lines of text."""
        for row in textwrap.wrap(said, _LETTERS, break_on_hyphens=False):
            self.add("text", row, x=_EDGE, y=self.below, class_=kind)
            self.below += 18.0

    def svg(self, title: str) -> str:
        """Return all elements as one image that needs nothing else."""
        width, height, body = round(_ACROSS), round(self.below + 2), "\n".join(self.elements)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img">\n<title>{title}</title>\n'
            f'<style>{_STYLE}</style>\n<rect class="paper" width="100%" height="100%"/>\n{body}\n</svg>\n'
        )


def draw(canvas: Canvas, outline: Outline, arms: Sequence[ArmCheck]) -> None:
    """Draw an order, rows and columns, or a curve; nothing where there is nothing to draw."""
    names = [arm.name for arm in arms]
    if outline.peak:
        _curve(canvas, [arm.worth(outline) for arm in arms])
    if outline.grid is not None:
        columns = outline.grid[1]
        rows = [list(range(k, k + columns)) for k in range(0, len(names), columns)]
        _levels(canvas, outline, names, rows)
    elif outline.pairs and (one := line(len(names), outline.pairs)) is not None:
        _line(canvas, [names[arm] for arm in one])
    elif outline.pairs:
        _levels(canvas, outline, names, levels(len(names), outline.pairs))
    if outline.scale == "reward" and (outline.pairs or outline.peak):
        canvas.write("of reward times mean", "soft")


def _line(canvas: Canvas, names: list[str]) -> None:
    """Draw arms one after another, the largest first, in as many rows as it takes."""
    across = _EDGE
    for k, name in enumerate(names):
        label = _fit(name, _ACROSS - 2 * _EDGE - 40)
        width = _LETTER * len(label) + 14
        if across + width > _ACROSS - _EDGE and k:
            across, canvas.below = _EDGE, canvas.below + 32
        _box(canvas, across + width / 2, canvas.below, width, label)
        across += width
        if k + 1 < len(names):
            canvas.add("text", "≥", x=across + 4, y=canvas.below + 4.5, class_="soft")
            across += 17
    canvas.below += 38


def _levels(canvas: Canvas, outline: Outline, names: list[str], rows: list[list[int]]) -> None:
    """Draw arms in rows with lines between them; the upper end of a line is the larger arm."""
    most = max(map(len, rows))
    room = (_ACROSS - 2 * _EDGE) / min(most, 11)
    if max(map(len, names)) * _LETTER + 14 > room - 8 and room < 90:
        names, canvas.numbered = [str(arm + 1) for arm in range(len(names))], True
    place: dict[int, tuple[float, float]] = {}
    top = canvas.below
    for row in rows:
        for first in range(0, len(row), 11):
            part = row[first : first + 11]
            gap = (_ACROSS - 2 * _EDGE) / (most if outline.grid is not None and most <= 11 else len(part))
            for k, arm in enumerate(part):
                place[arm] = (_EDGE + (k + 0.5) * gap, top)
            top += _STEP
    for a, b in outline.pairs:
        (x1, y1), (x2, y2) = place[a], place[b]
        canvas.add("line", x1=x1, y1=y1, x2=x2, y2=y2, class_="edge")
    for arm, (x, y) in place.items():
        label = _fit(names[arm], room - 8)
        _box(canvas, x, y, max(24.0, _LETTER * len(label) + 12), label)
    canvas.below = top - 10
    across = "to the left and " if outline.grid is not None else ""
    canvas.write(f"Of two arms joined by a line the one {across}above is at least as good.", "soft")
    canvas.below += 4


def _box(canvas: Canvas, x: float, y: float, width: float, label: str) -> None:
    canvas.add("rect", x=x - width / 2, y=y - _BOX / 2, width=width, height=_BOX, rx=5, class_="box")
    canvas.add("text", label, x=x, y=y + 4.5, class_="middle")


def _fit(name: str, room: float) -> str:
    return shortened(name, max(1, int(room / _LETTER)))


def _curve(canvas: Canvas, worth: list[float]) -> None:
    """Draw what the prior implies as a curve over the arms."""
    top, height = canvas.below, 70.0
    span = max(worth) - min(worth) or 1.0
    gap = (_ACROSS - 2 * _EDGE) / len(worth)
    points = [
        (_EDGE + (k + 0.5) * gap, top + height * (1 - (value - min(worth)) / span))
        for k, value in enumerate(worth)
    ]
    canvas.numbered = True
    canvas.add("polyline", points=" ".join(f"{x:.4g},{y:.4g}" for x, y in points), class_="curve")
    for k, (x, y) in enumerate(points):
        canvas.add("circle", cx=x, cy=y, r=3, class_="dot")
        if gap >= 20 or k in (0, len(worth) - 1):
            canvas.add("text", str(k + 1), x=x, y=top + height + 20, class_="soft middle")
    canvas.below = top + height + 42
    canvas.write("Up to one arm, which is not known, and down from there.", "soft")


def draw_intervals(canvas: Canvas, arms: Sequence[ArmCheck]) -> None:
    """Draw means and 95 % intervals of all arms from 0 to 1."""
    canvas.below += 6
    data = arms[0].posterior is not None
    canvas.write("Means and 95 % intervals" + ("" if data else " before any data"), "head")
    if data:
        canvas.write(
            f"wide and grey: before any data; narrow: after {sum(arm.pulls for arm in arms)} pulls", "soft"
        )
    left, right = 150.0, _ACROSS - _EDGE - 44
    top = canvas.below

    def at(x: float) -> float:
        return left + (right - left) * x

    bottom = top + _ROW * len(arms)
    for mark in (0.0, 0.5, 1.0):
        canvas.add("line", x1=at(mark), y1=top - 8, x2=at(mark), y2=bottom - 8, class_="rule")
        canvas.add("text", f"{mark:g}", x=at(mark), y=bottom + 6, class_="soft middle")
    for k, arm in enumerate(arms):
        y = top + _ROW * (k + 0.5) - 8
        plain = not canvas.numbered or arm.name == f"arm {arm.arm + 1}"
        label = arm.name if plain else f"{arm.arm + 1} {arm.name}"
        canvas.add("text", _fit(label, left - _EDGE - 6), x=_EDGE, y=y + 4.5)
        shown = arm.posterior or arm.prior
        canvas.add("line", x1=at(arm.prior.low), x2=at(arm.prior.high), y1=y, y2=y, class_="prior")
        if arm.posterior is not None:
            canvas.add("circle", cx=at(arm.prior.mean), cy=y, r=4, class_="ring")
            canvas.add("line", x1=at(shown.low), x2=at(shown.high), y1=y, y2=y, class_="now")
        canvas.add("circle", cx=at(shown.mean), cy=y, r=4, class_="dot")
        canvas.add("text", f"{shown.mean:.3f}", x=_ACROSS - _EDGE, y=y + 4.5, class_="end")
    canvas.below = bottom + 34
