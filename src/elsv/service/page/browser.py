"""What a browser gets and sends: pages from templates, a cookie instead of a token, forms that are ours.

A cookie is a random number. Whoever logs in gets a new one, and the database keeps its SHA-256 with that of
the token and the time. So neither the file of tokens nor a copy of the database lets anybody in, and every
process of a server knows a session. It ends when its time is over, when its token is revoked and when its
owner logs out. One that was begun by a link (``elsv token link``) ends with the link.

A form carries a code that follows from the cookie, which other sites cannot read. What the browser itself
says of where a request comes from (``Sec-Fetch-Site``, or ``Origin`` where it has none) must agree.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from jinja2 import Environment, PackageLoader
from starlette.responses import HTMLResponse, Response

from elsv.campaign.views import environment, style_sheet
from elsv.errors import InvalidInputError
from elsv.service.api import Asked
from elsv.service.errors import RefusedError
from elsv.service.service import Service
from elsv.service.tokens import LONGEST_LINK, Role, digest_of, page_of

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_SERVED = ("page.js", "icon.svg", "vendor/htmx.min.js")
COOKIE = "elsv_session"
_MOST_FIELDS = 500  # of a form
LIFETIME = 12 * 3600  # seconds
_LONGEST = LONGEST_LINK * 86400  # of a session by a link, which ends with it
_CLOCKS_APART = 60  # seconds that two hosts of one service may differ by


@dataclass(frozen=True)
class Visitor:
    """Someone with a cookie; `role` is None until a token was given."""

    cookie: str
    role: Role | None
    fresh: bool  # whether the cookie has to be sent
    who: str | None = None  # the name of that token
    lasts: float = LIFETIME  # seconds

    @property
    def code(self) -> str:
        """What the visitor's forms carry."""
        return hmac.new(self.cookie.encode(), b"elsv form", hashlib.sha256).hexdigest()

    @property
    def may_change(self) -> bool:
        """Whether buttons are shown."""
        return self.role == Role.ADMIN


class Visit(Asked):
    """A request for a page."""

    visitor = Visitor("", None, fresh=False)  # until `visitor_of` tells, in case that tokens cannot be read

    def part(self, name: str) -> str:
        """Return a part of the address, which is encoded as `page_of` does it."""
        return super().part(name).replace("%2E", ".").replace("%2F", "/").replace("%25", "%")


async def visitor_of(asked: Asked) -> Visitor:
    """Return who sends a request."""
    service, cookie = asked.service, asked.cookies.get(COOKIE, "")
    if not re.fullmatch(r"[\w-]{43}", cookie, re.ASCII):
        return Visitor(secrets.token_urlsafe(32), Role.ADMIN if service.tokens is None else None, fresh=True)
    if service.tokens is None:
        return Visitor(cookie, Role.ADMIN, fresh=False)
    query = "SELECT token, made FROM elsv_session WHERE cookie = ?"
    for digest, made in await service.read(query, (digest_of(cookie),)):
        token = service.tokens.find(digest)
        most = _LONGEST if token is not None and token.link else LIFETIME
        if token is not None and -_CLOCKS_APART <= service.now() - made <= most:
            return Visitor(cookie, token.may, False, token.name)
    return Visitor(cookie, None, fresh=False)


async def logged_in(service: Service, token: str, by_link: bool = False) -> Visitor | None:
    """Begin a session and return its visitor, with a new cookie; None if the token is not valid.

    `by_link`: the token comes with an address, which only those of links may.
    """
    found = None if service.tokens is None else service.tokens.find(digest_of(token))
    if found is None or (by_link and found.link_until is None):
        return None
    cookie, now = secrets.token_urlsafe(32), service.now()
    await service.write("DELETE FROM elsv_session WHERE made < ?", (now - _LONGEST,))
    await service.write(
        "INSERT INTO elsv_session (cookie, token, made) VALUES (?, ?, ?)",
        (digest_of(cookie), digest_of(token), now),
    )
    lasts = LIFETIME if found.link_until is None else max(1.0, found.link_until - now)
    return Visitor(cookie, found.may, fresh=True, lasts=lasts)


async def log_out(asked: Visit, response: Response) -> None:
    """End the session here, and take the cookie back."""
    cookie = digest_of(asked.visitor.cookie)
    await asked.service.write("DELETE FROM elsv_session WHERE cookie = ?", (cookie,))
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="lax")


def keep(response: Response, asked: Asked, visitor: Visitor) -> None:
    """Send the visitor's cookie if the browser does not have it."""
    if visitor.fresh:
        response.set_cookie(
            COOKIE,
            visitor.cookie,
            max_age=round(visitor.lasts),
            path="/",
            httponly=True,
            samesite="lax",
            secure="https" in (asked.url.scheme, asked.headers.get("x-forwarded-proto")),
        )


async def form_of(asked: Visit) -> list[tuple[str, str]]:
    """Return the fields of a form, if its visitor sent it from a page of ours."""
    body = (await asked.body()).decode("utf-8", "replace")
    try:
        fields = parse_qsl(body, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise InvalidInputError(f"a form must have at most {_MOST_FIELDS} fields") from error
    visitor, site, origin = asked.visitor, asked.headers.get("sec-fetch-site"), asked.headers.get("origin")
    if site is not None:
        same = site == "same-origin"
    else:
        same = origin is None or urlsplit(origin).netloc.lower() == asked.headers.get("host", "").lower()
    code = dict(fields).get("code", "").encode()
    if visitor.fresh or not same or not hmac.compare_digest(visitor.code.encode(), code):
        got = "another origin or an old page"
        raise RefusedError(403, "a form must be sent from its page", got, "load the page again")
    return fields


def inner_address(text: str) -> str:
    """Return an address on this server to go to after the login; any other becomes the list."""
    parts = urlsplit(text) if text.isascii() and text.isprintable() and "\\" not in text else None
    inner = parts is not None and not parts.scheme and not parts.netloc and parts.path.startswith("/ui/")
    return text if inner else "/"


@cache
def _environment() -> Environment:
    found: Environment = environment(PackageLoader("elsv.service.page"))
    found.globals.update(static=static_address, page_of=page_of)
    return found


def page(asked: Visit, template: str, answer: int = 200, here: str = "", **values: Any) -> Response:
    """Return a page, or a part of one, with the HTTP status `answer`; values are escaped."""
    known = {"visitor": asked.visitor, "with_tokens": asked.service.tokens is not None, "here": here}
    response = HTMLResponse(_environment().get_template(template).render(known, **values), answer)
    keep(response, asked, asked.visitor)
    return response


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
