"""``elsv serve``: campaigns behind HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from elsv.errors import MissingExtraError


def serve(
    db: Annotated[
        str, typer.Option(metavar="STORE", help="Path of a file, or postgresql://user@host/database.")
    ] = "shop.db",
    host: Annotated[str, typer.Option(help="Address to listen on; beyond this machine with --tokens.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="Port to listen on; 0: one that is free.")] = 8763,
    tokens: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Tokens that `elsv token` made; without: none needed.")
    ] = None,
    workers: Annotated[int, typer.Option("--workers", help="Processes; several on PostgreSQL only.")] = 1,
    log_json: Annotated[bool, typer.Option("--log-json", help="Print one JSON line per request.")] = False,
) -> None:
    """Serve campaigns over HTTP: decisions, outcomes, pages."""
    try:
        from elsv.service.run import serve as run
        from elsv.service.settings import ServiceSettings
    except ModuleNotFoundError as error:
        raise MissingExtraError("serving", "service") from error
    run(ServiceSettings(db, host, port, tokens, workers, log_json))
