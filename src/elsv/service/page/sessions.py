"""Who looks at a page: a cookie instead of a token, and a proof that a form was sent from a page of ours.

The cookie says when it was made and carries a random number, signed with a key that follows from the digest
of the token which logged in. So it holds no token, ends with the token when that is revoked, and is good on
every process of a server without anything being kept. Where the server has no tokens the cookie is a random
number alone.

A form carries a code that follows from the cookie, which other sites cannot read; besides, the browser's own
word on where a request comes from (``Sec-Fetch-Site``, or ``Origin`` where it has none) must not speak
against it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from fastapi import Request, Response

from elsv.service.auth import service_of
from elsv.service.roles import Role, Tokens
from elsv.service.tokens import digest_of

COOKIE = "elsv_session"
LIFETIME = 12 * 3600  # seconds
_LONGEST = 300  # characters of a cookie
_CLOCKS_APART = 60  # seconds that two hosts of one service may differ by


@dataclass(frozen=True)
class Visitor:
    """Someone with a cookie; `role` is None until a token was given."""

    cookie: str
    role: Role | None
    fresh: bool  # whether the cookie has to be sent

    @property
    def code(self) -> str:
        """What the visitor's forms carry."""
        return hmac.new(self.cookie.encode(), b"elsv form", hashlib.sha256).hexdigest()

    @property
    def may_change(self) -> bool:
        """Whether buttons are shown."""
        return self.role == Role.ADMIN


def visitor_of(request: Request) -> Visitor:
    """Return who sends a request."""
    tokens = service_of(request).tokens
    cookie = request.cookies.get(COOKIE, "")
    if tokens is None:
        known = _well_formed(cookie)
        return Visitor(cookie if known else _random(), Role.ADMIN, not known)
    if (role := _signed_by(cookie, tokens.live())) is not None:
        return Visitor(cookie, role, fresh=False)
    known = _well_formed(cookie)
    return Visitor(cookie if known else _random(), None, not known)


def logged_in(tokens: Tokens, token: str) -> Visitor | None:
    """Return the visitor with a new cookie if the token is valid."""
    role = tokens.role_of(token)
    if role is None:
        return None
    body = f"{int(time.time())}.{secrets.token_urlsafe(24)}"
    return Visitor(f"{body}.{_signature(digest_of(token), body)}", role, fresh=True)


def keep(response: Response, request: Request, visitor: Visitor) -> None:
    """Send the visitor's cookie if the browser does not have it."""
    if visitor.fresh:
        response.set_cookie(
            COOKIE,
            visitor.cookie,
            max_age=LIFETIME,
            path="/",
            httponly=True,
            samesite="lax",
            secure="https" in (request.url.scheme, request.headers.get("x-forwarded-proto")),
        )


def forget(response: Response) -> None:
    """Take the cookie back."""
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="lax")


def from_our_page(request: Request, visitor: Visitor, code: str) -> bool:
    """Return whether a form was sent by this visitor from a page of ours."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        same = site == "same-origin"
    else:
        host = request.headers.get("host", "").lower()
        same = origin is None or urlsplit(origin).netloc.lower() == host
    return same and not visitor.fresh and hmac.compare_digest(visitor.code.encode(), code.encode())


def _random() -> str:
    return secrets.token_urlsafe(32)


def _well_formed(cookie: str) -> bool:
    """Return whether a cookie may be one of those that name nobody."""
    return len(cookie) == 43 and cookie.isascii() and cookie.replace("-", "").replace("_", "").isalnum()


def _signed_by(cookie: str, live: Iterable[tuple[str, Role]]) -> Role | None:
    """Return the role of the token that signed a cookie, if it is one of the live ones and not too old."""
    body, _, signature = cookie.rpartition(".")
    made, _, _ = body.partition(".")
    if len(cookie) > _LONGEST or not cookie.isascii() or not made.isdecimal() or len(made) > 12:
        return None
    if not -_CLOCKS_APART <= time.time() - int(made) <= LIFETIME:
        return None
    found = None
    for digest, role in live:
        if hmac.compare_digest(_signature(digest, body), signature):
            found = role
    return found


def _signature(digest: str, body: str) -> str:
    """Return the signature of a cookie by the token with this digest."""
    key = hmac.new(digest.encode(), b"elsv page session", hashlib.sha256).digest()
    return hmac.new(key, body.encode(), hashlib.sha256).hexdigest()
