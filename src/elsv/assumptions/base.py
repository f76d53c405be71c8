"""What is found out about an assumption, as values and as text, and where its arms stand in an order."""

from __future__ import annotations

import textwrap
from dataclasses import asdict, dataclass, replace
from functools import partial
from graphlib import TopologicalSorter
from typing import Any, cast

from elsv._base.numbers import finite
from elsv.beliefs import MethodUsed
from elsv.beliefs.ladder.ranking import Pairs
from elsv.policies import DEFAULT_POLICY
from elsv.prior.found import Implied, labelled, shortened
from elsv.structure import Outline
from elsv.structure.evidence import Doubt, Evidence

_WIDTH = 96
_LABEL = 10  # columns of the words on the left
_BAR = 25  # columns of an interval from 0 to 1
_CELL = 14  # columns of a name
_MANY = 60  # arms up to which a tree is drawn line by line
_STEPS = "▁▂▃▄▅▆▇█"
_labelled = partial(labelled, width=_WIDTH, indent=_LABEL)


@dataclass(frozen=True)
class ArmCheck:
    """One arm: what the prior implies, and what is believed after the data."""

    arm: int  # from 0
    name: str
    reward: float
    prior: Implied
    pulls: int = 0
    posterior: Implied | None = None  # None without data


@dataclass(frozen=True)
class Findings:
    """What is assumed, what it implies, how it is computed, and what data say of it."""

    assumed: str  # in words
    outline: Outline
    arms: tuple[ArmCheck, ...]
    method: MethodUsed
    milliseconds: float  # that the means of one state take
    error: float | None  # of the means, as the belief measures it; None where it does not
    state: str | None = None  # alpha,beta pairs; None: no state was given
    evidence: Evidence | None = None  # None without data, or where nothing is assumed
    doubts: tuple[Doubt, ...] = ()  # what in the data speaks against what is assumed
    decision: float | None = None  # milliseconds that one of the default policy takes; None past the horizon
    segments: str = ""  # who comes and what is on offer to them, in words; empty where nobody named any

    @property
    def pulls(self) -> int:
        """How many pulls the state shows."""
        return sum(arm.pulls for arm in self.arms)

    def worth(self, outline: Outline) -> list[float]:
        """Return what has a peak over the arms: prior means, or expected rewards."""
        rewarded = outline.scale == "reward"
        return [arm.prior.mean * (arm.reward if rewarded else 1.0) for arm in self.arms]

    def __str__(self) -> str:
        rows = _labelled("assumed", self.assumed)
        if self.segments:
            rows += _labelled("segments", self.segments)
        for share, words, part in self.outline.parts:
            rows += ["", f"with probability {share:g}", *(_picture(part, self) or _labelled("", words))]
        if drawn := _picture(self.outline, self):
            rows += ["", *drawn]
        rows += ["", "before any data", *_table(self.arms, before=True), ""]
        rows += _labelled("method", self.method.words)
        rows += _labelled("cost", _cost(self))
        rows += _labelled("error", _error(self.error))
        if self.state is not None:
            after = f"after {self.pulls} pull{'' if self.pulls == 1 else 's'} ({self.state})"
            rows += ["", after, *_table(self.arms, before=False), ""]
            rows += _data(self)
        return "\n".join(rows)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, for people: arms from 1."""
        values = {
            "assumed": self.assumed,
            "outline": self.outline.to_dict(),
            "arms": [{**asdict(arm), "arm": arm.arm + 1} for arm in self.arms],
            "method": self.method.to_dict(),
            "milliseconds": self.milliseconds,
            "decision_milliseconds": self.decision,
            "error": self.error,
            "state": self.state,
            "pulls": self.pulls,
            "evidence": self.evidence and self.evidence.to_dict(),
            "doubts": [doubt.to_dict() for doubt in self.doubts],
            **({"segments": self.segments} if self.segments else {}),
        }
        return cast(dict[str, Any], finite(values))


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


def _data(found: Findings) -> list[str]:
    """Return what the data say."""
    if not found.pulls:
        return _labelled("data", "none yet")
    if found.evidence is None:
        rows = _labelled("data", "nothing is assumed, so that data cannot contradict it")
    else:
        rows = _labelled("data", found.evidence.describe())
        rows += _labelled("", replace(found.evidence, parts=()).figures())
        for (share, words, _), now in zip(found.outline.parts, found.evidence.parts, strict=False):
            rows += _labelled("", f"{share:g} → {now:.3g}  {words}")
    for doubt in found.doubts:
        rows += _labelled("warning", doubt.words)
    return rows


def _cost(found: Findings) -> str:
    """Return what the means and a decision take."""
    said = f"means {_time(found.milliseconds)} a state"
    if found.decision is not None:
        said += f", {DEFAULT_POLICY} {_time(found.decision)} a decision"
    beliefs = int(found.method.figures.get("beliefs", 1))
    return f"{said}, on this machine" + (f"; each evaluates {beliefs} beliefs" if beliefs > 1 else "")


def _time(milliseconds: float) -> str:
    return f"{milliseconds:.2g} ms" if milliseconds < 100 else f"{milliseconds / 1e3:.2g} s"


def _error(error: float | None) -> str:
    if error is None:
        return "not measured by this belief"
    return f"{error:.1g} in a mean" if error else "none, exact to rounding"


def _picture(outline: Outline, found: Findings) -> list[str]:
    """Return rows, a tree, one line, levels or a curve; nothing where there is nothing to draw."""
    names = [arm.name for arm in found.arms]
    rows = _curve(found.worth(outline), names) if outline.peak else []
    if outline.grid is not None:
        rows += _grid(outline.grid, names)
    elif outline.pairs:
        rows += _order(outline, names)
    if rows and outline.scale == "reward":
        rows.append("of reward times mean")
    return [f"{' ' * _LABEL}{row}".rstrip() for row in rows]


def _order(outline: Outline, names: list[str]) -> list[str]:
    count = len(names)
    if (one := line(count, outline.pairs)) is not None:
        joined = " ≥ ".join(names[arm].replace(" ", "\N{NO-BREAK SPACE}") for arm in one)
        wrapped = textwrap.wrap(joined, _WIDTH - _LABEL, break_long_words=False, break_on_hyphens=False)
        return [row.replace("\N{NO-BREAK SPACE}", " ") for row in wrapped]
    if len({b for _, b in outline.pairs}) == len(outline.pairs) and count <= _MANY:  # one arm above each
        return _trees(outline, names)
    above: list[list[str]] = [[] for _ in names]
    for a, b in outline.pairs:
        above[b].append(names[a])
    return [
        f"{shortened(names[arm], _CELL):<{_CELL}}" + (f" ≤ {', '.join(above[arm])}" if above[arm] else "")
        for row in levels(count, outline.pairs)
        for arm in row
    ]


def _trees(outline: Outline, names: list[str]) -> list[str]:
    """Return trees from the largest arm down; an arm with nothing above it begins one."""
    below = {arm: [b for a, b in outline.pairs if a == arm] for arm in range(len(names))}
    lower = {b for _, b in outline.pairs}
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
    room = max(3, min(max(map(len, names)), (_WIDTH - _LABEL) // columns - 3))
    cells = [shortened(name, room) for name in names]
    found = []
    for r in range(rows):
        own = cells[r * columns : (r + 1) * columns]
        if r:
            found.append("   ".join(f"{'∨':^{len(cell)}}".ljust(room) for cell in own))
        found.append(" ≥ ".join(cell.ljust(room) for cell in own))
    return [*found, "≥ and ∨: the arm before it, or above it, is at least as good"]


def _curve(worth: list[float], names: list[str]) -> list[str]:
    """Return what the prior implies as a curve of blocks, one for each arm."""
    low = min(worth)
    step = (max(worth) - low) / (len(_STEPS) - 1) or 1.0
    blocks = " ".join(_STEPS[round((value - low) / step)] for value in worth)
    ends = f"from {names[0]} up to one arm, which is not known, and down to {names[-1]}"
    return [*textwrap.wrap(blocks, _WIDTH - _LABEL), ends]


def _table(arms: tuple[ArmCheck, ...], before: bool) -> list[str]:
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
