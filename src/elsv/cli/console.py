"""What the commands share: their common arguments, a spinner, and how results are printed."""

from __future__ import annotations

import io
import json
import os
import shlex
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from elsv._base.numbers import finite
from elsv._base.progress import progress_bar
from elsv.errors import ElsvError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from elsv._base.typing import AnyArray
    from elsv.problem import Problem

__all__ = ["progress_bar"]

ProblemFile = Annotated[
    Path, typer.Argument(metavar="PROBLEM.toml", help="Rewards, order, horizon or discount, prior.")
]
Horizon = Annotated[
    int | None, typer.Option(help="Number of pulls, instead of the problem's own horizon or discount.")
]
SegmentName = Annotated[
    str | None,
    typer.Option("--segment", help="Who has come, where customers are of segments: name or number."),
]
Against = Annotated[
    str | None,
    typer.Option(metavar="ARM", help="Also show the gain over always pulling this arm: its name or number."),
]
Seed = Annotated[int, typer.Option(help="The same seed gives the same numbers, whoever runs them.")]
Delay = Annotated[
    str | None,
    typer.Option(
        metavar="CUSTOMERS",
        help="Outcomes are known so many customers later, or geometric:60 for 60 on average.",
    ),
]
Batch = Annotated[int | None, typer.Option(help="Look at outcomes after batches of so many customers only.")]
Lost = Annotated[float | None, typer.Option(help="Share of outcomes that never come and count as failures.")]
Expect = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ARM=RATE", help='What you expect, such as "none=4%" or "10 % off=3-8%"; repeatable.'
    ),
]
HistoryFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Outcomes of last season, .csv or .parquet, as for elsv prior."),
]
Factor = Annotated[
    float | None,
    typer.Option(
        help="Odds of an arm of which nothing is known are within this factor of its neighbour's, for each "
        "step; default: 2, or 3 without an order."
    ),
]
AtMost = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="End early, with exit code 2, once it is seen to take longer, such as 10min or 2h.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")]


def policies_option(default: Sequence[str], files: bool = False) -> Any:
    """Return the option that names policies, with those that are meant where it is left out.

    `files`: also those of one's own, see `policy_named`.
    """
    own = ", or your own, FILE.py:NAME" if files else ""
    return typer.Option(
        "-p",
        "--policy",
        help=f"Policy, NAME[:key=value,…]{own}; repeat for more. Default: {', '.join(default)}.",
        show_default=False,
    )


def command_line(
    command: str,
    problem: Path,
    names: Sequence[str],
    options: Mapping[str, object],
    repeated: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Return the line that repeats a command; options that were not given are left out."""
    chosen = (word for name in names for word in ("-p", name))
    given = (word for option in options.items() if option[1] is not None for word in option)
    pairs = ((option, value) for option, values in (repeated or {}).items() for value in values)
    again = (word for pair in pairs for word in pair)
    return shlex.join(map(str, ("elsv", command, problem, *chosen, *given, *again)))


def policy_named(text: str) -> Any:
    """Return a policy's name as it is, or what ``FILE.py:NAME`` stands for: a policy, or what makes one."""
    path, colon, name = text.rpartition(":")
    if not colon or not path.endswith(".py"):
        return text
    from importlib.util import module_from_spec, spec_from_file_location

    from elsv._base.files import note_input, unreadable
    from elsv.errors import InvalidInputError, unknown_name

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


def load_problem(path: Path, horizon: int | None) -> Problem:
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


def write_table(out: Path, columns: Mapping[str, AnyArray], as_json: bool, **settings: Any) -> None:
    """Write columns and say so: on stderr, or as the JSON object that was asked for.

    If they cannot be written after all they are printed, so that what was computed is not lost.
    """
    from elsv._base.export import csv_text, write_columns

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


def show_explanations(found: Sequence[Any], as_json: bool) -> None:
    """Print an explanation, or those of several segments one after the other."""
    if as_json:
        told = [one.to_dict() for one in found]
        print_json(told[0] if len(told) == 1 else {"segments": told})
    else:
        print("\n\n".join(map(str, found)))


def print_json(value: Any) -> None:
    """Print one JSON object on stdout; what is no finite number is null."""
    print(json.dumps(finite(value), allow_nan=False))
