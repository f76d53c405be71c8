"""The application: what every request passes, and the OpenAPI document of the calls."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import sys
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from pydantic.json_schema import models_json_schema
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.routing import Route, Router
from starlette.types import Message, Receive, Scope, Send

from elsv._version import __version__
from elsv.service.api import CALLS, Call
from elsv.service.errors import MEDIA_TYPE, RefusedError, refusal_of
from elsv.service.models import ProblemBody
from elsv.service.page.routes import page_routes
from elsv.service.service import Service
from elsv.service.settings import ServiceSettings, is_loopback
from elsv.service.tokens import TokenFile

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
MOST_ADDRESSES = 10_000
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


def create_app(
    settings: ServiceSettings, tokens: TokenFile | None = None, clock: Callable[[], float] = time.time
) -> App:
    """Return the application, with its store open; it gets ready when it is started.

    `tokens` replace the file that `settings` name; `clock` returns seconds since 1970, for tests.
    """
    if tokens is None and settings.tokens is not None:
        tokens = TokenFile(settings.tokens)
    return App(Service(settings, tokens, clock))


class App:
    """What every request passes: limits on the way in; errors, headers, counts and the log on the way out."""

    def __init__(self, service: Service) -> None:
        self.service, described = service, document(CALLS)
        calls = [Route(call.path, call, methods=[call.method]) for call in CALLS]
        described_at = Route("/openapi.json", lambda request: JSONResponse(described))
        routes = [*calls, described_at, *page_routes(service)]
        self.router = Router(routes, redirect_slashes=False, lifespan=self._lifespan)
        self._rates, self._log = Rates(service.settings.rate), service.settings.log_json

    @asynccontextmanager
    async def _lifespan(self, app: object) -> AsyncIterator[None]:
        warming = asyncio.create_task(self.service.start())
        try:
            yield
        finally:
            warming.cancel()
            await self.service.stop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        scope["app"] = self
        if scope["type"] != "http":
            await self.router(scope, receive, send)
            return
        began, status = time.perf_counter(), 0
        scope["path"] = scope["raw_path"].decode("ascii")  # routes see %2F in a name, not a slash

        async def answered(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status, headers = message["status"], MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            self._check(scope)
            await self.router(scope, receive, answered)
        except Exception as error:
            refusal = _no_route(scope, error) if isinstance(error, HTTPException) else refusal_of(error)
            if not status:
                await refusal.response()(scope, receive, answered)
            if refusal.status == 500:
                raise  # for the log
        finally:
            seconds = time.perf_counter() - began
            route = getattr(scope.get("route"), "path", "none")
            self.service.metrics.answered(scope["method"], route, status or 500, seconds)
            if self._log:
                _print_line(scope, status or 500, seconds)

    def _check(self, scope: Scope) -> None:
        """Refuse too many requests; without tokens also names that other sites may have given to us."""
        client = scope.get("client")
        self._rates.check(client[0] if client else "")
        if self.service.tokens is not None:
            return
        host = Headers(scope=scope).get("host", "")
        try:
            own = is_loopback(urlsplit(f"//{host}").hostname or "")
        except ValueError:
            own = False
        if not own:
            raise RefusedError(
                403,
                "a server without tokens answers to the name localhost only",
                host[:100] or "no Host",
                "use http://127.0.0.1, or start it with --tokens FILE",
            )


def _no_route(scope: Scope, error: HTTPException) -> RefusedError:
    """Return the refusal of an unknown address, or of a method that it does not have."""
    rule = {404: "the address must be one that /openapi.json lists", 405: "the method must fit the address"}
    got = f"{scope['method']} {scope['path']}"[:200]
    status, headers = error.status_code, error.headers
    return RefusedError(status, rule.get(status, error.detail), got, "see /openapi.json", headers=headers)


class Rates:
    """How many requests each address may send: some a second, twice as many at once."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, address: str) -> None:
        """Count a request of an address, or refuse it."""
        if self._rate <= 0:
            return
        now = time.monotonic()
        left, before = self._left.get(address, (2 * self._rate, now))
        left = min(2 * self._rate, left + (now - before) * self._rate) - 1
        if left < 0:
            raise RefusedError(
                429,
                f"an address may send {self._rate:,.0f} requests a second",
                "more",
                "wait a moment, or send several decisions or outcomes in one request",
                headers={"Retry-After": "1"},
            )
        self._left[address] = left, now
        if len(self._left) > MOST_ADDRESSES:
            self._left.popitem(last=False)


def _print_line(scope: Scope, status: int, seconds: float) -> None:
    """Print what was answered; no header, no query and no body, which may hold secrets."""
    client = scope.get("client")
    line: dict[str, Any] = {
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "client": client[0] if client else None,
        "method": scope["method"],
        "path": scope["path"][:500],
        "status": status,
        "ms": round(1000 * seconds, 3),
    }
    print(json.dumps(line), file=sys.stderr, flush=True)


def document(calls: Sequence[Call]) -> dict[str, Any]:
    """Return the OpenAPI document."""
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
    parts = re.findall(r"{(\w+)}", call.path)
    parameters = [
        {"name": part, "in": "path", "required": True, "schema": {"type": "string"}} for part in parts
    ]
    responses = {"201" if call.path.endswith("/arms") else "200": _success(call)}
    if call.method == "PUT":
        responses = {"201": _success(call), "200": _success(call, "It had begun so before.")}
    for status in sorted({*_ALWAYS, *call.errors, *(_WITH_BODY if call.body else ())}):
        responses[str(status)] = _content(_ERRORS[status], MEDIA_TYPE, _schema(ProblemBody))
    found: dict[str, Any] = {
        "operationId": name,
        "summary": name.capitalize(),
        "description": inspect.getdoc(call.handler),
        "tags": [call.tag],
        "parameters": parameters,
        "responses": responses,
    }
    if call.parameter is not None:
        place, name, text = call.parameter
        schema = {"type": "string", "maxLength": 500}
        parameters.append(
            {"name": name, "in": place, "required": False, "description": text, "schema": schema}
        )
    if call.body is not None:
        examples: Any = (call.body.model_config.get("json_schema_extra") or {})["examples"]  # type: ignore[index]
        shape: dict[str, Any] = {
            "schema": _schema(call.body),
            "examples": {f"example {k}": {"value": value} for k, value in enumerate(examples, 1)},
        }
        found["requestBody"] = {"required": True, "content": {"application/json": shape}}
    return found


def _schema(model: type) -> dict[str, Any]:
    return {"$ref": _PLACE.format(model=model.__name__)}


def _content(text: str, kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": text, "content": {kind: {"schema": schema}}}


def _success(call: Call, text: str = "It is done.") -> dict[str, Any]:
    if isinstance(call.answer, str):
        return _content(text, call.answer, {})
    return _content(text, "application/json", _schema(call.answer))
