"""Start a server and stop it; `Connection` is what it has for each client."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import socket
import sys
import time
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from elsv.errors import InvalidInputError
from elsv.service.app import App, create_app
from elsv.service.errors import MEDIA_TYPE, RefusedError
from elsv.service.settings import ServiceSettings

_HANDED_ON = "ELSV_SERVICE_SETTINGS"  # to the processes of --workers
HEADER_LIMIT = 32_768  # bytes, of the address and all headers together
_HEADERS_RULE = f"address and headers must have at most {HEADER_LIMIT:,} bytes"
_FRAMING = 8  # bytes around each byte of a body that comes in pieces, at most
SECONDS_TO_DRAIN = 30
MOST_CONNECTIONS = 10_000
SWITCH = 0.0005  # seconds after which a thread that plans lets the event loop go on, at most


def serve(settings: ServiceSettings) -> None:
    """Answer requests until a signal says to stop; what is under way is finished then."""
    settings.check()
    sys.setswitchinterval(SWITCH)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="elsv: %(message)s")
    bound = _bind(settings)
    settings = replace(settings, port=bound.getsockname()[1])
    options: dict[str, Any] = {
        "host": settings.host,
        "port": settings.port,
        "http": partial(Connection, settings.body_limit, settings.request_seconds),
        "ws": "none",
        "limit_concurrency": MOST_CONNECTIONS,
        "timeout_graceful_shutdown": SECONDS_TO_DRAIN,
        "log_config": None,
        "access_log": False,
        "proxy_headers": False,
        "server_header": False,
    }
    if settings.workers == 1:
        uvicorn.Server(uvicorn.Config(_announcing(settings), **options)).run(sockets=[bound])
        return
    from uvicorn.supervisors import Multiprocess

    os.environ[_HANDED_ON] = json.dumps(asdict(settings), default=str)
    options |= {"factory": True, "workers": settings.workers}
    Multiprocess(uvicorn.Config("elsv.service.run:worker_app", **options), sockets=[bound]).run()


def worker_app() -> App:
    """Return the application of one of several processes."""
    values = json.loads(os.environ[_HANDED_ON])
    tokens = values.pop("tokens")
    return _announcing(ServiceSettings(**values, tokens=None if tokens is None else Path(tokens)))


def _announcing(settings: ServiceSettings) -> App:
    """Return an application whose service says on stderr when it is ready."""
    app, began = create_app(settings), time.perf_counter()
    host = f"[{settings.host}]" if ":" in settings.host else settings.host

    def announce() -> None:
        gc.collect()
        gc.freeze()  # what is there by now stays; looking through it again would hold up requests
        place, seconds = f"http://{host}:{settings.port}", time.perf_counter() - began
        said = f"elsv: {app.service.place} is served at {place} (ready after {seconds:.1f} s)"
        print(said, file=sys.stderr, flush=True)

    app.service.when_ready = announce
    return app


def _bind(settings: ServiceSettings) -> socket.socket:
    """Return a socket that listens, or say why there is none."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    bound = socket.socket(family)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((settings.host, settings.port))
    except OSError as error:
        bound.close()
        raise InvalidInputError(
            f"cannot listen on {settings.host}:{settings.port}: {error.strerror or error}; "
            "give another --port or --host"
        ) from error
    bound.set_inheritable(True)
    return bound


class Connection(HttpToolsProtocol):
    """A connection of a client: HTTP by httptools, with limits and deadlines where the bytes arrive.

    uvicorn limits headers in its h11 protocol alone, which takes four times the time for a request, and it
    limits neither bodies nor half-sent requests. So this is its httptools protocol, which counts bytes as
    they come, whatever a Content-Length says, and ends a request that does not come whole in some `seconds`
    from its first byte on; the first one from the connection on.
    """

    def __init__(self, body_limit: int, seconds: float, **options: Any) -> None:
        super().__init__(**options)
        self._body_limit, self._seconds = body_limit, seconds
        self._body_rule = f"a body must have at most {body_limit:,} bytes"
        self._credit = HEADER_LIMIT  # bytes that may still come beside those of the body
        self._body = 0  # bytes of the body so far
        self._begun = self._whole = False  # whether the request has its headers; whether all of it has come
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._deadline = self.loop.call_later(self._seconds, self._too_late)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadline with the connection."""
        self._forget_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes, unless there are too many."""
        if self.transport.is_closing():
            return
        self._credit -= len(data)
        super().data_received(data)
        if self._credit < 0:
            self._refuse(431, _HEADERS_RULE, "send fewer")
        elif self._deadline is None and not self._whole:
            self._deadline = self.loop.call_later(self._seconds, self._too_late)

    def on_message_begin(self) -> None:
        """Count from here."""
        super().on_message_begin()
        self._credit, self._body, self._begun, self._whole = HEADER_LIMIT, 0, False, False

    def on_headers_complete(self) -> None:
        """Begin to answer, unless the headers are too large, or say that the body will be."""
        size, length = len(self.url), b""
        for name, value in self.headers:
            size += len(name) + len(value)
            if name == b"content-length":
                length = value.strip().lstrip(b"0")
        if size > HEADER_LIMIT:
            self._refuse(431, _HEADERS_RULE, "send fewer")
        elif len(length) > 15 or int(length or b"0") > self._body_limit:
            self._refuse(413, self._body_rule, "send several requests")
        elif not self.transport.is_closing():
            super().on_headers_complete()
            self._begun = True

    def on_body(self, body: bytes) -> None:
        """Take a part of the body, unless it is too large by now."""
        self._credit += (1 + _FRAMING) * len(body)
        self._body += len(body)
        if self._body > self._body_limit:
            self._refuse(413, self._body_rule, "send several requests")
        elif self._begun:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that the request has come whole."""
        self._whole = True
        self._forget_deadline()
        if self._begun:
            super().on_message_complete()

    def shutdown(self) -> None:
        """Finish what is under way and leave; a request that has not come whole is not waited for."""
        if self._whole:
            super().shutdown()
        else:
            self.transport.close()

    def _too_late(self) -> None:
        self._deadline = None
        if self.pipeline:  # it is the server that has stopped reading
            self._deadline = self.loop.call_later(self._seconds, self._too_late)
        elif self.scope is None:  # a connection without a request
            self.transport.close()
        else:
            self._refuse(408, f"a request must come whole within {self._seconds:g} seconds", "send it again")

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, status: int, rule: str, remedy: str) -> None:
        """Answer a request that is too large or too late, unless an answer is on its way, and close.

        The application hears that the client has gone.
        """
        if self.transport.is_closing():
            return
        cycle = self.cycle
        waiting = cycle is not None and not cycle.response_complete
        if not waiting or (self._begun and not self.pipeline and not cycle.response_started):
            body = RefusedError(status, rule, None, remedy).body()
            head = f"content-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
            self.transport.write(STATUS_LINE[status] + head.encode() + body)
        if waiting:
            cycle.disconnected = True
            cycle.message_event.set()
        self.transport.close()
