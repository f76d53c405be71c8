"""The application: routes, errors and limits put together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from elsv._base.numbers import shown
from elsv._version import __version__
from elsv.errors import ElsvError
from elsv.service import page
from elsv.service.express import Express
from elsv.service.gate import App, Gate
from elsv.service.problems import RefusedError, answer, refusal_of
from elsv.service.roles import Tokens
from elsv.service.routes import campaigns, decisions, health
from elsv.service.service import Service
from elsv.service.settings import ServiceSettings
from elsv.service.tokens import open_tokens

_REMEDY = "see /openapi.json"
_ABOUT = """Decisions whose outcomes come late, made by Bayesian planning.

Begin a campaign with `PUT /campaigns/{name}`, ask `POST /campaigns/{name}/decisions` for every customer, and
report what happened with `POST /decisions/{id}/reward`. Whatever is answered is on disk. Errors are
`application/problem+json` with the rule, the value and the remedy. With tokens, send
`Authorization: Bearer TOKEN`.
"""


def create_app(
    settings: ServiceSettings, tokens: Tokens | None = None, clock: Callable[[], float] = time.time
) -> FastAPI:
    """Return the application, with its store open; it gets ready when it is started.

    Parameters
    ----------
    settings
        Options of ``elsv serve``.
    tokens
        Instead of the file that `settings` name.
    clock
        Returns seconds since 1970; for tests.
    """
    if tokens is None and settings.tokens is not None:
        tokens = open_tokens(settings.tokens)
    service = Service(settings, tokens, clock)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        warming = asyncio.create_task(service.start())
        try:
            yield
        finally:
            warming.cancel()
            await service.stop()

    app = _Application(
        title="elsv",
        version=__version__,
        description=_ABOUT,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    app.state.service = service
    for kind, handler in (
        (RefusedError, _refused),
        (ElsvError, _refused),
        (RecursionError, _refused),
        (RequestValidationError, _invalid),
        (HTTPException, _not_found),
        (Exception, _refused),
    ):
        app.add_exception_handler(kind, handler)
    for router in (decisions.router, campaigns.router, health.router, page.router(service)):
        app.include_router(router)
    app.front = Gate(Express(partial(FastAPI.__call__, app)), service)
    return app


class _Application(FastAPI):
    """Routes, behind a gate and beside a short way that the framework does not see."""

    front: App

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        scope["app"] = self
        await self.front(scope, receive, send)


async def _refused(request: Request, error: Exception) -> Response:
    return answer(refusal_of(error))


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = " ".join(str(part) for part in first["loc"])
    return answer(
        RefusedError(422, f"{place}: {first['msg']}", shown(first.get("input")), "see /openapi.json")
    )


async def _not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    rule = {404: "the address must be one that /openapi.json lists", 405: "the method must fit the address"}
    got = f"{request.method} {request.url.path}"[:200]
    told = RefusedError(
        error.status_code, rule.get(error.status_code, error.detail), got, "see /openapi.json"
    )
    told.headers.update(error.headers or {})
    return answer(told)
