"""The calls of the API, one row each: what is asked for, by whom, how it is answered and documented.

Read `CALLS` first, at the end. `app` makes routes of them and `openapi` the document.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from elsv._base.numbers import finite, shown
from elsv.campaign import Campaign
from elsv.campaign.batches import check_taken
from elsv.campaign.records import Outcome
from elsv.service import models
from elsv.service.errors import RefusedError
from elsv.service.models import MOST_AT_ONCE
from elsv.service.reading import (
    check_no_files,
    json_of,
    only,
    part_of_path,
    problem_from,
    read,
    with_arms_from_0,
)
from elsv.service.service import Service
from elsv.service.tokens import Role, Token, digest_of

T = TypeVar("T")
PARQUET, CSV = "application/vnd.apache.parquet", "text/csv; charset=utf-8"
REPORT_POLICY = (  # the report has no script; its own styles and pictures are inside it
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; sandbox"
)


@dataclass(frozen=True)
class Call:
    """A call of the API."""

    method: str
    path: str
    handler: Callable[[Request], Awaitable[Response]]  # its docstring is the description
    role: Role | None  # that is needed; None: everybody may call it
    tag: str
    answer: type[BaseModel] | str  # or the type of what is no JSON
    errors: tuple[int, ...] = ()  # beside those that all calls may have
    body: type[BaseModel] | None = None
    parameter: tuple[str, str, str] | None = None  # header or query, its name, what it says

    async def answered(self, request: Request) -> Response:
        """Answer a request if its token allows it."""
        if self.role is not None:
            check_role(role_of(request), self.role)
        return await self.handler(request)


def service_of(request: Request) -> Service:
    """Return the service that answers."""
    service: Service = request.app.state.service
    return service


def role_of(request: Request) -> Role | None:
    """Return what the sender of a request may do; None without a valid token.

    Where the server has no tokens, which it allows on loopback only, everybody may do everything.
    """
    if service_of(request).tokens is None:
        return Role.ADMIN
    token = _token_of(request)
    return None if token is None else token.may


def who_of(request: Request) -> str | None:
    """Return the name of the token that a request came with, which the log keeps; None without tokens."""
    token = _token_of(request)
    return None if token is None else token.name


def _token_of(request: Request) -> Token | None:
    tokens = service_of(request).tokens
    kind, _, sent = request.headers.get("authorization", "").partition(" ")
    return tokens.find(digest_of(sent.strip())) if tokens and kind.lower() == "bearer" else None


def check_role(mine: Role | None, needed: Role) -> None:
    """Refuse who may not."""
    if mine is None:
        raise RefusedError(
            401,
            "a valid token is needed",
            "none, an unknown or a revoked one",
            "send the header Authorization: Bearer TOKEN with one that `elsv token` made",
            headers={"WWW-Authenticate": 'Bearer realm="elsv"'},
        )
    if mine < needed:
        raise RefusedError(
            403,
            f"this needs a token with the role {needed.word}",
            f"one with the role {mine.word}",
            f"make one with the role {needed.word}: `elsv token`",
        )


async def look(request: Request, call: Callable[[Campaign], T], long: bool = False) -> T:
    """Return what `call` finds out about the campaign of a request, or does to it; see `Service.look`."""
    return await service_of(request).look(part_of_path(request, "name"), call, long)


async def decide(request: Request) -> Response:
    """Choose the arm for a customer, or for `count` of them; it is on disk when the answer comes."""
    body = await json_of(request)
    only(body, "customer", "count", "segment")
    customer, count, segment = body.get("customer"), body.get("count"), body.get("segment")
    for what, text in (("customer", customer), ("segment", segment)):
        if text is not None and not isinstance(text, str):
            raise RefusedError(422, f"{what} must be text", shown(text))
    if count is not None:
        if customer is not None:
            raise RefusedError(422, "give either customer or count", "both", "leave one of them out")
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_AT_ONCE:
            raise RefusedError(422, f"count must be a whole number from 1 to {MOST_AT_ONCE:,}", shown(count))
    customers = [customer] if count is None else [None] * count
    key, name = request.headers.get("idempotency-key"), part_of_path(request, "name")
    found = await service_of(request).decide(name, customers, key, segment)
    return _json({"decisions": [decision.to_dict() for decision in found]})


async def reward(request: Request) -> Response:
    """Report the outcome of a decision; the same outcome twice counts once."""
    (receipt,) = await service_of(request).reward([await _one_outcome(request)])
    return _json(receipt.to_dict())


async def void(request: Request) -> Response:
    """Take back a decision that the customer never saw; it counts as nothing. Twice counts once."""
    told = Outcome(part_of_path(request, "id"), None, who=who_of(request))
    (receipt,) = await service_of(request).reward([told])
    return _json(check_taken(receipt).to_dict())


async def void_request(request: Request) -> Response:
    """Take back what a request with this key decided and nobody saw; no receipts if none had the key."""
    body, who = await read(models.VoidBody, request), who_of(request)
    found = await look(request, lambda campaign: campaign.by(who).void_request(body.key))
    service_of(request).metrics.rewarded(found)
    return _json({"receipts": [receipt.to_dict() for receipt in found]})


async def correction(request: Request) -> Response:
    """Replace the outcome of a decision, as after a return or a cancelled order; the log keeps both."""
    told = (await _one_outcome(request))._replace(corrects=True, who=who_of(request))
    (receipt,) = await service_of(request).reward([told])
    return _json(check_taken(receipt).to_dict())


async def rewards(request: Request) -> Response:
    """Report many outcomes, of any campaigns; all are recorded or none."""
    body = await json_of(request)
    only(body, "rewards")
    given = body.get("rewards")
    if not isinstance(given, list) or not 1 <= len(given) <= MOST_AT_ONCE:
        got = f"{len(given):,}" if isinstance(given, list) else shown(given)
        raise RefusedError(422, f"rewards must be a list of 1 to {MOST_AT_ONCE:,} outcomes", got)
    found = await service_of(request).reward([_outcome(one) for one in given])
    return _json({"receipts": [receipt.to_dict() for receipt in found]})


async def begin(request: Request) -> Response:
    """Begin a campaign; the same body again changes nothing (200), another one is refused (409)."""
    body, name = await read(models.CampaignBody, request), part_of_path(request, "name")
    problem = await asyncio.to_thread(problem_from, body.problem)
    given = with_arms_from_0(body.given(), problem.arms)
    created = await service_of(request).begin(name, problem, body.seed, who_of(request), **given)
    return _json({"name": name, "created": created}, 201 if created else 200)


async def campaigns(request: Request) -> Response:
    """List all campaigns."""
    return _json({"campaigns": [one.to_dict() for one in await service_of(request).listed()]})


async def status(request: Request) -> Response:
    """Say how a campaign stands: earnings, gains with intervals, every arm, settings."""

    def say(campaign: Campaign) -> dict[str, Any]:
        settings = {"version": campaign.version, **campaign.settings.to_dict()}
        return campaign.status().to_dict() | {"settings": settings, "problem": campaign.problem.to_dict()}

    found = await look(request, say)
    return _json(finite(found), headers={"ETag": f'"{found["settings"]["version"]}"'})


async def change(request: Request) -> Response:
    """Change settings, as one new version: policy, floor, paused, horizon and others."""
    body, name = await read(models.ChangeBody, request), part_of_path(request, "name")
    expected = _version(request.headers.get("if-match"))
    given = with_arms_from_0(body.given(), await look(request, lambda campaign: campaign.problem.arms))
    settings, version = await service_of(request).set(name, given, expected, who_of(request))
    return _json({"version": version, **settings.to_dict()}, headers={"ETag": f'"{version}"'})


async def add(request: Request) -> Response:
    """Add an arm to a campaign; all others keep their numbers."""
    body, name = await read(models.ArmBody, request), part_of_path(request, "name")
    check_no_files(body.structure or {})
    after = body.after - 1 if isinstance(body.after, int) else body.after
    about = {"expect": body.expect, "after": after, "segment": body.segment, "structure": body.structure}
    found, problem = await service_of(request).add(name, body.name, body.reward, who_of(request), **about)
    row = problem.prior[found].tolist()
    return _json({"arm": found + 1, "name": body.name, "prior": row}, 201)


async def forget(request: Request) -> Response:
    """Remove a customer's name from the whole log; the counts stay."""
    body, who = await read(models.ForgetBody, request), who_of(request)
    count = await look(request, lambda campaign: campaign.by(who).forget(body.customer))
    return _json({"decisions": count})


