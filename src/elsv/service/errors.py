"""Errors as problem+json (RFC 9457): the rule, the value and the remedy."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from elsv.campaign import RefusedReportError, StoreError, UnknownCampaignError, UnknownDecisionError
from elsv.campaign.opening import BegunOtherwiseError, OtherVersionError
from elsv.errors import CorruptFileError, ElsvError, MissingExtraError

MEDIA_TYPE = "application/problem+json"
_PARTS = re.compile(r"^(?P<rule>.*?),? got (?P<value>[^;]*)(?:; (?P<remedy>.*))?$", re.DOTALL)
_STATUS: tuple[tuple[type[Exception], int, dict[str, str]], ...] = (
    (StoreError, 503, {"Retry-After": "1"}),
    (CorruptFileError, 503, {"Retry-After": "60"}),
    (UnknownDecisionError, 404, {}),
    (UnknownCampaignError, 404, {}),
    (BegunOtherwiseError, 409, {}),
    (RefusedReportError, 409, {}),
    (OtherVersionError, 412, {}),
    (MissingExtraError, 501, {}),
    (ElsvError, 422, {}),
)


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
        self.detail = rule + (f", got {value}" if value else "") + (f"; {remedy}" if remedy else "")
        super().__init__(self.detail)
        self.status, self.headers = status, dict(headers or {})
        self.rule, self.value, self.remedy = rule, value, remedy

    def body(self) -> bytes:
        """Return what the client gets."""
        values: dict[str, Any] = {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            "rule": self.rule,
            "value": self.value,
            "remedy": self.remedy,
        }
        return json.dumps(values).encode()

    def response(self) -> Response:
        """Return the answer to the request."""
        return Response(self.body(), self.status, headers=self.headers, media_type=MEDIA_TYPE)


def refusal_of(error: Exception) -> RefusedError:
    """Return the refusal that answers an error."""
    if isinstance(error, RefusedError):
        return error
    for kind, status, headers in _STATUS:
        if isinstance(error, kind):
            return RefusedError(status, *_split(str(error)), headers=headers)
    if isinstance(error, RecursionError):
        rule, remedy = "a structure must not be nested so deeply", "use fewer mixtures in mixtures"
        return RefusedError(422, rule, None, remedy)
    return RefusedError(500, "the server failed", None, "its log says why; the request can be repeated")


def _split(text: str) -> tuple[str, str | None, str | None]:
    """Return rule, value and remedy of a message of the library."""
    found = _PARTS.match(text)
    if found:
        return found["rule"], found["value"] or None, found["remedy"]
    rule, _, remedy = text.partition("; ")
    return rule, None, remedy or None
