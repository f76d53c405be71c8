"""Errors as problem+json (RFC 9457): the rule, the value and the remedy."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import Response
from pydantic import BaseModel, Field

from elsv.campaign import StoreError, UnknownCampaignError, UnknownDecisionError
from elsv.campaign.opening import BegunOtherwiseError, OtherVersionError
from elsv.errors import CorruptFileError, ElsvError, MissingExtraError

MEDIA_TYPE = "application/problem+json"
_PARTS = re.compile(r"^(?P<rule>.*?),? got (?P<value>[^;]*)(?:; (?P<remedy>.*))?$", re.DOTALL)


class ProblemBody(BaseModel):
    """What went wrong, and what to do."""

    type: str = Field("about:blank", description="Always about:blank: the status says the kind.")
    title: str = Field(description="The status in words.", examples=["Unprocessable Content"])
    status: int = Field(description="The HTTP status.", examples=[422])
    detail: str = Field(
        description="The whole message.", examples=["rewards must be positive, got -0.2 for arm 3"]
    )
    rule: str = Field(description="What must hold.", examples=["rewards must be positive"])
    value: str | None = Field(None, description="What was given.", examples=["-0.2 for arm 3"])
    remedy: str | None = Field(None, description="What to do.", examples=["give positive rewards"])


class RefusedError(Exception):
    """A request that is answered with an error."""

    def __init__(
        self,
        status: int,
        rule: str,
        value: str | None = None,
        remedy: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        detail = rule + (f", got {value}" if value else "") + (f"; {remedy}" if remedy else "")
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, dict(headers or {})
        self.rule, self.value, self.remedy = rule, value, remedy


_STATUS: tuple[tuple[type[Exception], int, dict[str, str]], ...] = (
    (StoreError, 503, {"Retry-After": "1"}),
    (CorruptFileError, 503, {"Retry-After": "60"}),
    (UnknownDecisionError, 404, {}),
    (UnknownCampaignError, 404, {}),
    (BegunOtherwiseError, 409, {}),
    (OtherVersionError, 412, {}),
    (MissingExtraError, 501, {}),
    (ElsvError, 422, {}),
)


def refusal_of(error: Exception) -> RefusedError:
    """Return how an error of the library is answered."""
    if isinstance(error, RefusedError):
        return error
    for kind, status, headers in _STATUS:
        if isinstance(error, kind):
            return RefusedError(status, *_split(str(error)), headers=headers)
    if isinstance(error, RecursionError):
        return RefusedError(
            422, "a structure must not be nested so deeply", None, "use fewer mixtures in mixtures"
        )
    return RefusedError(500, "the server failed", None, "its log says why; the request can be repeated")


def _split(text: str) -> tuple[str, str | None, str | None]:
    """Return rule, value and remedy of a message that is written as all are."""
    found = _PARTS.match(text)
    if found:
        return found["rule"], found["value"] or None, found["remedy"]
    rule, _, remedy = text.partition("; ")
    return rule, None, remedy or None


def answer(refusal: RefusedError) -> Response:
    """Return the response."""
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(refusal.status).phrase,
        "status": refusal.status,
        "detail": refusal.detail,
        "rule": refusal.rule,
        "value": refusal.value,
        "remedy": refusal.remedy,
    }
    content = json.dumps(body).encode()
    return Response(content, refusal.status, headers=refusal.headers, media_type=MEDIA_TYPE)
