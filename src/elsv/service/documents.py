"""What the OpenAPI document says of bodies and answers."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from elsv.service.problems import MEDIA_TYPE, ProblemBody

_WORDS = {
    400: "The body is no JSON.",
    401: "A token is missing, unknown or revoked.",
    403: "The token's role does not allow this.",
    404: "There is no such campaign or decision.",
    409: "The campaign was begun with another body.",
    412: "The settings are not those of the version in If-Match.",
    413: "The body is too large.",
    415: "The body is not declared as application/json.",
    422: "A value breaks a rule.",
    429: "Too many requests.",
    431: "The headers are too large.",
    501: "An extra of elsv is not installed on the server.",
    503: "The database cannot be used now, or too many wait: try again.",
}
_ALWAYS = (401, 403, 429, 431, 503)
_WITH_BODY = (400, 413, 415, 422)


def responses(*statuses: int, body: bool = False) -> dict[int | str, dict[str, Any]]:
    """Return the errors that a route may answer with, beside those that all may."""
    listed = sorted({*_ALWAYS, *statuses, *(_WITH_BODY if body else ())})
    return {
        status: {
            "description": _WORDS[status],
            "model": ProblemBody,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemBody"}}},
        }
        for status in listed
    }


def body_of(model: type[BaseModel], required: bool = True) -> dict[str, Any]:
    """Return how the body of a route is documented that parses it by hand."""
    schema = model.model_json_schema()
    schema = _inlined(schema, schema.pop("$defs", {}))
    examples = schema.pop("examples", [])
    content: dict[str, Any] = {"schema": schema}
    if examples:
        content["examples"] = {f"example {k}": {"value": value} for k, value in enumerate(examples, 1)}
    return {"requestBody": {"required": required, "content": {"application/json": content}}}


def _inlined(schema: Any, parts: dict[str, Any]) -> Any:
    """Return a schema with its parts in the places that refer to them."""
    if isinstance(schema, list):
        return [_inlined(one, parts) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(parts[schema["$ref"].rsplit("/", 1)[1]], parts)
    return {key: _inlined(value, parts) for key, value in schema.items()}
