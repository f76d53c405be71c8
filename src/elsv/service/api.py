"""The calls of the API, one row each: what is asked for, by whom, how it is answered and documented.

Read `CALLS` first, at the end. `app` makes routes of them and the OpenAPI document. Decisions and outcomes
come by the thousand each second, so their bodies are read by hand; all others are checked by `models`.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from elsv._base.numbers import finite, shown
from elsv.campaign import Campaign
from elsv.campaign.batches import check_taken
from elsv.campaign.records import Outcome
from elsv.service import models
from elsv.service.errors import RefusedError
from elsv.service.models import MOST_AT_ONCE, check_no_files, problem_from, with_arms_from_0
from elsv.service.service import Service
from elsv.service.tokens import Role, Token, digest_of

T = TypeVar("T")
Model = TypeVar("Model", bound=BaseModel)
PARQUET, CSV = "application/vnd.apache.parquet", "text/csv; charset=utf-8"
HTML = "text/html; charset=utf-8"
REPORT_POLICY = (  # the report has no script; its own styles and pictures are inside it
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
)


class Asked(Request):
    """A request, with what calls and pages want to know of it."""

    @property
    def service(self) -> Service:
        """The service that answers."""
        found: Service = self.scope["app"].service
        return found

    @cached_property
    def token(self) -> Token | None:
        """The valid token that it came with."""
        tokens = self.service.tokens
        kind, _, sent = self.headers.get("authorization", "").partition(" ")
        return tokens.find(digest_of(sent.strip())) if tokens and kind.lower() == "bearer" else None

    @property
    def role(self) -> Role | None:
        """What its sender may do; everything where there are no tokens, which is allowed on loopback only."""
        if self.service.tokens is None:
            return Role.ADMIN
        return None if self.token is None else self.token.may

    @property
    def who(self) -> str | None:
        """The name of its token, which the log keeps; None without tokens."""
        return None if self.token is None else self.token.name

    def part(self, name: str) -> str:
        """Return a part of the address; routes go by the address as it was sent, so / may be %2F."""
        return unquote(self.path_params[name])

    async def look(self, call: Callable[[Campaign], T], long: bool = False) -> T:
        """Return what `call` finds out about the campaign of the address; see `Service.look`."""
        return await self.service.look(self.part("name"), call, long)

    async def json_object(self) -> dict[str, Any]:
        """Return the JSON object that it carries."""
        kind = self.headers.get("content-type", "")
        if kind.partition(";")[0].strip().lower() != "application/json":
            rule, got = "a body must be JSON and say so", shown(kind) if kind else "no Content-Type"
            raise RefusedError(415, rule, got, "send the header Content-Type: application/json")
        try:
            content = await self.body()
        except ClientDisconnect as error:
            rule, got = "a body must come whole", "the end of the connection"
            raise RefusedError(400, rule, got, "send it again") from error
        try:
            found = _DECODER.decode(content.decode("utf-8"))
            if b"\\u" in content:  # half a pair of surrogates is no text
                json.dumps(found, ensure_ascii=False).encode("utf-8")
        except (ValueError, RecursionError) as error:
            text = "values within values without end" if isinstance(error, RecursionError) else str(error)
            raise RefusedError(
                400, "a body must be JSON in UTF-8", text[:200], "send an object {…}"
            ) from error
        if not isinstance(found, dict):
            raise RefusedError(422, "a body must be a JSON object", shown(found), "send {…}")
        return found

    async def read(self, model: type[Model]) -> Model:
        """Return its body, checked by a model."""
        try:
            return model.model_validate(await self.json_object())
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"]) or "the body"
            rule = f"{place}: {first['msg'][:1].lower()}{first['msg'][1:]}"
            raise RefusedError(422, rule, shown(first.get("input")), "see /openapi.json") from error


@dataclass(frozen=True)
class Call:
    """A call of the API."""

    method: str
    path: str
    handler: Callable[[Asked], Awaitable[Response]]  # its docstring is the description
    role: Role | None  # that is needed; None: everybody may call it
    tag: str
    answer: type[BaseModel] | str  # or the media type of what is not JSON
    errors: tuple[int, ...] = ()  # beside those that all calls may have
    body: type[BaseModel] | None = None
    parameter: tuple[str, str, str] | None = None  # header or query, its name, what it says

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request if its token allows it."""
        asked = Asked(scope, receive)
        if self.role is not None:
            check_role(asked.role, self.role)
        response = await self.handler(asked)
        await response(scope, receive, send)


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
        rule, got = f"this needs a token with the role {needed.word}", f"one with the role {mine.word}"
        raise RefusedError(403, rule, got, f"make one with the role {needed.word}: `elsv token`")


