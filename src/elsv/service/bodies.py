"""What requests carry: JSON that is read with care, and the forms that the OpenAPI document shows.

Decisions and outcomes are parsed by hand, since they come by the thousand each second; their models here only
document them. Everything else is checked by its model.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from elsv._base.numbers import shown
from elsv._base.typing import FloatArray
from elsv.campaign.records import text_of
from elsv.names import parse
from elsv.problem import Problem
from elsv.service.problems import RefusedError

MOST_AT_ONCE = 1000
MOST_ARMS = 200
LARGEST_REWARD, LARGEST_COUNT = 1e12, 1e9
Model = TypeVar("Model", bound=BaseModel)
_EXAMPLE: Any = {
    "problem": {
        "rewards": [0.6, 0.7, 0.85, 1.0],
        "names": ["40 % off", "30 % off", "15 % off", "full price"],
        "order": "decreasing",
        "horizon": 5000,
    },
    "policy": "plan",
    "window": "7 days",
    "unit": "EUR",
}
Arm = str | int | list[str | int] | None
Window = str | float | None


class ChangeBody(BaseModel):
    """What can be changed while a campaign runs; what is left out stays as it is."""

    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra={"examples": [{"floor": 0.02, "horizon": 8000}]}
    )
    policy: str | None = Field(None, max_length=500, description="A name such as plan, elsv or thompson.")
    floor: float | None = Field(None, ge=0, lt=1, description="Least probability of every arm.")
    paused: bool | None = Field(None, description="Whether every customer gets the fallback arm.")
    horizon: int | None = Field(None, ge=1, le=10**12, description="Customers in all; it can only grow.")
    window: Window = Field(None, description="How long to wait for an outcome: '7 days', or seconds.")
    accept_late: bool | None = Field(None, description="Whether an outcome after that still counts.")
    sticky: bool | None = Field(None, description="Whether customers keep an open decision.")
    holdout: float | None = Field(None, ge=0, lt=1, description="Share of customers with the control arm.")
    control: Arm = Field(
        None, description="The arm to measure against, by name or number from 1; or one per segment."
    )
    fallback: Arm = Field(None, description="The arm while paused, by name or by number from 1.")
    unit: str | None = Field(None, max_length=50, description="Of the rewards, such as EUR.")

    def given(self) -> dict[str, Any]:
        """Return the settings that are given, as the library takes them."""
        found = {key: value for key, value in self if key in self.model_fields_set and value is not None}
        for key in ("control", "fallback"):
            if isinstance(found.get(key), int):
                found[key] = str(found[key])  # numbered from 1, as people do
            elif isinstance(found.get(key), list):
                found[key] = [str(arm) for arm in found[key]]
        if found.get("unit"):
            text_of("unit", found["unit"])
        if "policy" in found and "file" in parse(found["policy"]).parameters:
            raise _no_files(found["policy"])
        return found


class CampaignBody(ChangeBody):
    """A campaign to begin."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra={"examples": [_EXAMPLE]})
    problem: dict[str, Any] = Field(
        description="Arms and what is known of them, as in a problem file: rewards, names, order or "
        "structure, prior, horizon or discount."
    )
    seed: int | None = Field(None, ge=0, lt=2**48, description="Of what is drawn; default: fresh.")

    def given(self) -> dict[str, Any]:
        """Return the settings that are given, as the library takes them."""
        return {key: value for key, value in super().given().items() if key not in ("problem", "seed")}


class DecisionsBody(BaseModel):
    """Whom to decide for."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"customer": "c-17"}, {"count": 20}]}
    )
    customer: str | None = Field(
        None,
        min_length=1,
        max_length=500,
        pattern=r"^[^\x00]*[^\s\x00][^\x00]*$",
        description="Text that tells customers apart.",
    )
    count: int | None = Field(
        None, ge=1, le=MOST_AT_ONCE, description="Decide for so many customers who are not known."
    )
    segment: str | None = Field(None, max_length=500, description="The segment that the customer is of.")


class RewardBody(BaseModel):
    """An outcome."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"success": True}]})
    success: bool = Field(description="Whether the customer did what was hoped for.")


