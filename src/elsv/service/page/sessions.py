"""Who looks at a page: a cookie instead of a token, and a proof that a form was sent from a page of ours.

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
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from elsv.service.api import service_of
from elsv.service.service import Service
from elsv.service.tokens import LONGEST_LINK, Role, digest_of

COOKIE = "elsv_session"
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


async def visitor_of(request: Request) -> Visitor:
    """Return who sends a request."""
    service, cookie = service_of(request), request.cookies.get(COOKIE, "")
    if not re.fullmatch(r"[\w-]{43}", cookie, re.ASCII):
        return Visitor(secrets.token_urlsafe(32), Role.ADMIN if service.tokens is None else None, fresh=True)
    role, who = await _role_of(service, cookie)
    return Visitor(cookie, role, False, who)


async def logged_in(service: Service, token: str, by_link: bool = False) -> Visitor | None:
    """Begin a session and return its visitor, with a new cookie; None if the token is not valid.

    `by_link`: the token comes with an address, which only those of links may.
    """
    tokens = service.tokens
    role, until = (
        (None, None) if tokens is None else (tokens.role_of(token), tokens.link_until(digest_of(token)))
    )
    if role is None or (by_link and until is None):
        return None
    cookie, now = secrets.token_urlsafe(32), service.now()
    await service.write("DELETE FROM elsv_session WHERE made < ?", (now - _LONGEST,))
    await service.write(
        "INSERT INTO elsv_session (cookie, token, made) VALUES (?, ?, ?)",
        (digest_of(cookie), digest_of(token), now),
    )
    return Visitor(cookie, role, fresh=True, lasts=LIFETIME if until is None else max(1.0, until - now))


async def log_out(request: Request, response: Response) -> None:
    """End the session here, and take the cookie back."""
    visitor: Visitor = request.state.visitor
    service = service_of(request)
    await service.write("DELETE FROM elsv_session WHERE cookie = ?", (digest_of(visitor.cookie),))
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="lax")


def keep(response: Response, request: Request, visitor: Visitor) -> None:
    """Send the visitor's cookie if the browser does not have it."""
    if visitor.fresh:
        response.set_cookie(
            COOKIE,
            visitor.cookie,
            max_age=round(visitor.lasts),
            path="/",
            httponly=True,
            samesite="lax",
            secure="https" in (request.url.scheme, request.headers.get("x-forwarded-proto")),
        )


def from_our_page(request: Request, visitor: Visitor, code: str) -> bool:
    """Return whether a form was sent by this visitor from a page of ours."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        same = site == "same-origin"
    else:
        host = request.headers.get("host", "").lower()
        same = origin is None or urlsplit(origin).netloc.lower() == host
    return same and not visitor.fresh and hmac.compare_digest(visitor.code.encode(), code.encode())


async def _role_of(service: Service, cookie: str) -> tuple[Role | None, str | None]:
    """Return what the token of a session allows, and its name; None without a session that lasts."""
    if service.tokens is None:
        return Role.ADMIN, None
    query = "SELECT token, made FROM elsv_session WHERE cookie = ?"
    for token, made in await service.read(query, (digest_of(cookie),)):
        most = LIFETIME if service.tokens.link_until(token) is None else _LONGEST
        if -_CLOCKS_APART <= service.now() - made <= most:
            return dict(service.tokens.live()).get(token), service.tokens.named(token)
    return None, None
