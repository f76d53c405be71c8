"""How commands read problems and policies, and how they print: results, notes and errors, a spinner."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Option

from elsv._base.files import note_input, unreadable
from elsv._base.numbers import finite
from elsv.errors import ElsvError, InvalidInputError, unknown_name

if TYPE_CHECKING:
    from elsv._base.typing import AnyArray
    from elsv.problem import Problem

in_json = ContextVar("in_json", default=False)
"""Whether the command was given ``--json``."""


def policies_option(default: Sequence[str], files: bool = False) -> Any:
    """Return the option that names policies; its help says which ones are the default.

    `files`: also those of one's own, see `policy_named`.
    """
    own = ", or your own, FILE.py:NAME" if files else ""
    return Option(
        "-p",
        "--policy",
        help=f"Policy, NAME[:key=value,…]{own}; repeat for more. Default: {', '.join(default)}.",
        show_default=False,
    )


def policy_named(text: str) -> Any:
    """Return a policy's name as it is, or what ``FILE.py:NAME`` stands for: a policy, or what makes one."""
    path, colon, name = text.rpartition(":")
    if not colon or not path.endswith(".py"):
        return text
    from importlib.util import module_from_spec, spec_from_file_location

    note_input(path)
    spec = spec_from_file_location(Path(path).stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules.setdefault(spec.name, module)
    try:
        spec.loader.exec_module(module)
    except OSError as error:
        raise unreadable(f"policy {path}", error, "give FILE.py:NAME") from error
    except Exception as error:
        raise InvalidInputError(f"{path} cannot be run: {type(error).__name__}: {error}") from error
    found = getattr(module, name, None)
    if not callable(found):
        known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise InvalidInputError(f"{path}: {unknown_name('policy', name, known)}")
    return found


def load_problem(path: Path, horizon: int | None = None) -> Problem:
    """Return the problem of a file, with another horizon if one is given."""
    from elsv.problem import Problem

    loaded = Problem.load(path)
    return loaded if horizon is None else loaded.with_horizon(horizon)


def print_in_any_encoding() -> None:
    """Let characters that the terminal's encoding lacks be printed as question marks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def complain(message: str) -> int:
    """Print an error on stderr and return the exit code for it."""
    print(f"elsv: {message}", file=sys.stderr)
    return 2


def discard_output() -> None:
    """Discard what is left to print, so that nothing fails when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def working(what: str) -> AbstractContextManager[Any]:
    """Show a spinner on stderr while working, on a terminal only."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console
    from rich.text import Text

    # Text, since a plain string would be read as markup, and names of files may look like it.
    return Console(stderr=True).status(Text(f"{what} (kernels are compiled on first use, up to a minute)"))


def write_table(out: Path, columns: Mapping[str, AnyArray], **settings: Any) -> None:
    """Write columns and say so: on stderr, or as the JSON object that was asked for.

    If they cannot be written after all they are printed, so that what was computed is not lost.
    """
    from elsv._base.export import csv_text, write_columns

    about = {"rows": len(next(iter(columns.values()))), **settings}
    try:
        write_columns(out, columns)
    except ElsvError:
        table = {name: column.tolist() for name, column in columns.items()}
        show(csv_text(columns).rstrip("\n"), {"out": None, **about, "columns": table})
        raise
    if in_json.get():
        print_json({"out": str(out), **about})
    else:
        note(f"wrote {about['rows']:,} rows to {out}")


def show_explanations(found: Sequence[Any]) -> None:
    """Print an explanation, or those of several segments one after the other."""
    told = [one.to_dict() for one in found]
    show("\n\n".join(map(str, found)), told[0] if len(told) == 1 else {"segments": told})


def show(found: Any, values: Any = None) -> None:
    """Print a result for people; with ``--json`` print `values`, or what its `to_dict` returns."""
    if in_json.get():
        print_json(found.to_dict() if values is None else values)
    else:
        print(found)


def note(text: str) -> None:
    """Print something beside the result, on stderr."""
    print(text, file=sys.stderr)


def print_json(value: Any) -> None:
    """Print one JSON object on stdout; what is no finite number is null."""
    print(json.dumps(finite(value), allow_nan=False))
