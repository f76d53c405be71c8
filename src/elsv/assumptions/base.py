"""What is found out about an assumption."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from elsv._base.numbers import finite
from elsv.beliefs import MethodUsed
from elsv.structure import Outline
from elsv.structure.evidence import Doubt, Evidence


@dataclass(frozen=True)
class Marginal:
    """What is believed of one arm by itself."""

    mean: float
    low: float  # 2.5 % quantile of the mean
    high: float  # 97.5 % quantile


@dataclass(frozen=True)
class ArmCheck:
    """One arm: what the prior implies, and what is believed after the data."""

    arm: int  # from 0
    name: str
    reward: float
    prior: Marginal
    pulls: int = 0
    posterior: Marginal | None = None  # None without data


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
    something: bool = True  # whether anything is assumed
    decision: float | None = None  # milliseconds that one of the default policy takes; None past the horizon
    segments: str | None = None  # who comes and what is on offer to them, in words

    @property
    def pulls(self) -> int:
        """How many pulls the state shows."""
        return sum(arm.pulls for arm in self.arms)

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
            "evidence": None if self.evidence is None else self.evidence.to_dict(),
            "doubts": [doubt.to_dict() for doubt in self.doubts],
        }
        if self.segments is not None:
            values["segments"] = self.segments
        plain: dict[str, Any] = finite(values)
        return plain
