"""Start a server and stop it."""

from __future__ import annotations

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
from starlette.applications import Starlette

from elsv.errors import InvalidInputError
from elsv.service.app import create_app
from elsv.service.connection import Connection
from elsv.service.settings import ServiceSettings

_HANDED_ON = "ELSV_SERVICE_SETTINGS"  # to the processes of --workers
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
        app = _announcing(create_app(settings), settings)
        config = uvicorn.Config(app, host=settings.host, port=settings.port, **options)
        uvicorn.Server(config).run(sockets=[bound])
        return
    from uvicorn.supervisors import Multiprocess

    os.environ[_HANDED_ON] = json.dumps(asdict(settings), default=str)
    config = uvicorn.Config(
        "elsv.service.run:worker_app",
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        **options,
    )
    Multiprocess(config, sockets=[bound]).run()


def worker_app() -> Starlette:
    """Return the application of one of several processes."""
    values = json.loads(os.environ[_HANDED_ON])
    tokens = values.pop("tokens")
    settings = ServiceSettings(**values, tokens=None if tokens is None else Path(tokens))
    return _announcing(create_app(settings), settings)


def _announcing(app: Starlette, settings: ServiceSettings) -> Starlette:
    """Let the service say on stderr when it is ready."""
    service, began = app.state.service, time.perf_counter()
    host = f"[{settings.host}]" if ":" in settings.host else settings.host

    def announce() -> None:
        gc.collect()
        gc.freeze()  # what is there by now stays; looking through it again would hold up requests
        seconds = time.perf_counter() - began
        print(
            f"elsv: {service.place} is served at http://{host}:{settings.port} (ready after {seconds:.1f} s)",
            file=sys.stderr,
            flush=True,
        )

    service.when_ready = announce
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