async def explain(request: Request) -> Response:
    """Say what the next customer would get, and why."""
    segment = request.query_params.get("segment")
    if segment is not None and len(segment) > 500:
        raise RefusedError(422, "segment must have at most 500 characters", f"{len(segment):,}")
    found = await look(request, lambda campaign: campaign.explain(segment))
    return _json(finite(found.to_dict()))


async def audit(request: Request) -> Response:
    """Replay the whole log and compare every count with what is stored, exactly."""
    return _json((await look(request, Campaign.audit, long=True)).to_dict())


async def export(request: Request) -> Response:
    """Return all decisions with their outcomes, as a Parquet file."""
    return await exported(request, "export.parquet", PARQUET)


async def export_csv(request: Request) -> Response:
    """Return all decisions with their outcomes, as CSV."""
    return await exported(request, "export.csv", CSV)


async def exported(request: Request, file: str, kind: str) -> Response:
    """Return the file of all decisions with their outcomes."""
    content = await look(request, lambda one: _file(one.export, file), long=True)
    headers = {"Content-Disposition": f'attachment; filename="{file}"'}
    return Response(content, headers=headers, media_type=kind)


async def delete(request: Request) -> Response:
    """Delete a campaign; its whole log goes to a file on the server first."""
    body, name = await read(models.DeleteBody, request), part_of_path(request, "name")
    return _json({"name": name, "file": await service_of(request).delete(name, body.name)})


