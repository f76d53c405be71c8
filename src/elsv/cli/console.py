"""What the commands share: their common arguments, a spinner, and how results are printed."""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from elsv.errors import ElsvError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from elsv._typing import AnyArray

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


def write_table(out: Path, columns: Mapping[str, AnyArray], as_json: bool, **settings: Any) -> None:
    """Write columns and say so: on stderr, or as the JSON object that was asked for.

    If they cannot be written after all they are printed, so that what was computed is not lost.
    """
    from elsv.export import csv_text, write_columns

    rows = len(next(iter(columns.values())))
    try:
        write_columns(out, columns)
    except ElsvError:
        if as_json:
            table = {name: column.tolist() for name, column in columns.items()}
            print_json({"out": None, "rows": rows, **settings, "columns": table})
        else:
            print(csv_text(columns), end="")
        raise
    if as_json:
        print_json({"out": str(out), "rows": rows, **settings})
    else:
        print(f"wrote {rows:,} rows to {out}", file=sys.stderr)


def print_json(value: Any) -> None:
    """Print one JSON object on stdout."""
    print(json.dumps(value, allow_nan=False))