async def decide(asked: Asked) -> Response:
    """Choose the arm for a customer, or for `count` of them; it is on disk when the answer comes."""
    body = only(await asked.json_object(), "customer", "count", "segment")
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
    key = asked.headers.get("idempotency-key")
    found = await asked.service.decide(asked.part("name"), customers, key, segment)
    return _json({"decisions": [decision.to_dict() for decision in found]})


async def reward(asked: Asked) -> Response:
    """Report the outcome of a decision; the same outcome twice counts once."""
    (receipt,) = await asked.service.reward([await _one_outcome(asked)])
    return _json(receipt.to_dict())


async def void(asked: Asked) -> Response:
    """Take back a decision that the customer never saw; it counts as nothing. Twice counts once."""
    (receipt,) = await asked.service.reward([Outcome(asked.part("id"), None, who=asked.who)])
    return _json(check_taken(receipt).to_dict())


async def void_request(asked: Asked) -> Response:
    """Take back what a request with this key decided and nobody saw; no receipts if none had the key."""
    body = await asked.read(models.VoidBody)
    found = await asked.look(lambda campaign: campaign.by(asked.who).void_request(body.key))
    asked.service.metrics.rewarded(found)
    return _json({"receipts": [receipt.to_dict() for receipt in found]})


async def correction(asked: Asked) -> Response:
    """Replace the outcome of a decision, as after a return or a cancelled order; the log keeps both."""
    told = (await _one_outcome(asked))._replace(corrects=True, who=asked.who)
    (receipt,) = await asked.service.reward([told])
    return _json(check_taken(receipt).to_dict())


async def rewards(asked: Asked) -> Response:
    """Report many outcomes, of any campaigns; all are recorded or none."""
    given = only(await asked.json_object(), "rewards").get("rewards")
    if not isinstance(given, list) or not 1 <= len(given) <= MOST_AT_ONCE:
        got = f"{len(given):,}" if isinstance(given, list) else shown(given)
        raise RefusedError(422, f"rewards must be a list of 1 to {MOST_AT_ONCE:,} outcomes", got)
    found = await asked.service.reward([_outcome(one) for one in given])
    return _json({"receipts": [receipt.to_dict() for receipt in found]})


async def begin(asked: Asked) -> Response:
    """Begin a campaign; the same body again changes nothing (200), another one is refused (409)."""
    body, name = await asked.read(models.CampaignBody), asked.part("name")
    problem = await asyncio.to_thread(problem_from, body.problem)
    given = with_arms_from_0(body.given(), problem.arms)
    created = await asked.service.begin(name, problem, body.seed, asked.who, **given)
    return _json({"name": name, "created": created}, 201 if created else 200)


async def campaigns(asked: Asked) -> Response:
    """List all campaigns."""
    return _json({"campaigns": [one.to_dict() for one in await asked.service.listed()]})


async def status(asked: Asked) -> Response:
    """Say how a campaign stands: earnings, gains with intervals, every arm, settings."""

    def say(campaign: Campaign) -> dict[str, Any]:
        settings = {"version": campaign.version, **campaign.settings.to_dict()}
        return campaign.status().to_dict() | {"settings": settings, "problem": campaign.problem.to_dict()}

    found = await asked.look(say)
    return _json(finite(found), headers={"ETag": f'"{found["settings"]["version"]}"'})


async def change(asked: Asked) -> Response:
    """Change settings, as one new version: policy, floor, paused, horizon and others."""
    body, expected = await asked.read(models.ChangeBody), _version(asked.headers.get("if-match"))
    given = with_arms_from_0(body.given(), await asked.look(lambda campaign: campaign.problem.arms))
    settings, version = await asked.service.set(asked.part("name"), given, expected, asked.who)
    return _json({"version": version, **settings.to_dict()}, headers={"ETag": f'"{version}"'})


async def add(asked: Asked) -> Response:
    """Add an arm to a campaign; all others keep their numbers."""
    body = await asked.read(models.ArmBody)
    check_no_files(body.structure or {})
    stated = body.model_dump(include={"expect", "after", "segment", "structure"})
    about = with_arms_from_0(stated, await asked.look(lambda campaign: campaign.problem.arms))
    found, problem = await asked.service.add(asked.part("name"), body.name, body.reward, asked.who, **about)
    return _json({"arm": found + 1, "name": body.name, "prior": problem.prior[found].tolist()}, 201)