async def report(request: Request) -> Response:
    """Return the status as one page that needs nothing else."""
    content = await look(request, report_of, long=True)
    headers = {"Content-Security-Policy": REPORT_POLICY}
    return Response(content, headers=headers, media_type="text/html; charset=utf-8")


def report_of(campaign: Campaign) -> bytes:
    """Return the report of a campaign."""
    return _file(campaign.report, "report.html")


async def healthz(request: Request) -> Response:
    """Say that the process lives."""
    return _json({"status": "alive"})


async def readyz(request: Request) -> Response:
    """Say whether decisions can be made now: the kernels are there and the database answers."""
    service = service_of(request)
    if not service.ready:
        raise RefusedError(503, "the server is not ready", None, "try again", headers={"Retry-After": "1"})
    await service.check()
    return _json({"status": "ready"})


async def metrics(request: Request) -> Response:
    """Return counts and histograms as Prometheus reads them."""
    service = service_of(request)
    return Response(service.metrics.text(service.ready), media_type="text/plain; version=0.0.4")


async def _one_outcome(request: Request) -> Outcome:
    """Return the outcome in a request whose address has the decision."""
    body = await json_of(request)
    only(body, "success")
    return _outcome({"decision": part_of_path(request, "id"), **body})


def _outcome(given: object) -> Outcome:
    if not isinstance(given, dict) or not isinstance(given.get("decision"), str):
        raise RefusedError(422, "an outcome must be {decision, success}", shown(given))
    only(given, "decision", "success")
    if not isinstance(given.get("success"), bool):
        raise RefusedError(422, "success must be true or false", shown(given.get("success")))
    return Outcome(given["decision"], given["success"])


