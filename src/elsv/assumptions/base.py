"""What is found out about an assumption, and where its arms stand in an order."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from graphlib import TopologicalSorter
from typing import Any, cast

from elsv._base.numbers import finite
from elsv.beliefs import MethodUsed
from elsv.beliefs.ladder.ranking import Pairs
from elsv.prior.found import Implied
from elsv.structure import Outline
from elsv.structure.evidence import Doubt, Evidence


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
        """Return what a peak is one of: prior means, or expected rewards."""
        rewarded = outline.scale == "reward"
        return [arm.prior.mean * (arm.reward if rewarded else 1.0) for arm in self.arms]

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
