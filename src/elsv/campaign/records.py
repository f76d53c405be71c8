"""What callers give, what the log holds and what callers get back.

Times are seconds since 1970, arms count from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from elsv._base.numbers import shown, whole
from elsv.errors import InvalidInputError
from elsv.problem import Problem
from elsv.structure.product import option_of, shared_option

LONGEST = 500  # characters of a name, customer or key
MOST_AT_ONCE = 100_000
RECORDED, LATE, TOO_LATE, DUPLICATE, CONFLICT = "recorded", "late", "too late", "duplicate", "conflict"
VOIDED, CORRECTED, VOID, NO_OUTCOME, SEEN = "voided", "corrected", "void", "no outcome", "seen"
REFUSED = (CONFLICT, VOID, NO_OUTCOME)  # what was reported contradicts the log, and changed nothing


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
    expires: datetime | None  # without an outcome by then, the decision counts as a failure
    customer: str | None = None
    segment: str | None = None  # who came, where customers are of segments
    repeated: bool = False  # whether it was made before: the same key, or a customer whose decision is open

    @property
    def option(self) -> str:
        """What to show: the name of the arm, without the segment where segments have the same options."""
        return option_of(self.name, self.segment)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, for people: arms from 1, times as text."""
        expires = None if self.expires is None else self.expires.isoformat()
        values = vars(self) | {"arm": self.arm + 1, "at": self.at.isoformat(), "expires": expires}
        segment, repeated = values.pop("segment"), values.pop("repeated")
        who = {} if segment is None else {"segment": segment, "option": self.option}
        return {**values, **who, "repeated": repeated}


class Outcome(NamedTuple):
    """What is reported of a decision: its outcome, a correction of that, or that nobody saw the arm."""

    id: str
    success: bool | None  # None: the decision is void
    corrects: bool = False  # whether it replaces an outcome that is known
    who: str | None = None  # the token or person that reports it


@dataclass(frozen=True)
class RewardReceipt:
    """What became of an outcome, a correction or a void that was reported.

    `status` is recorded, late (it takes a failure back), too late, corrected, voided or duplicate. Where the
    report contradicts the log nothing changes: conflict (another outcome is known), void (the decision is
    void, so that it has no outcome), no outcome (there is none to correct) or seen (another request got the
    decision too).
    """

    id: str
    status: str
    success: bool | None  # as the log has it; None: it has no outcome
    counted: bool  # whether the log's outcome counts

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return dict(vars(self))


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
    place: int | None = None  # among the customers planned for, from 1; None: made while paused


@dataclass(frozen=True)
class Tally:
    """Counts of one arm; columns of the table that are not among them were counted by earlier versions."""

    arm: int
    decided: int = 0
    open: int = 0
    successes: int = 0
    failures: int = 0  # reported ones
    expired: int = 0  # failures because no outcome came in time
    late: int = 0  # outcomes that came after that and were accepted
    past_successes: int = 0  # of imported history
    past_failures: int = 0
    voided: int = 0  # decisions that nobody saw
    rested: int = 0  # decisions made while paused, but for void ones

    @property
    def had(self) -> int:
        """Customers who had the arm."""
        return self.decided - self.voided

    @property
    def used(self) -> int:
        """Customers of those planned for who had the arm."""
        return self.had - self.rested

    @property
    def lost(self) -> int:
        """All that counts as failures."""
        return self.failures + self.expired

    @property
    def seen(self) -> int:
        """Outcomes that count."""
        return self.successes + self.lost

    @property
    def past(self) -> int:
        """Outcomes from before the campaign."""
        return self.past_successes + self.past_failures


@lru_cache(maxsize=64)
def as_time(seconds: float) -> datetime:
    """Return seconds since 1970 as a time in UTC."""
    return datetime.fromtimestamp(seconds, UTC)


def in_iso(seconds: float) -> str:
    """Return seconds since 1970 as text, in UTC."""
    return as_time(seconds).isoformat(timespec="seconds")


def decision_of(row: Row, problem: Problem, repeated: bool) -> Decision:
    """Return a row of the log as callers get it."""
    return Decision(
        id=row.id,
        number=row.number,
        arm=row.arm,
        name=problem.names[row.arm],
        propensity=row.propensity,
        reason=row.reason,
        at=as_time(row.at),
        expires=None if row.expires is None else as_time(row.expires),
        customer=row.customer,
        repeated=repeated,
        segment=None if row.segment is None else problem.segments.names[row.segment],
    )


def customers_of(customer: object, count: int | None) -> list[str | None]:
    """Return whom to decide for."""
    if count is not None and customer is not None:
        raise InvalidInputError("give either customers or their count, not both")
    given = [customer] if customer is None or isinstance(customer, str) else customer
    if not isinstance(given, Sequence):
        raise InvalidInputError(f"customer must be text, or a list of texts, got {shown(customer)}")
    if not given:
        raise InvalidInputError("customers must name at least one, got an empty list")
    number = len(given) if count is None else whole("count", count)
    if number > MOST_AT_ONCE:
        raise InvalidInputError(f"decide for at most {MOST_AT_ONCE:,} customers at once, got {number:,}")
    return [None] * number if customer is None else [text_of("customer", one) for one in given]


def text_of(what: str, given: object) -> str:
    """Return a name, customer or key if it is one that databases can hold: no null byte, no half letter."""
    fine = isinstance(given, str) and given.strip() and len(given) <= LONGEST and "\0" not in given
    if not isinstance(given, str) or not fine or any("\ud800" <= letter <= "\udfff" for letter in given):
        raise InvalidInputError(f"{what} must be text of up to {LONGEST} characters, got {shown(given)}")
    return given


def new_name(given: object) -> str:
    """Return the name of a campaign to begin; every such name can be part of an address."""
    name = text_of("name of a campaign", given)
    if "/" in name or name in (".", ".."):
        raise InvalidInputError(
            f"name of a campaign must not contain '/', nor be '.' or '..', got {shown(name)}; take another, "
            f"such as {name.strip('./').replace('/', '-') or 'spring'!r}"
        )
    return name


def id_of(decision: object) -> str:
    """Return the id of a decision that is given itself or by its id."""
    return decision.id if isinstance(decision, Decision) else text_of("id of a decision", decision)


def truth_of(success: object) -> bool:
    """Return whether an outcome is a success."""
    if not isinstance(success, bool | np.bool_) and success not in (0, 1):
        raise InvalidInputError(f"success must be true or false, got {shown(success)}")
    return bool(success)


def arms_in_words(problem: Problem, arms: Sequence[int]) -> str:
    """Return an arm, or one for each segment; an option that they share is said once."""
    segments = problem.segments
    names, whose = [problem.names[arm] for arm in arms], [segments.name_of(arm) for arm in arms]
    each = (f"{option_of(arm, who)} for {who}" for arm, who in zip(names, whose, strict=True))
    return shared_option(names, whose) or ", ".join(each)
