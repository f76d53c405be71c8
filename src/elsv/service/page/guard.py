"""Who may see a page and send its forms; errors as pages."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlsplit

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute

from elsv.errors import ElsvError
from elsv.service.auth import check_role
from elsv.service.page.forms import fields_of
from elsv.service.page.rendering import HEADERS, page
from elsv.service.page.sessions import Visitor, from_our_page, visitor_of
from elsv.service.problems import RefusedError, refusal_of
from elsv.service.roles import Role

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
_HEADINGS = {403: "Not allowed", 404: "Not found", 422: "That does not work", 503: "Not now"}


class OpenRoute(APIRoute):
    """A page that everybody may see: its errors are pages too."""

    needs_login = False

    def get_route_handler(self) -> Handler:
        """Return what answers a request."""
        answer = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            try:
                visitor = request.state.visitor = await visitor_of(request)
                if self.needs_login and visitor.role is None:
                    return _to_login(request)
                return await answer(request)
            except (ElsvError, RefusedError, RecursionError) as error:
                return _error_page(request, refusal_of(error))

        return guarded


class PageRoute(OpenRoute):
    """A page for those who have logged in."""

    needs_login = True


async def form_of(request: Request) -> list[tuple[str, str]]:
    """Return the fields of a form, if it was sent from a page of ours."""
    fields = await fields_of(request)
    visitor: Visitor = request.state.visitor
    if not from_our_page(request, visitor, dict(fields).get("code", "")):
        raise RefusedError(
            403, "a form must be sent from its page", "another origin or an old page", "load the page again"
        )
    return fields


async def admin_form(request: Request) -> list[tuple[str, str]]:
    """Return the fields of a form that only an admin may send."""
    fields = await form_of(request)
    check_role(request.state.visitor.role, Role.ADMIN)
    return fields


def inner_address(text: str) -> str:
    """Return an address on this server to go to after the login; any other becomes the list.

    Examples
    --------
    >>> inner_address("/ui/new"), inner_address("//elsewhere"), inner_address("https://elsewhere/ui/")
    ('/ui/new', '/', '/')
    """
    parts = urlsplit(text) if text.isascii() and text.isprintable() and "\\" not in text else None
    if parts is None or parts.scheme or parts.netloc or not parts.path.startswith("/ui/"):
        return "/"
    return text


def _to_login(request: Request) -> Response:
    if request.headers.get("hx-request"):
        return Response(status_code=401, headers={**HEADERS, "HX-Refresh": "true"})
    asked = request.scope["raw_path"].decode("ascii", "replace") if request.method == "GET" else "/"
    onward = "" if asked == "/" else f"?next={quote(asked, safe='')}"
    return RedirectResponse(f"/ui/login{onward}", 303, headers=HEADERS)


def _error_page(request: Request, refusal: RefusedError) -> Response:
    heading = _HEADINGS.get(refusal.status, HTTPStatus(refusal.status).phrase)
    text = refusal.detail[0].upper() + refusal.detail[1:] + "."
    visitor = getattr(request.state, "visitor", Visitor("", None, fresh=False))  # none: tokens cannot be read
    response = page(request, "message.html", visitor, refusal.status, heading=heading, text=text)
    if (wait := refusal.headers.get("Retry-After")) is not None:
        response.headers["Retry-After"] = wait
    return response
