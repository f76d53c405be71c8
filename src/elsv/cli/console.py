"""What the commands share: their common arguments, a spinner, and how results are printed."""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

ProblemFile = Annotated[
    Path, typer.Argument(metavar="PROBLEM.toml", help="Rewards, order, horizon or discount, prior.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")]


def working(what: str) -> AbstractContextManager[Any]:
    """Show a spinner on stderr while working, on a terminal only."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(f"{what} (kernels are compiled on first use, up to a minute)")


def wrote(out: Path, rows: int, as_json: bool, **settings: Any) -> None:
    """Say what was written: on stderr, or as the JSON object that was asked for."""
    if as_json:
        print_json({"out": str(out), "rows": rows, **settings})
    else:
        print(f"wrote {rows:,} rows to {out}", file=sys.stderr)


def print_json(value: Any) -> None:
    """Print one JSON object on stdout."""
    print(json.dumps(value, allow_nan=False))
