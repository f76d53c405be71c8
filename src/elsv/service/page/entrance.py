"""Login, logout, and the files that pages load."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from elsv.service.page.guard import OpenRoute, form_of, inner_address
from elsv.service.page.rendering import HEADERS, page, static_files
from elsv.service.page.sessions import keep, log_out, logged_in
from elsv.service.problems import RefusedError
from elsv.service.service import Service

_FOR_GOOD = "public, max-age=31536000, immutable"


def entrance_routes(service: Service) -> APIRouter:
    """Return the routes that need no login."""
    router = APIRouter(include_in_schema=False, route_class=OpenRoute)

    @router.get("/ui/login")
    async def login_page(request: Request) -> Response:
        onward = inner_address(request.query_params.get("next", "/"))
        if request.state.visitor.role is not None:
            return RedirectResponse(onward, 303, headers=HEADERS)
        return page(request, "login.html", next=onward, errors={})

    @router.post("/ui/login")
    async def login(request: Request) -> Response:
        fields = dict(await form_of(request))
        onward = inner_address(fields.get("next", "/"))
        if service.tokens is None:
            return RedirectResponse(onward, 303, headers=HEADERS)
        visitor = await logged_in(service, fields.get("token", "").strip())
        if visitor is None:
            errors = {"token": "This token is unknown or was revoked; check that it was copied whole."}
            return page(request, "login.html", status=401, next=onward, errors=errors)
        response = RedirectResponse(onward, 303, headers=HEADERS)
        keep(response, request, visitor)
        return response

    @router.post("/ui/logout")
    async def logout(request: Request) -> Response:
        await form_of(request)
        response = RedirectResponse("/ui/login", 303, headers=HEADERS)
        await log_out(request, response)
        return response

    @router.get("/ui/static/{digest}/{name}")
    async def static(request: Request, digest: str, name: str) -> Response:
        if name not in static_files():
            raise RefusedError(404, "there is no such file")
        content, kind, known = static_files()[name]
        kept = _FOR_GOOD if digest == known else "no-cache"
        return Response(content, headers={**HEADERS, "Cache-Control": kept, "Content-Type": kind})

    return router
