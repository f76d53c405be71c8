"""A short way to the routes that are called for every customer.

It leads to the same functions as the long one, past what a framework looks up for each request: that took
more time than everything else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import SimpleNamespace

from fastapi import Request, Response

from elsv.errors import ElsvError
from elsv.service.auth import check_role, role_of
from elsv.service.gate import App, Message, Receive, Send
from elsv.service.problems import RefusedError, answer, refusal_of
from elsv.service.roles import Role
from elsv.service.routes.decisions import decide, reward

Handler = Callable[[Request, str], Awaitable[Response]]


async def _decide(request: Request, name: str) -> Response:
    return await decide(request, name, request.headers.get("idempotency-key"))


WAYS: dict[tuple[str, str], tuple[Handler, object]] = {
    ("campaigns", "decisions"): (_decide, SimpleNamespace(path="/campaigns/{name}/decisions")),
    ("decisions", "reward"): (reward, SimpleNamespace(path="/decisions/{id}/reward")),
}


class Express:
    """Stands before the rest of the application and answers these requests itself."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        way = None
        if scope["type"] == "http" and scope["method"] == "POST":
            parts = scope["path"].split("/")
            if len(parts) == 4 and parts[2]:
                way = WAYS.get((parts[1], parts[3]))
        if way is None:
            await self._app(scope, receive, send)
            return
        handler, scope["route"] = way
        request = Request(scope, receive)
        try:
            check_role(role_of(request), Role.WRITE)
            response = await handler(request, parts[2])
        except (RefusedError, ElsvError, RecursionError) as error:
            response = answer(refusal_of(error))
        except Exception as error:
            await answer(refusal_of(error))(scope, receive, send)
            raise  # for the log
        await response(scope, receive, send)
