"""What every request passes: limits on the way in, headers, counts and a line of log on the way out."""

from __future__ import annotations

import ipaddress
import json
import sys
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from elsv.service.problems import RefusedError, answer
from elsv.service.service import Service

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Any, Receive, Send], Awaitable[None]]

HEADERS = {
    b"cache-control": b"no-store",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"referrer-policy": b"no-referrer",
    b"x-content-type-options": b"nosniff",
}
HEADER_LIMIT = 32_768  # bytes, of all together
MOST_ADDRESSES = 10_000


class Gate:
    """What stands before the whole application."""

    def __init__(self, app: App, service: Service) -> None:
        self._app, self._service = app, service
        self._rates = Rates(service.settings.rate)
        self._limit, self._log = service.settings.body_limit, service.settings.log_json
        self._own_host, self._last_host = service.settings.host, b""  # b"" is never a good one

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def answered(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = message["headers"]
                named = {name for name, _ in headers}
                message["headers"] = [*headers, *(h for h in HEADERS.items() if h[0] not in named)]
            await send(message)

        try:
            try:
                receive = self._checked(scope, receive)
            except RefusedError as error:
                await answer(error)(scope, receive, answered)
            else:
                await self._app(scope, receive, answered)
        finally:
            seconds = time.perf_counter() - began
            route = getattr(scope.get("route"), "path", "none")
            self._service.metrics.answered(scope["method"], route, status, seconds)
            if self._log:
                _print_line(scope, status, seconds)

    def _checked(self, scope: Message, receive: Receive) -> Receive:
        """Refuse what is too much; return how the body is received."""
        client = scope.get("client")
        self._rates.check(client[0] if client else "")
        length, host, size = None, b"", 0
        for name, value in scope["headers"]:
            size += len(name) + len(value)
            if name == b"content-length":
                length = value
            elif name == b"host":
                host = value
        if size > HEADER_LIMIT:
            rule = f"headers must have at most {HEADER_LIMIT:,} bytes"
            raise RefusedError(431, rule, f"{size:,}", "send fewer", headers={"Connection": "close"})
        if self._service.tokens is None and host != self._last_host:
            self._check_host(host.decode("latin-1"))
            self._last_host = host
        if length is None:
            return self._counted(receive)
        if not length.isdigit() or int(length[:20]) > self._limit:
            raise self._too_large(length.decode("latin-1"))
        return receive

    def _counted(self, receive: Receive) -> Receive:
        """Return a body that ends with an error when it is too large; nobody said how large it would be."""
        total = 0

        async def counted() -> Message:
            nonlocal total
            message = await receive()
            total += len(message.get("body", b""))
            if total > self._limit:
                raise self._too_large(f"{total:,} and more")
            return message

        return counted

    def _too_large(self, length: str) -> RefusedError:
        rule = f"a body must have at most {self._limit:,} bytes"
        return RefusedError(413, rule, length[:40], "send several requests", headers={"Connection": "close"})

    def _check_host(self, host: str) -> None:
        """Without tokens, refuse names that a page elsewhere may have made to mean this machine."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
            fine = name in ("localhost", self._own_host) or ipaddress.ip_address(name).is_loopback
        except ValueError:
            fine = False
        if not fine:
            raise RefusedError(
                403,
                "a server without tokens answers to the name localhost only",
                host[:100] or "no Host",
                "use http://127.0.0.1, or start it with --tokens FILE",
            )


class Rates:
    """How many requests each address may send: some a second, twice as many at once."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, address: str) -> None:
        """Count a request of an address, or refuse it."""
        if self._rate <= 0:
            return
        now = time.monotonic()
        left, before = self._left.get(address, (2 * self._rate, now))
        left = min(2 * self._rate, left + (now - before) * self._rate) - 1
        if left < 0:
            raise RefusedError(
                429,
                f"an address may send {self._rate:,.0f} requests a second",
                "more",
                "wait a moment, or send several decisions or outcomes in one request",
                headers={"Retry-After": "1"},
            )
        self._left[address] = left, now
        if len(self._left) > MOST_ADDRESSES:
            self._left.popitem(last=False)


def _print_line(scope: Message, status: int, seconds: float) -> None:
    """Print what was answered; no header, no query and no body, which may hold secrets."""
    client = scope.get("client")
    line = {
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "client": client[0] if client else None,
        "method": scope["method"],
        "path": scope["path"][:500],
        "status": status,
        "ms": round(1000 * seconds, 3),
    }
    print(json.dumps(line), file=sys.stderr, flush=True)
