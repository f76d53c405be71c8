"""``elsv check``: what a problem assumes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from elsv.cli.console import Json, ProblemFile, print_json, working


def check(
    problem: ProblemFile,
    state: Annotated[
        str | None,
        typer.Option(help='Data to hold against it: alpha,beta for each arm, such as "3,1 2,2 1,1".'),
    ] = None,
    svg: Annotated[Path | None, typer.Option(help="File for a drawing of it, .svg.")] = None,
    as_json: Json = False,
) -> None:
    """Assumptions of a problem: what they say and imply, what they cost, whether data contradict them."""
    from elsv._base.files import check_writable, write_text
    from elsv.assumptions import check as check_problem
    from elsv.errors import InvalidInputError
    from elsv.problem import Problem
    from elsv.state import State

    if svg is not None:
        if svg.suffix.lower() != ".svg":
            raise InvalidInputError(f"a drawing is written as .svg, got {str(svg)!r}")
        check_writable(svg)
    loaded = Problem.load(problem)
    counts = None if state is None else State.parse(state)
    with working("looking at what is assumed"):
        found = check_problem(loaded, counts)
    if as_json:
        print_json(found.to_dict())
    else:
        print(found)
    if svg is not None:
        write_text(svg, found.svg())
        print(f"wrote {svg}", file=sys.stderr)