async def forget(asked: Asked) -> Response:
    """Remove a customer's name from the whole log; the counts stay."""
    body = await asked.read(models.ForgetBody)
    count = await asked.look(lambda campaign: campaign.by(asked.who).forget(body.customer))
    return _json({"decisions": count})


async def explain(asked: Asked) -> Response:
    """Say what the next customer would get, and why."""
    segment = asked.query_params.get("segment")
    if segment is not None and len(segment) > 500:
        raise RefusedError(422, "segment must have at most 500 characters", f"{len(segment):,}")
    return _json(finite((await asked.look(lambda campaign: campaign.explain(segment))).to_dict()))


async def audit(asked: Asked) -> Response:
    """Replay the whole log and compare every count with what is stored, exactly."""
    return _json((await asked.look(Campaign.audit, long=True)).to_dict())


async def export(asked: Asked) -> Response:
    """Return all decisions with their outcomes, as a Parquet file."""
    return await file_of(asked, Campaign.export, "export.parquet", PARQUET)


async def export_csv(asked: Asked) -> Response:
    """Return all decisions with their outcomes, as CSV."""
    return await file_of(asked, Campaign.export, "export.csv", CSV)


async def delete(asked: Asked) -> Response:
    """Delete a campaign; its whole log goes to a file on the server first."""
    body, name = await asked.read(models.DeleteBody), asked.part("name")
    return _json({"name": name, "file": await asked.service.delete(name, body.name)})


async def report(asked: Asked) -> Response:
    """Return the status as one page that needs nothing else."""
    policy = {"Content-Security-Policy": f"{REPORT_POLICY}; sandbox"}
    return await file_of(asked, Campaign.report, "report.html", HTML, policy)


async def file_of(
    asked: Asked,
    write: Callable[[Campaign, Path], object],
    file: str,
    kind: str,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a file that the campaign writes; a browser saves it unless `headers` say otherwise."""

    def written(campaign: Campaign) -> bytes:
        with tempfile.TemporaryDirectory(prefix="elsv") as folder:
            path = Path(folder) / file
            write(campaign, path)
            return path.read_bytes()

    if headers is None:
        headers = {"Content-Disposition": f'attachment; filename="{file}"'}
    return Response(await asked.look(written, long=True), headers=headers, media_type=kind)


async def healthz(asked: Asked) -> Response:
    """Say that the process lives."""
    return _json({"status": "alive"})


async def readyz(asked: Asked) -> Response:
    """Say whether decisions can be made now: the kernels are there and the database answers."""
    if not asked.service.ready:
        raise RefusedError(503, "the server is not ready", None, "try again", headers={"Retry-After": "1"})
    await asked.service.read("SELECT 1 FROM elsv_campaign LIMIT 1")
    return _json({"status": "ready"})


async def metrics(asked: Asked) -> Response:
    """Return counts and histograms as Prometheus reads them."""
    text = asked.service.metrics.text(asked.service.ready)
    return Response(text, media_type="text/plain; version=0.0.4")


def only(body: dict[str, Any], *known: str) -> dict[str, Any]:
    """Return a body, or refuse fields that are not `known`."""
    if not body.keys() <= set(known):
        strange = next(key for key in body if key not in known)
        raise RefusedError(422, f"known fields are {', '.join(known)}", shown(strange), "leave it out")
    return body


async def _one_outcome(asked: Asked) -> Outcome:
    """Return the outcome in a request whose address has the decision."""
    return _outcome({"decision": asked.part("id"), **only(await asked.json_object(), "success")})


def _outcome(given: object) -> Outcome:
    if not isinstance(given, dict) or not isinstance(given.get("decision"), str):
        raise RefusedError(422, "an outcome must be {decision, success}", shown(given))
    only(given, "decision", "success")
    if not isinstance(given.get("success"), bool):
        raise RefusedError(422, "success must be true or false", shown(given.get("success")))
    return Outcome(given["decision"], given["success"])


def _json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(_ENCODER.encode(value).encode(), status, headers, "application/json")


def _version(if_match: str | None) -> int | None:
    if if_match is None or if_match.strip() == "*":
        return None
    found = re.fullmatch(r'"?([0-9]{1,9})"?', if_match.strip())
    if not found:
        remedy = 'send it as in ETag: "3"'
        raise RefusedError(422, "If-Match must be a version of the settings", shown(if_match), remedy)
    return int(found[1])


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
        got = f"{shown(twice)} {times} times"
        raise RefusedError(422, "a JSON object has each key once", got, "send it once")
    return found


_ENCODER = json.JSONEncoder(allow_nan=False)
_DECODER = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite, object_pairs_hook=_unique)
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
