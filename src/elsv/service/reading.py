"""What a request carries, read with care: JSON objects, problems, arms; nothing in it opens a file."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import unquote

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from elsv._base.numbers import shown
from elsv._base.typing import FloatArray
from elsv.campaign.records import text_of
from elsv.problem import Problem
from elsv.service.errors import RefusedError

MOST_ARMS = 200
LARGEST_REWARD, LARGEST_COUNT = 1e12, 1e9
Model = TypeVar("Model", bound=BaseModel)


def part_of_path(request: Request, name: str) -> str:
    """Return a part of the address; the application routes by the address as it was sent, so / may be %2F."""
    return unquote(request.path_params[name])


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
    try:
        content = await request.body()
    except ClientDisconnect as error:
        rule, got = "a body must come whole", "the end of the connection"
        raise RefusedError(400, rule, got, "send it again") from error
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


async def read(model: type[Model], request: Request) -> Model:
    """Return the body of a request, checked by its model."""
    try:
        return model.model_validate(await json_of(request))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the body"
        rule = f"{place}: {first['msg'][:1].lower()}{first['msg'][1:]}"
        raise RefusedError(422, rule, shown(first.get("input")), "see /openapi.json") from error


def only(body: Mapping[str, Any], *known: str) -> None:
    """Refuse fields that are not `known`."""
    if not body.keys() <= set(known):
        strange = next(key for key in body if key not in known)
        raise RefusedError(422, f"known fields are {', '.join(known)}", shown(strange), "leave it out")


def with_arms_from_0(given: Mapping[str, Any], arms: int) -> dict[str, Any]:
    """Return settings as the library takes them: here a number is an arm from 1, there it is one from 0.

    A text stays: the library takes it for the name of an arm, and for a number only if there is no such name.
    """

    def numbered(arm: Any) -> Any:
        if isinstance(arm, list):
            return [numbered(one) for one in arm]
        if not isinstance(arm, int):
            return arm
        if not 1 <= arm <= arms:
            raise RefusedError(422, f"an arm must be a name or a number from 1 to {arms}", shown(arm))
        return arm - 1

    keys = ("control", "fallback", "withdrawn")
    return {key: numbered(value) if key in keys else value for key, value in given.items()}


def problem_from(values: dict[str, Any]) -> Problem:
    """Return the problem that a request states; it may take a while, so beside the event loop."""
    check_no_files(values)
    arms = values.get("rewards")
    if isinstance(arms, list) and len(arms) > MOST_ARMS:
        rule, remedy = f"a campaign has at most {MOST_ARMS} arms here", "leave the unlikely ones out"
        raise RefusedError(422, rule, f"{len(arms):,}", remedy)
    problem = Problem.from_dict(values)
    for name in problem.names:
        text_of("name of an arm", name)
    _check_size("rewards", problem.rewards, LARGEST_REWARD)
    _check_size("counts of the prior", problem.prior, LARGEST_COUNT)
    return problem


def check_no_files(values: object, key: str = "") -> None:
    """Refuse a problem that names a file: ``file``, ``path``, or draws that are a text instead of numbers."""
    if key in ("file", "path") or (key in ("samples", "draws") and isinstance(values, str)):
        raise no_files(values)
    if isinstance(values, Mapping):
        for name, value in values.items():
            check_no_files(value, str(name))
    elif isinstance(values, list):
        for value in values:
            if isinstance(value, Mapping | list | str):
                check_no_files(value, key)


def no_files(value: object) -> RefusedError:
    """Return how a request is refused that names a file."""
    return RefusedError(
        422,
        "a request cannot name a file of the server",
        shown(value),
        "send the numbers themselves, or begin such a campaign on the server itself: `elsv campaign new`",
    )


def _check_size(what: str, values: FloatArray, largest: float) -> None:
    """Refuse numbers whose sums and products over a campaign are no longer numbers."""
    if values.max() > largest:
        raise RefusedError(
            422, f"{what} must be at most {largest:g} here", f"{values.max():g}", "use a larger unit"
        )


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is too large a number")
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice, times = Counter(key for key, _ in pairs).most_common(1)[0]
        raise RefusedError(
            422, "a JSON object has each key once", f"{shown(twice)} {times} times", "send it once"
        )
    return found


_DECODER = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite, object_pairs_hook=_unique)
