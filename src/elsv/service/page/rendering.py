"""Templates become pages, with the headers that keep a browser from doing anything else with them."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import quote, unquote

from jinja2 import Environment, PackageLoader
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from elsv.campaign.views import environment, style_sheet
from elsv.service.api import service_of
from elsv.service.page.sessions import keep

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml", "txt": "text/plain"}
_SERVED = ("page.js", "icon.svg", "vendor/htmx.min.js")


@cache
def _environment() -> Environment:
    found: Environment = environment(PackageLoader("elsv.service.page"))
    found.globals.update(static=static_address, page_of=page_of)
    return found


def page(request: Request, template: str, answer: int = 200, here: str = "", **values: Any) -> Response:
    """Return a page, or a part of one, with the HTTP status `answer`; values are escaped."""
    visitor = request.state.visitor
    content = (
        _environment()
        .get_template(template)
        .render(
            visitor=visitor,
            with_tokens=service_of(request).tokens is not None,
            here=here,
            **values,
        )
    )
    response = HTMLResponse(content, answer, headers={**HEADERS, "Cache-Control": "no-store"})
    keep(response, request, visitor)
    return response


def page_of(name: str) -> str:
    """Return the address of a campaign's page.

    Slashes and dots are encoded twice: proxies and browsers have their own ideas of them in a path.

    Examples
    --------
    >>> page_of("spring"), page_of("20 % off"), page_of("a/b")
    ('/ui/campaigns/spring', '/ui/campaigns/20%20%2525%20off', '/ui/campaigns/a%252Fb')
    """
    if not name.strip("."):
        return f"/ui/campaigns/{'%252E' * len(name)}"
    return f"/ui/campaigns/{quote(name.replace('%', '%25').replace('/', '%2F'), safe='')}"


def name_in(request: Request) -> str:
    """Return the name of the campaign whose page is asked for."""
    part = unquote(request.path_params["name"])
    return part.replace("%2E", ".").replace("%2F", "/").replace("%25", "%")


@cache
def static_files() -> dict[str, tuple[bytes, str, str]]:
    """Return content, kind and digest of the files that pages load, by their names; there are no others."""
    folder = resources.files("elsv.service.page") / "static"
    found = {}
    read = {path.rpartition("/")[2]: folder.joinpath(*path.split("/")).read_bytes() for path in _SERVED}
    for name, content in {"page.css": style_sheet().encode(), **read}.items():
        kind = f"{_KINDS[name.rpartition('.')[2]]}; charset=utf-8"
        found[name] = content, kind, hashlib.sha256(content).hexdigest()[:16]
    return found


def static_address(name: str) -> str:
    """Return where a page loads a file from; it changes with the content, so that it can be kept."""
    return f"/ui/static/{static_files()[name][2]}/{name}"