def _json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    content = json.dumps(value, allow_nan=False).encode()
    return Response(content, status, headers, "application/json")


def _file(write: Callable[[Path], object], name: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="elsv") as folder:
        path = Path(folder) / name
        write(path)
        return path.read_bytes()


def _version(if_match: str | None) -> int | None:
    if if_match is None or if_match.strip() == "*":
        return None
    found = re.fullmatch(r'"?([0-9]{1,9})"?', if_match.strip())
    if not found:
        raise RefusedError(
            422, "If-Match must be a version of the settings", shown(if_match), 'send it as in ETag: "3"'
        )
    return int(found[1])


_KEY = ("header", "idempotency-key", "A retry with the same key gets the first answer.")
_MATCH = ("header", "if-match", 'The version of the settings that you saw last, such as "3".')
_SEGMENT = ("query", "segment", "The segment of the next customer, where there are segments.")
READ, WRITE, ADMIN = Role.READ, Role.WRITE, Role.ADMIN
CALLS = (
    Call("POST", "/campaigns/{name}/decisions", decide, WRITE, "decisions", models.DecisionsAnswer, (404,),
         models.DecisionsBody, _KEY),
    Call("POST", "/decisions/{id}/reward", reward, WRITE, "outcomes", models.ReceiptAnswer, (404,),
         models.RewardBody),
    Call("POST", "/decisions/{id}/void", void, WRITE, "outcomes", models.ReceiptAnswer, (404, 409, 422)),
    Call("POST", "/campaigns/{name}/decisions/void", void_request, WRITE, "outcomes", models.ReceiptsAnswer,
         (404,), models.VoidBody),
    Call("POST", "/decisions/{id}/correction", correction, WRITE, "outcomes", models.ReceiptAnswer,
         (404, 409), models.RewardBody),
    Call("POST", "/rewards", rewards, WRITE, "outcomes", models.ReceiptsAnswer, (404,), models.RewardsBody),
    Call("PUT", "/campaigns/{name}", begin, ADMIN, "campaigns", models.BegunAnswer, (409,),
         models.CampaignBody),
    Call("GET", "/campaigns", campaigns, READ, "campaigns", models.CampaignsAnswer),
    Call("GET", "/campaigns/{name}", status, READ, "campaigns", models.StatusAnswer, (404, 422)),
    Call("PATCH", "/campaigns/{name}", change, ADMIN, "campaigns", models.SettingsAnswer, (404, 412),
         models.ChangeBody, _MATCH),
    Call("DELETE", "/campaigns/{name}", delete, ADMIN, "campaigns", models.DeletedAnswer, (404,),
         models.DeleteBody),
    Call("POST", "/campaigns/{name}/arms", add, ADMIN, "campaigns", models.ArmAnswer, (404,),
         models.ArmBody),
    Call("POST", "/campaigns/{name}/forget", forget, ADMIN, "campaigns", models.ForgottenAnswer, (404,),
         models.ForgetBody),
    Call("GET", "/campaigns/{name}/explain", explain, READ, "campaigns", "application/json", (404, 422),
         parameter=_SEGMENT),
    Call("GET", "/campaigns/{name}/audit", audit, READ, "campaigns", models.AuditAnswer, (404, 422)),
    Call("GET", "/campaigns/{name}/export.parquet", export, READ, "campaigns", PARQUET, (404, 422, 501)),
    Call("GET", "/campaigns/{name}/export.csv", export_csv, READ, "campaigns", "text/csv", (404, 422)),
    Call("GET", "/campaigns/{name}/report.html", report, READ, "campaigns", "text/html", (404, 422, 501)),
    Call("GET", "/healthz", healthz, None, "operations", models.StateAnswer),
    Call("GET", "/readyz", readyz, None, "operations", models.StateAnswer),
    Call("GET", "/metrics", metrics, READ, "operations", "text/plain"),
)  # fmt: skip
