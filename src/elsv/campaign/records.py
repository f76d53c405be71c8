"""What the log holds and what callers get back; times are seconds since 1970, arms count from 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

RECORDED, LATE, TOO_LATE, DUPLICATE, CONFLICT = "recorded", "late", "too late", "duplicate", "conflict"


@dataclass(frozen=True)
class Decision:
    """An arm for a customer, as the log has it."""

    id: str
    number: int  # from 1, in the order of the decisions
    arm: int  # from 0
    name: str  # of the arm
    propensity: float  # the probability with which this arm was chosen
    reason: str  # policy, floor, holdout, paused or after (the last customer)
    at: datetime
    expires: datetime | None  # from then on no outcome is a failure
    customer: str | None = None
    repeated: bool = False  # whether it was made before: the same key, or a customer whose decision is open
    segment: str | None = None  # who came, where customers are of segments

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, for people: arms from 1, times as text."""
        who = {} if self.segment is None else {"segment": self.segment}
        return {
            "id": self.id,
            "number": self.number,
            "arm": self.arm + 1,
            "name": self.name,
            "propensity": self.propensity,
            "reason": self.reason,
            "at": self.at.isoformat(),
            "expires": None if self.expires is None else self.expires.isoformat(),
            "customer": self.customer,
            **who,
            "repeated": self.repeated,
        }


@dataclass(frozen=True)
class RewardReceipt:
    """What became of an outcome that was reported."""

    id: str
    status: str  # recorded, late (it corrects a failure), too late, duplicate or conflict
    success: bool  # as the log has it
    counted: bool  # whether the log's outcome counts

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"id": self.id, "status": self.status, "success": self.success, "counted": self.counted}


class Row(NamedTuple):
    """One decision as it is written."""

    number: int
    event: int
    id: str
    arm: int
    propensity: float
    propensities: str
    reason: str
    at: float
    expires: float | None
    customer: str | None
    version: int
    segment: int | None = None  # from 0


@dataclass(frozen=True)
class Tally:
    """Counts of one arm."""

    arm: int
    decided: int = 0
    open: int = 0
    successes: int = 0
    failures: int = 0  # reported ones
    expired: int = 0  # failures because no outcome came in time
    late: int = 0  # outcomes that came after that and were accepted
    unsupported: int = 0  # decisions in which the arm was on offer and could not have been chosen
    won_weight: int = 0  # sum over successes of 1 / propensity, in units (`weight_of`)
    won_squares: int = 0  # and of its square
    lost_weight: int = 0  # the same over failures and expired decisions
    lost_squares: int = 0
    past_successes: int = 0  # of imported history
    past_failures: int = 0

    @property
    def lost(self) -> int:
        """All that counts as failures."""
        return self.failures + self.expired

    @property
    def seen(self) -> int:
        """Outcomes that count."""
        return self.successes + self.lost


WEIGHT_UNIT, SQUARE_UNIT = 2.0**-20, 2.0**-10
_HEAVIEST = 1e4


def weight_of(propensity: float) -> tuple[int, int]:
    """Return 1 / propensity (10,000 at most) and its square as whole numbers of units.

    Sums of whole numbers are the same in any order, so that a replay of the log gives them exactly.
    """
    weight = min(1.0 / propensity, _HEAVIEST)
    return round(weight / WEIGHT_UNIT), round(weight * weight / SQUARE_UNIT)


@lru_cache(maxsize=64)
def as_time(seconds: float) -> datetime:
    """Return seconds since 1970 as a time in UTC."""
    return datetime.fromtimestamp(seconds, UTC)


def told(row: Row, names: Sequence[str], segments: Sequence[str], repeated: bool) -> Decision:
    """Return a row of the log as callers get it."""
    return Decision(
        id=row.id,
        number=row.number,
        arm=row.arm,
        name=names[row.arm],
        propensity=row.propensity,
        reason=row.reason,
        at=as_time(row.at),
        expires=None if row.expires is None else as_time(row.expires),
        customer=row.customer,
        repeated=repeated,
        segment=None if row.segment is None else segments[row.segment],
    )
