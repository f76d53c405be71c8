"""Answers of the service as the same values that the library has: arms from 0, times as `datetime`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from datetime import datetime
from typing import Any, TypeVar

from elsv.campaign import ArmStatus, Audit, Decision, GainSoFar, RewardReceipt, Settings, Status
from elsv.campaign.opening import Listed
from elsv.campaign.status import SegmentStatus
from elsv.client.errors import ServiceError
from elsv.live import ArmExplanation, Explanation
from elsv.structure.evidence import Evidence

T = TypeVar("T")
Values = Mapping[str, Any]


def _built(kind: type[T], values: Any, **change: Callable[[Any], Any]) -> T:
    """Return a dataclass of the values of its fields; what a newer service tells besides is left out."""
    if not isinstance(values, Mapping):
        raise _strange(kind)
    found: dict[str, Any] = {}
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name in values:
            value = values[field.name]
            found[field.name] = change[field.name](value) if field.name in change else value
        elif field.default is MISSING and field.default_factory is MISSING:
            raise _strange(kind)
    return kind(**found)


def _strange(kind: type[Any]) -> ServiceError:
    return ServiceError(
        f"the service's answer is no {kind.__name__}; is it an elsv service, and not older than this client?"
    )


def _arm(number: int | None) -> int | None:
    return None if number is None else number - 1


def _arms(numbers: int | list[int] | None) -> int | tuple[int, ...] | None:
    """Return an arm from 0, or that of each segment."""
    return tuple(number - 1 for number in numbers) if isinstance(numbers, list) else _arm(numbers)


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def decision_of(values: Values) -> Decision:
    """Read a decision."""
    return _built(Decision, values, arm=_arm, at=_time, expires=_time)


def receipt_of(values: Values) -> RewardReceipt:
    """Read what became of an outcome."""
    return _built(RewardReceipt, values)


def audit_of(values: Values) -> Audit:
    """Read what a replay found."""
    return _built(Audit, values, problems=tuple)


def listed_of(values: Values) -> Listed:
    """Read a campaign in a line."""
    return _built(Listed, values)


def settings_of(values: Values) -> Settings:
    """Read settings."""
    return _built(Settings, values, control=_arms, fallback=_arms)


def status_of(values: Values) -> Status:
    """Read how a campaign stands."""

    def arms(listed: Any) -> tuple[ArmStatus, ...]:
        return tuple(_built(ArmStatus, one, arm=_arm) for one in listed)

    def gains(listed: Any) -> tuple[GainSoFar, ...]:
        return tuple(_built(GainSoFar, one) for one in listed)

    def segments(listed: Any) -> tuple[SegmentStatus, ...]:
        return tuple(_built(SegmentStatus, one) for one in listed)

    return _built(Status, values, arms=arms, gains=gains, segments=segments)


def explanation_of(values: Values) -> Explanation:
    """Read a decision and its reasons."""

    def arms(listed: Any) -> tuple[ArmExplanation, ...]:
        return tuple(_built(ArmExplanation, one, arm=_arm) for one in listed)

    def evidence(told: Any) -> Evidence | None:
        return None if told is None else Evidence(told["log_bayes_factor"], tuple(told["parts"]))

    return _built(Explanation, values, arm=_arm, arms=arms, evidence=evidence)
