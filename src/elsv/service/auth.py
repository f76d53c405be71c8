"""Who may do what: three roles, each of which may do what the one before may."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fastapi import Request

from elsv.service.problems import RefusedError
from elsv.service.roles import Role
from elsv.service.service import Service


def service_of(request: Request) -> Service:
    """Return the service that answers."""
    service: Service = request.app.state.service
    return service


def role_of(request: Request) -> Role | None:
    """Return what the sender of a request may do; None without a valid token.

    Where the server has no tokens, which it allows on loopback only, everybody may do everything.
    """
    tokens = service_of(request).tokens
    if tokens is None:
        return Role.ADMIN
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not token.strip():
        return None
    return tokens.role_of(token.strip())


def require(role: Role) -> Callable[[Request], Awaitable[None]]:
    """Return a dependency that lets a request pass if its token allows at least `role`."""

    async def check(request: Request) -> None:
        check_role(role_of(request), role)

    return check


def check_role(mine: Role | None, needed: Role) -> None:
    """Refuse who may not."""
    if mine is None:
        raise RefusedError(
            401,
            "a valid token is needed",
            "none, an unknown or a revoked one",
            "send the header Authorization: Bearer TOKEN with one that `elsv token` made",
            headers={"WWW-Authenticate": 'Bearer realm="elsv"'},
        )
    if mine < needed:
        raise RefusedError(
            403,
            f"this needs a token with the role {needed.word}",
            f"one with the role {mine.word}",
            f"make one with the role {needed.word}: `elsv token`",
        )
