"""What routes answer: JSON without numbers that JSON lacks, and the models that document it."""

from __future__ import annotations

import json
from typing import Any

from fastapi import Response
from pydantic import BaseModel, ConfigDict, Field

from elsv._base.numbers import finite

_DECISION: Any = {
    "id": "0d6f5a1c9f5b4b3aa1c2d3e4f5a6b7c8",
    "number": 1,
    "arm": 3,
    "name": "15 % off",
    "propensity": 1.0,
    "reason": "policy",
    "at": "2026-03-01T09:30:00+00:00",
    "expires": "2026-03-08T09:30:00+00:00",
    "customer": "c-17",
    "repeated": False,
}


class DecisionAnswer(BaseModel):
    """An arm for a customer."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [_DECISION]})
    id: str = Field(description="To report the outcome under.")
    number: int = Field(description="From 1, in the order of the decisions.")
    arm: int = Field(description="From 1.")
    name: str = Field(description="Of the arm.")
    propensity: float = Field(description="The probability with which this arm was chosen.")
    reason: str = Field(description="policy, floor, holdout, paused or after (the last customer).")
    at: str = Field(description="When, in UTC.")
    expires: str | None = Field(description="From then on, no outcome is a failure.")
    customer: str | None
    repeated: bool = Field(description="Whether it was made before: the same key, or an open decision.")


class DecisionsAnswer(BaseModel):
    """Decisions, in the order in which they were asked for."""

    decisions: list[DecisionAnswer]


class ReceiptAnswer(BaseModel):
    """What became of an outcome."""

    id: str
    status: str = Field(
        description="recorded, late (it corrects a failure), too late, duplicate or conflict."
    )
    success: bool = Field(description="As the log has it.")
    counted: bool = Field(description="Whether the log's outcome counts.")


class ReceiptsAnswer(BaseModel):
    """What became of outcomes, in their order."""

    receipts: list[ReceiptAnswer]


class ListedAnswer(BaseModel):
    """A campaign in a line."""

    name: str
    created: str
    phase: str = Field(description="not begun, running, paused or over.")
    policy: str | None
    arms: int
    decided: int
    customers: int | None = Field(description="Planned for; null without an end.")
    version: int = Field(description="Of the settings.")
    unreadable: str | None = Field(None, description="Why this server cannot serve it; null: it can.")


class CampaignsAnswer(BaseModel):
    """All campaigns, by their names."""

    campaigns: list[ListedAnswer]


class SettingsAnswer(BaseModel):
    """The present settings; arms from 1."""

    model_config = ConfigDict(extra="allow")
    version: int
    policy: str | None
    horizon: int | None
    window: float | None = Field(description="Seconds.")
    floor: float
    paused: bool


class StatusAnswer(BaseModel):
    """How a campaign stands, with its settings and its problem."""

    model_config = ConfigDict(extra="allow")
    name: str
    phase: str
    decided: int
    earned: float
    arms: list[dict[str, Any]]
    settings: SettingsAnswer
    problem: dict[str, Any]


class BegunAnswer(BaseModel):
    """A campaign that has begun."""

    name: str
    created: bool = Field(description="Whether it is new: otherwise it was begun just so before.")


class AuditAnswer(BaseModel):
    """What a replay of the whole log found."""

    exact: bool = Field(description="Whether every count follows from the log.")
    decisions: int
    rewards: int
    expirations: int
    events: int
    problems: list[str]


def as_json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return an answer; what is no finite number is null."""
    content = json.dumps(finite(value), allow_nan=False).encode()
    return Response(content, status, headers, "application/json")
