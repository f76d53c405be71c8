"""What a problem assumes: put together from what its structure and its belief say of themselves, and drawn.

The drawing is as wide as a telephone, 390 units, and its colours follow the reader's light or dark setting.
"""

from __future__ import annotations

import math
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape

import numpy as np

from elsv.assumptions.base import ArmCheck, Findings, levels, line
from elsv.beliefs.abilities import error
from elsv.beliefs.base import mean_of, method_of
from elsv.errors import InvalidInputError
from elsv.policies import DEFAULT_POLICY, make_policy
from elsv.prior.found import believed, shortened
from elsv.problem import Problem
from elsv.state import State, check_arms
from elsv.structure import Outline
from elsv.structure.evidence import doubts, evidence
from elsv.structure.facts import outline_of

_INTERVAL = (0.025, 0.975)
_SEED = 0  # for beliefs that draw
_WIDTH = 390.0
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


class Check(Findings):
    """What a problem assumes; prints as text and draws itself."""

    def __repr__(self) -> str:
        return f"Check({self.assumed!r}, arms={len(self.arms)}, method={self.method.name!r})"

    def svg(self) -> str:
        """Return the order, and the means that it implies, as one SVG image that needs nothing else."""
        canvas = _Canvas()
        canvas.write("What is assumed", "head")
        canvas.write(self.assumed)
        if self.segments:
            canvas.write(f"Segments: {self.segments}")
        canvas.below += 4.0
        parts = self.outline.parts
        now = self.evidence.parts if self.evidence is not None else ()
        for k, (share, words, part) in enumerate(parts):
            changed = f", now {now[k]:.3g}" if k < len(now) else ""
            named = "" if part.pairs or part.peak else f": {words}"
            canvas.write(f"({k + 1}) with probability {share:g}{changed}{named}", "soft")
            _picture(canvas, part, self)
        _picture(canvas, self.outline, self)
        _intervals(canvas, self)
        canvas.write(f"Method: {self.method.words}", "soft")
        if self.evidence is not None:
            canvas.write(self.evidence.describe(), "bad" if self.evidence.contradicted else "")
        width, height, body = round(_WIDTH), round(canvas.below + 2), "\n".join(canvas.elements)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img">\n<title>What is assumed of {len(self.arms)} arms</title>\n'
            f'<style>{_STYLE}</style>\n<rect class="paper" width="100%" height="100%"/>\n{body}\n</svg>\n'
        )

    def _repr_svg_(self) -> str:
        return self.svg()


def check(problem: Problem, state: State | None = None) -> Check:
    """Return what a problem assumes, what that implies before any data, and what it costs to compute.

    Parameters
    ----------
    problem
        Whose structure is checked.
    state
        Data, as Beta counts of one instance: what they say for or against the structure, and the means after
        them. Default: none.

    Examples
    --------
    >>> found = check(Problem(rewards=[1, 1], order="decreasing", horizon=5), State([1, 9], [9, 1]))
    >>> found.assumed
    'the means decrease: each arm succeeds at least as often as the next'
    >>> [round(arm.prior.mean, 3) for arm in found.arms]
    [0.667, 0.333]
    >>> found.evidence.contradicted
    True
    """
    belief, start = problem.belief, State.initial(problem)
    now = start if state is None else state
    check_arms(now, problem)
    if now.shape != ():
        raise InvalidInputError(f"state must be of one instance, got a batch of shape {now.shape}")
    before = believed(problem, start, _INTERVAL)
    after = [None] * problem.arms if state is None else believed(problem, now, _INTERVAL)
    pulls = now.pulls(problem).astype(int).tolist()
    pairs = " ".join(f"{a:g},{b:g}" for a, b in zip(now.alpha, now.beta, strict=True))
    each = zip(problem.names, problem.rewards.tolist(), before, pulls, after, strict=True)
    wrong = float(error(belief, now))
    said = evidence(problem, now) if any(pulls) else None
    return Check(
        assumed=problem.structure.describe(),
        outline=outline_of(problem.structure),
        arms=tuple(ArmCheck(i, *one) for i, one in enumerate(each)),
        method=method_of(belief, now),
        milliseconds=_milliseconds(lambda near: mean_of(belief, near, np.random.default_rng(_SEED)), now),
        error=None if math.isnan(wrong) else wrong,
        state=None if state is None else pairs,
        evidence=said,
        doubts=doubts(problem, now, said),
        decision=_decision(problem, now),
        segments=problem.segments.describe(problem.names),
    )


