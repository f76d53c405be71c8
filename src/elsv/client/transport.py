"""Requests over HTTP by httpx: where to, with which token, and what counts as no answer."""

from __future__ import annotations

from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from elsv._base.numbers import shown
from elsv._version import __version__
from elsv.client.calls import Answer, Call
from elsv.client.exchange import Lost
from elsv.errors import InvalidInputError, MissingExtraError


def httpx_module() -> ModuleType:
    """Return httpx, or say which extra brings it."""
    try:
        import httpx
    except ImportError as error:
        raise MissingExtraError("the client", "client") from error
    return httpx


def options(url: str, token: str | None, timeout: float) -> dict[str, Any]:
    """Return what either kind of httpx's clients is made with."""
    parts = urlsplit(url) if isinstance(url, str) else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInputError(
            f"url must be the address of a service, such as http://127.0.0.1:8763, got {shown(url)}"
        )
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise InvalidInputError(f"timeout must be seconds, more than 0, got {shown(timeout)}")
    headers = {"user-agent": f"elsv/{__version__}", "accept": "application/json, */*"}
    if token is not None:
        if not isinstance(token, str) or not token.isascii() or not token.isprintable() or not token.strip():
            raise InvalidInputError("token must be the text that `elsv token new` printed")
        headers["authorization"] = f"Bearer {token.strip()}"
    return {"base_url": url, "timeout": float(timeout), "headers": headers, "follow_redirects": False}


def request(call: Call[Any]) -> dict[str, Any]:
    """Return what httpx is to send."""
    return {"method": call.method, "url": call.path, "content": call.body, "headers": dict(call.headers)}


def answer(response: Any) -> Answer:
    """Return httpx's response as an answer."""
    headers = {key.lower(): value for key, value in response.headers.items()}
    return Answer(response.status_code, headers, response.content)


def lost(error: Exception) -> Lost:
    """Return why there was no answer."""
    return Lost(str(error) or type(error).__name__)
