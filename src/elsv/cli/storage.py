"""``elsv backup`` and ``elsv copy``: what campaigns are kept in, copied while it is in use."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from elsv.cli.console import Json, print_json, progress_bar

_STORE = "Path of a file, or postgresql://user@host/database."


def backup(
    store: Annotated[Path, typer.Argument(metavar="SHOP.db", help="SQLite file; it may be in use.")],
    to: Annotated[Path, typer.Argument(metavar="COPY.db", help="Where the copy goes.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    as_json: Json = False,
) -> None:
    """Copy an SQLite file as it is at one moment, while a server uses it; the copy is checked and audited."""
    from elsv.campaign.backup import backup as make

    with progress_bar("copying") as report:
        made = make(store, to, overwrite=force, progress=report)
    if as_json:
        print_json(made.to_dict())
    else:
        print(made)


def copy(
    store: Annotated[str, typer.Argument(metavar="FROM", help=_STORE)],
    to: Annotated[str, typer.Argument(metavar="TO", help=_STORE)],
    campaign: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Copy this one; may be repeated. Default: all.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Copy campaigns to another file or database with the whole logs, all or none; first stop the server."""
    from elsv.campaign.copying import copy_campaigns

    with progress_bar("copying") as report:
        made = copy_campaigns(store, to, campaign or None, progress=report)
    if as_json:
        print_json(made.to_dict())
    else:
        print(made)
    for one in made.campaigns:
        if one.went_on:
            print(
                f"elsv: {one.name} went on meanwhile: {one.went_on:,} events are not in the copy; to move, "
                "stop what writes it and copy once more",
                file=sys.stderr,
            )
