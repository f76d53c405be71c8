"""Templates become pages, with the headers that keep a browser from doing anything else with them."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from typing import Any

from fastapi import Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from elsv._version import __version__
from elsv.service.auth import service_of
from elsv.service.page.names import page_of
from elsv.service.page.sessions import Visitor, keep

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
_SERVED = (
    "page.css",
    "page.js",
    "icon.svg",
    "vendor/htmx.min.js",
    "vendor/uPlot.iife.min.js",
    "vendor/uPlot.min.css",
)


@cache
def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("elsv.service.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals.update(version=__version__, static=static_address, page_of=page_of)
    return found


def rendered(template: str, **values: Any) -> str:
    """Return a template with its values, which are escaped."""
    return _environment().get_template(template).render(**values)


def page(
    request: Request,
    template: str,
    visitor: Visitor | None = None,
    status: int = 200,
    here: str = "",
    **values: Any,
) -> Response:
    """Return a page, or a part of one, for whoever asks for it."""
    who = request.state.visitor if visitor is None else visitor
    field = Markup('<input type="hidden" name="code" value="{}">').format(who.code)
    content = rendered(
        template,
        visitor=who,
        with_tokens=service_of(request).tokens is not None,
        here=here,
        code_field=lambda: field,
        **values,
    )
    response = HTMLResponse(content, status, headers={**HEADERS, "Cache-Control": "no-store"})
    keep(response, request, who)
    return response


@cache
def static_files() -> dict[str, tuple[bytes, str, str]]:
    """Return content, kind and digest of the files that pages load, by their names; there are no others."""
    folder = resources.files("elsv.service.page") / "static"
    found = {}
    for path in _SERVED:
        content = folder.joinpath(*path.split("/")).read_bytes()
        name = path.rpartition("/")[2]
        kind = f"{_KINDS[name.rpartition('.')[2]]}; charset=utf-8"
        found[name] = content, kind, hashlib.sha256(content).hexdigest()[:16]
    return found


def static_address(name: str) -> str:
    """Return where a page loads a file from; it changes with the content, so that it can be kept."""
    return f"/ui/static/{static_files()[name][2]}/{name}"