class OutcomeBody(RewardBody):
    """An outcome of a decision."""

    model_config = ConfigDict(extra="forbid")
    decision: str = Field(min_length=1, max_length=500, description="Id of the decision.")


class RewardsBody(BaseModel):
    """Many outcomes, of any campaigns; all are recorded or none."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"rewards": [{"decision": "6f0c…", "success": True}]}]},
    )
    rewards: list[OutcomeBody] = Field(min_length=1, max_length=MOST_AT_ONCE)


async def json_of(request: Request) -> dict[str, Any]:
    """Return the JSON object that a request carries."""
    kind = request.headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() != "application/json":
        raise RefusedError(
            415,
            "a body must be JSON and say so",
            shown(kind) if kind else "no Content-Type",
            "send the header Content-Type: application/json",
        )
    content = await _whole_body(request)
    try:
        found = _DECODER.decode(content.decode("utf-8"))
        if b"\\u" in content:  # half a pair of surrogates is no text
            json.dumps(found, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        text = "values within values without end" if isinstance(error, RecursionError) else str(error)
        raise RefusedError(400, "a body must be JSON in UTF-8", text[:200], "send an object {…}") from error
    if not isinstance(found, dict):
        raise RefusedError(422, "a body must be a JSON object", shown(found), "send {…}")
    return found


async def _whole_body(request: Request) -> bytes:
    """Return the bytes that a request carries; most come in one piece, for which the framework takes long."""
    parts, more = [], True
    while more:
        message = await request.receive()
        if message["type"] != "http.request":
            raise RefusedError(400, "a body must come whole", "the end of the connection", "send it again")
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(parts)


def read(model: type[Model], values: Mapping[str, Any]) -> Model:
    """Return the values of a body, checked by its model."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise refused(error) from error


def refused(error: ValidationError) -> RefusedError:
    """Return how a body is refused that breaks the rules of its model."""
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "the body"
    rule = f"{place}: {first['msg'][:1].lower()}{first['msg'][1:]}"
    return RefusedError(422, rule, shown(first.get("input")), "see /openapi.json")


def problem_from(values: dict[str, Any]) -> Problem:
    """Return the problem that a request states; it may take a while, so beside the event loop."""
    check_no_files(values)
    arms = values.get("rewards")
    if isinstance(arms, list) and len(arms) > MOST_ARMS:
        raise RefusedError(
            422,
            f"a campaign has at most {MOST_ARMS} arms here",
            f"{len(arms):,}",
            "leave the unlikely ones out",
        )
    problem = Problem.from_dict(values)
    for name in problem.names:
        text_of("name of an arm", name)
    _check_size("rewards", problem.rewards, LARGEST_REWARD)
    _check_size("counts of the prior", problem.prior, LARGEST_COUNT)
    return problem


def _check_size(what: str, values: FloatArray, largest: float) -> None:
    """Refuse numbers whose sums and products over a campaign are no longer numbers."""
    if values.max() > largest:
        raise RefusedError(
            422, f"{what} must be at most {largest:g} here", f"{values.max():g}", "use a larger unit"
        )


def check_no_files(values: object) -> None:
    """Refuse a problem that names a file of the server's disk."""
    if isinstance(values, Mapping):
        if "file" in values:
            raise _no_files(values["file"])
        for value in values.values():
            check_no_files(value)
    elif isinstance(values, list):
        for value in values:
            if isinstance(value, Mapping | list):
                check_no_files(value)


def _no_files(value: object) -> RefusedError:
    return RefusedError(
        422,
        "a request cannot name a file of the server",
        shown(value),
        "begin such a campaign on the server itself: `elsv campaign new`",
    )


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is too large a number")
    return number


_DECODER = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite)