def _decision(problem: Problem, state: State) -> float | None:
    """Return the milliseconds that a decision of the default policy takes; None after the last one."""
    step = int(state.pulls(problem).sum()) + 1
    if problem.horizon is not None and step > problem.horizon:
        return None
    policy, rng = make_policy(DEFAULT_POLICY, problem), np.random.default_rng(_SEED)
    return _milliseconds(lambda near: policy(near, step, rng, problem.segments.turns[0]), state)


def _milliseconds(work: Callable[[State], object], state: State) -> float:
    """Return the milliseconds that `work` takes near a state, the least of two: the first may compile."""
    spent = []
    for arm in range(2):
        more = (np.arange(state.arms) == arm % state.arms) * (1.0 + arm // state.arms)
        near = State(state.alpha + more, state.beta)
        began = time.perf_counter()
        work(near)
        spent.append(time.perf_counter() - began)
    return 1e3 * min(spent)


@dataclass
class _Canvas:
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


def _picture(canvas: _Canvas, outline: Outline, found: Findings) -> None:
    """Draw an order, rows and columns, or a curve; nothing where there is nothing to draw."""
    names = [arm.name for arm in found.arms]
    if outline.peak:
        _curve(canvas, found.worth(outline))
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


def _line(canvas: _Canvas, names: list[str]) -> None:
    """Draw arms one after another, the largest first, in as many rows as it takes."""
    across = _EDGE
    for k, name in enumerate(names):
        label = _fit(name, _WIDTH - 2 * _EDGE - 40)
        width = _LETTER * len(label) + 14
        if across + width > _WIDTH - _EDGE and k:
            across, canvas.below = _EDGE, canvas.below + 32
        _box(canvas, across + width / 2, canvas.below, width, label)
        across += width
        if k + 1 < len(names):
            canvas.add("text", "≥", x=across + 4, y=canvas.below + 4.5, class_="soft")
            across += 17
    canvas.below += 38


def _levels(canvas: _Canvas, outline: Outline, names: list[str], rows: list[list[int]]) -> None:
    """Draw arms in rows with lines between them; the upper end of a line is the larger arm."""
    most = max(map(len, rows))
    room = (_WIDTH - 2 * _EDGE) / min(most, 11)
    if max(map(len, names)) * _LETTER + 14 > room - 8 and room < 90:
        names, canvas.numbered = [str(arm + 1) for arm in range(len(names))], True
    place: dict[int, tuple[float, float]] = {}
    top = canvas.below
    for row in rows:
        for first in range(0, len(row), 11):
            part = row[first : first + 11]
            gap = (_WIDTH - 2 * _EDGE) / (most if outline.grid is not None and most <= 11 else len(part))
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


def _box(canvas: _Canvas, x: float, y: float, width: float, label: str) -> None:
    canvas.add("rect", x=x - width / 2, y=y - _BOX / 2, width=width, height=_BOX, rx=5, class_="box")
    canvas.add("text", label, x=x, y=y + 4.5, class_="middle")


def _fit(name: str, room: float) -> str:
    return shortened(name, max(1, int(room / _LETTER)))


def _curve(canvas: _Canvas, worth: list[float]) -> None:
    """Draw what the prior implies as a curve over the arms."""
    top, height = canvas.below, 70.0
    span = max(worth) - min(worth) or 1.0
    gap = (_WIDTH - 2 * _EDGE) / len(worth)
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


def _intervals(canvas: _Canvas, found: Findings) -> None:
    """Draw means and 95 % intervals of all arms from 0 to 1."""
    canvas.below += 6
    data = found.state is not None
    canvas.write("Means and 95 % intervals" + ("" if data else " before any data"), "head")
    if data:
        canvas.write(f"wide and grey: before any data; narrow: after {found.pulls} pulls", "soft")
    left, right = 150.0, _WIDTH - _EDGE - 44
    top = canvas.below

    def at(x: float) -> float:
        return left + (right - left) * x

    bottom = top + _ROW * len(found.arms)
    for mark in (0.0, 0.5, 1.0):
        canvas.add("line", x1=at(mark), y1=top - 8, x2=at(mark), y2=bottom - 8, class_="rule")
        canvas.add("text", f"{mark:g}", x=at(mark), y=bottom + 6, class_="soft middle")
    for k, arm in enumerate(found.arms):
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
        canvas.add("text", f"{shown.mean:.3f}", x=_WIDTH - _EDGE, y=y + 4.5, class_="end")
    canvas.below = bottom + 34
