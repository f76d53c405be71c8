"""The application: routes, errors and limits put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response

from elsv._version import __version__
from elsv.errors import ElsvError
from elsv.service import page
from elsv.service.problems import RefusedError, answer, refusal_of
from elsv.service.roles import Tokens
from elsv.service.routes import health
from elsv.service.service import Service
from elsv.service.settings import ServiceSettings
from elsv.service.tokens import open_tokens


def create_app(settings: ServiceSettings, tokens: Tokens | None = None) -> FastAPI:
    """Return the application; it opens its store when it is started.

    Parameters
    ----------
    settings
        Options of ``elsv serve``.
    tokens
        Instead of the file that `settings` name.
    """
    if tokens is None and settings.tokens is not None:
        tokens = open_tokens(settings.tokens)
    service = Service(settings, tokens)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.stop()

    app = FastAPI(title="elsv", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    app.state.service = service
    app.add_exception_handler(RefusedError, _refused)
    app.add_exception_handler(ElsvError, _refused)
    app.include_router(health.router)
    app.include_router(page.router(service))
    return app


async def _refused(request: Request, error: Exception) -> Response:
    return answer(refusal_of(error))
