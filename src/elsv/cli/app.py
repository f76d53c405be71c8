"""The command line. It parses, calls the library and prints; it holds no logic of its own.

Results go to stdout (``--json``: one JSON object and nothing else), everything else to stderr. Errors
that elsv raises on purpose end with exit code 2.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

from typer import Exit, Option, Typer

from elsv._base.files import inputs
from elsv._base.notices import hush, tell_compiling
from elsv.cli.campaign import campaign
from elsv.cli.compare import compare
from elsv.cli.console import complain, discard_output, in_json, print_in_any_encoding
from elsv.cli.exact import evaluate, reproduce, solve
from elsv.cli.options import HELP, Json
from elsv.cli.problem import check, decide, prior, rehearse
from elsv.cli.serving import backup, copy, serve, token
from elsv.cli.tables import cache, gittins, value, warm
from elsv.errors import ElsvError

app = Typer(
    name="elsv",
    help="Bayesian bandits with structured priors: indices, values and decisions.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={
        **HELP,
        "token_normalize_func": lambda word: {"workers": "jobs"}.get(word, word),  # another word for it
    },
)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, Option("--version", help="Print the version and exit.")] = False,
    quiet: Annotated[
        bool, Option("--quiet", help="Do not say in a pipe that kernels are compiled; anywhere on the line.")
    ] = False,
) -> None:
    if version:
        from elsv._version import __version__

        print(__version__)
        raise Exit


COMMANDS = (
    *(decide, check, prior, gittins, value, compare, rehearse, solve, evaluate),
    *(reproduce, serve, backup, copy, cache, warm),
)
for command in COMMANDS:
    app.command()(command)
app.add_typer(campaign)
app.add_typer(token)
_OUTPUTS = ("out", "save", "svg", "to", "tokens")  # parameters; every other one that names a file is an input


def _complete(function: Callable[..., None]) -> Callable[..., None]:
    """Return the command with ``--json``, unable to write over a file that it is given to read."""
    signature = inspect.signature(function, eval_str=True)
    parameters = list(signature.parameters.values())
    if function is not serve:
        parameters.append(
            inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json)
        )

    @wraps(function)
    def run(as_json: bool = False, **options: Any) -> None:
        in_json.set(as_json)
        read = [value for name, value in options.items() if name not in _OUTPUTS]
        with inputs(value for value in read if isinstance(value, str | Path) and str(value)):
            function(**options)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run


def _flowing(text: str) -> str:
    """Return paragraphs of one line each: typer would end lines where the docstring does."""
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n"))


for commands in (app, campaign, token):
    for command_info in commands.registered_commands:
        if command_info.callback is not None:
            command_info.help = _flowing(command_info.callback.__doc__ or "")
            command_info.callback = _complete(command_info.callback)


def main() -> None:
    """Run the command line; errors raised on purpose give one line on stderr and exit code 2.

    So does what the machine lacks: memory, or room for the output. A pipe that was closed is no error.
    """
    print_in_any_encoding()
    hush()
    words = sys.argv[1:]
    tell_compiling("--quiet" not in words and "--json" not in words)
    if "--quiet" in words:
        sys.argv[1:] = ["--quiet", *(word for word in words if word != "--quiet")]
    code = _run()
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        discard_output()
        if not code and not isinstance(error, BrokenPipeError):
            code = complain(f"cannot write the output: {error.strerror or error}")
    raise SystemExit(code)


def _run() -> str | int | None:
    """Run the command and return its exit code."""
    try:
        app()
    except SystemExit as end:
        return end.code
    except ElsvError as error:
        return complain(str(error))
    except MemoryError as error:
        return complain(
            f"not enough memory ({str(error) or 'none is left'}); ask for less, such as a shorter horizon"
        )
    except OSError as error:
        what = "write the output" if error.filename is None else f"use {error.filename}"
        return complain(f"cannot {what}: {error.strerror or error}")
    return 0
