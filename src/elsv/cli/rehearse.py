"""``elsv rehearse``: is a campaign worth it, and with how many customers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from elsv.cli.console import (
    AtMost,
    Batch,
    Delay,
    Json,
    Lost,
    ProblemFile,
    Seed,
    command_line,
    policies_option,
    print_json,
)
from elsv.errors import InvalidInputError

DEFAULT_POLICIES = ("plan:effort=4096",)


def rehearse(
    problem: ProblemFile,
    customers: Annotated[
        str, typer.Option(help="Numbers of customers to try, joined by commas.")
    ] = "100,300,1000,3000",
    against: Annotated[
        str | None,
        typer.Option(help="The present arm, by name or number; default: the best one by the prior."),
    ] = None,
    policy: Annotated[list[str] | None, policies_option(DEFAULT_POLICIES)] = None,
    delay: Delay = None,
    batch: Batch = None,
    lost: Lost = None,
    instances: Annotated[
        int, typer.Option(help="Shops to simulate; as many of `compare` with this seed are the same ones.")
    ] = 200,
    seed: Seed = 0,
    at_most: AtMost = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Page to write, .html.")] = None,
    as_json: Json = False,
) -> None:
    """Say what a campaign would gain over the present arm, before there is one.

    Fewer customers, shops or policies make it quicker.
    """
    from elsv._base.files import check_writable
    from elsv.problem import Problem
    from elsv.simulation.rehearse import rehearse as run

    loaded = Problem.load(problem)
    if out is not None:
        from elsv.report.style import require_matplotlib

        require_matplotlib()
        check_writable(out)
    names, sizes = policy or list(DEFAULT_POLICIES), _sizes(customers)
    found = run(
        loaded,
        sizes,
        against=against,
        policies=names,
        instances=instances,
        seed=seed,
        delay=delay,
        batch=batch,
        lost=lost,
        progress=True,
        at_most=at_most,
    )
    if as_json:
        print_json(found.to_dict())
    else:
        print(found)
    if out is not None:
        from elsv.report.rehearsal import rehearsal_page

        options = {
            "--customers": customers,
            "--against": against,
            "--delay": delay,
            "--batch": batch,
            "--lost": lost,
            "--instances": instances,
            "--seed": seed,
        }
        rehearsal_page(found, command_line("rehearse", problem, names, options)).write(out)
        print(f"wrote {out}", file=sys.stderr)


def _sizes(text: str) -> list[int]:
    try:
        return [int(part.replace("_", "")) for part in text.split(",")]
    except ValueError as error:
        raise InvalidInputError(
            f"customers must be whole numbers joined by commas, such as 100,1000, got {text!r}"
        ) from error
