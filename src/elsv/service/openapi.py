"""The OpenAPI document of the calls."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Any

from pydantic.json_schema import models_json_schema

from elsv._version import __version__
from elsv.service.api import Call
from elsv.service.errors import MEDIA_TYPE
from elsv.service.models import ProblemBody

_ABOUT = """Decisions whose outcomes come late, made by Bayesian planning.

Begin a campaign with `PUT /campaigns/{name}`, ask `POST /campaigns/{name}/decisions` for every customer, and
report what happened with `POST /decisions/{id}/reward`. Whatever is answered is on disk. Errors are
`application/problem+json` with the rule, the value and the remedy. With tokens, send
`Authorization: Bearer TOKEN`.
"""
_ERRORS = {
    400: "The body is not JSON.",
    401: "A token is missing, unknown or revoked.",
    403: "The token's role does not allow this.",
    404: "There is no such campaign or decision.",
    408: "The request did not arrive in time.",
    409: "The campaign was begun with another body, or what is reported contradicts the log.",
    412: "The settings are not those of the version in If-Match.",
    413: "The body is too large.",
    415: "The body is not declared as application/json.",
    422: "A value breaks a rule.",
    429: "Too many requests.",
    431: "The headers are too large.",
    501: "An extra of elsv is not installed on the server.",
    503: "The database cannot be used now, or too many requests wait: try again.",
}
_ALWAYS = (401, 403, 408, 429, 431, 503)
_WITH_BODY = (400, 413, 415, 422)
_PLACE = "#/components/schemas/{model}"


def document(calls: Sequence[Call]) -> dict[str, Any]:
    """Return the document."""
    shown = [one for call in calls for one in (call.body, call.answer) if one and not isinstance(one, str)]
    models: list[tuple[Any, Any]] = [(one, "validation") for one in (*shown, ProblemBody)]
    _, schemas = models_json_schema(models, ref_template=_PLACE)
    paths: dict[str, dict[str, Any]] = {}
    for call in calls:
        paths.setdefault(call.path, {})[call.method.lower()] = _operation(call)
    return {
        "openapi": "3.1.0",
        "info": {"title": "elsv", "version": __version__, "description": _ABOUT},
        "paths": paths,
        "components": {"schemas": schemas["$defs"]},
    }


def _operation(call: Call) -> dict[str, Any]:
    name = call.handler.__name__
    found: dict[str, Any] = {
        "operationId": name,
        "summary": name.capitalize(),
        "description": inspect.getdoc(call.handler),
        "tags": [call.tag],
        "parameters": [
            {"name": part, "in": "path", "required": True, "schema": {"type": "string"}}
            for part in re.findall(r"{(\w+)}", call.path)
        ],
        "responses": {"200": _success(call)},
    }
    if call.path.endswith("/arms"):
        found["responses"] = {"201": _success(call)}
    if call.method == "PUT":
        found["responses"] = {"201": _success(call), "200": _success(call, "It had begun so before.")}
    errors = {*_ALWAYS, *call.errors, *(_WITH_BODY if call.body else ())}
    for status in sorted(errors):
        content = {MEDIA_TYPE: {"schema": {"$ref": _PLACE.format(model="ProblemBody")}}}
        found["responses"][str(status)] = {"description": _ERRORS[status], "content": content}
    if call.parameter is not None:
        place, name, text = call.parameter
        schema = {"type": "string", "maxLength": 500}
        found["parameters"].append(
            {"name": name, "in": place, "required": False, "description": text, "schema": schema}
        )
    if call.body is not None:
        examples: Any = (call.body.model_config.get("json_schema_extra") or {})["examples"]  # type: ignore[index]
        shape: dict[str, Any] = {
            "schema": {"$ref": _PLACE.format(model=call.body.__name__)},
            "examples": {f"example {k}": {"value": value} for k, value in enumerate(examples, 1)},
        }
        found["requestBody"] = {"required": True, "content": {"application/json": shape}}
    return found


def _success(call: Call, text: str = "It is done.") -> dict[str, Any]:
    if isinstance(call.answer, str):
        return {"description": text, "content": {call.answer: {"schema": {}}}}
    schema = {"$ref": _PLACE.format(model=call.answer.__name__)}
    return {"description": text, "content": {"application/json": {"schema": schema}}}
