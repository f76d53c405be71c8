"""Decisions and their outcomes: the two routes that shops call for every customer."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request, Response

from elsv._base.numbers import shown
from elsv.service.answers import DecisionsAnswer, ReceiptAnswer, ReceiptsAnswer
from elsv.service.auth import require, service_of
from elsv.service.bodies import (
    MOST_AT_ONCE,
    DecisionsBody,
    RewardBody,
    RewardsBody,
    json_of,
)
from elsv.service.documents import body_of, responses
from elsv.service.problems import RefusedError
from elsv.service.roles import Role

router = APIRouter(dependencies=[Depends(require(Role.WRITE))])


@router.post(
    "/campaigns/{name}/decisions",
    tags=["decisions"],
    response_model=DecisionsAnswer,
    responses=responses(404, body=True),
    openapi_extra=body_of(DecisionsBody),
)
async def decide(
    request: Request,
    name: str,
    idempotency_key: Annotated[
        str | None, Header(description="A retry with the same key gets the first answer.", max_length=500)
    ] = None,
) -> Response:
    """Choose the arm for a customer, or for `count` of them; it is on disk when the answer comes."""
    body = await json_of(request)
    customers, segment = _customers(body), body.get("segment")
    if segment is not None and not isinstance(segment, str):
        raise RefusedError(422, "segment must be text", shown(segment))
    found = await service_of(request).decide(name, customers, idempotency_key, segment)
    return _quick({"decisions": [decision.to_dict() for decision in found]})


@router.post(
    "/decisions/{id}/reward",
    tags=["outcomes"],
    response_model=ReceiptAnswer,
    responses=responses(404, body=True),
    openapi_extra=body_of(RewardBody),
)
async def reward(request: Request, id: str) -> Response:  # noqa: A002
    """Report the outcome of a decision; the same outcome twice counts once."""
    body = await json_of(request)
    _only(body, ("success",))
    (receipt,) = await service_of(request).reward([(id, _truth(body.get("success")))])
    return _quick(receipt.to_dict())


@router.post(
    "/rewards",
    tags=["outcomes"],
    response_model=ReceiptsAnswer,
    responses=responses(404, body=True),
    openapi_extra=body_of(RewardsBody),
)
async def rewards(request: Request) -> Response:
    """Report many outcomes, of any campaigns; all are recorded or none."""
    body = await json_of(request)
    _only(body, ("rewards",))
    given = body.get("rewards")
    if not isinstance(given, list) or not 1 <= len(given) <= MOST_AT_ONCE:
        got = f"{len(given):,}" if isinstance(given, list) else shown(given)
        raise RefusedError(422, f"rewards must be a list of 1 to {MOST_AT_ONCE:,} outcomes", got)
    found = await service_of(request).reward([_outcome(one) for one in given])
    return _quick({"receipts": [receipt.to_dict() for receipt in found]})


def _customers(body: dict[str, Any]) -> list[str | None]:
    _only(body, ("customer", "count", "segment"))
    customer, count = body.get("customer"), body.get("count")
    if customer is not None and not isinstance(customer, str):
        raise RefusedError(422, "customer must be text", shown(customer))
    if count is None:
        return [customer]
    if customer is not None:
        raise RefusedError(422, "give either customer or count", "both", "leave one of them out")
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_AT_ONCE:
        raise RefusedError(422, f"count must be a whole number from 1 to {MOST_AT_ONCE:,}", shown(count))
    return [None] * count


def _outcome(given: object) -> tuple[str, bool]:
    if not isinstance(given, dict) or not isinstance(given.get("decision"), str):
        raise RefusedError(422, "an outcome must be {decision, success}", shown(given))
    _only(given, ("decision", "success"))
    return given["decision"], _truth(given.get("success"))


def _truth(success: object) -> bool:
    if not isinstance(success, bool):
        raise RefusedError(422, "success must be true or false", shown(success))
    return success


def _only(body: dict[str, Any], known: tuple[str, ...]) -> None:
    if not body.keys() <= set(known):
        strange = next(key for key in body if key not in known)
        raise RefusedError(422, f"known fields are {', '.join(known)}", shown(strange), "leave it out")


def _quick(value: dict[str, Any]) -> Response:
    """Return JSON of values that are finite for certain."""
    return Response(json.dumps(value).encode(), media_type="application/json")
