"""``elsv rehearse``: is a campaign worth it, and with how many customers."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from elsv.cli.console import Json, ProblemFile, print_json, progress_bar
from elsv.errors import InvalidInputError


def rehearse(
    problem: ProblemFile,
    customers: Annotated[
        str, typer.Option(help="Numbers of customers to try, joined by commas.")
    ] = "100,300,1000,3000",
    against: Annotated[
        str | None,
        typer.Option(help="The present arm, by name or number; default: the best one by the prior."),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option("-p", "--policy", help="Policy; repeat for more. Default: plan:effort=4096."),
    ] = None,
    delay: Annotated[
        str | None,
        typer.Option(
            metavar="CUSTOMERS", help="Outcomes are known so many customers later, or geometric:60."
        ),
    ] = None,
    batch: Annotated[
        int | None, typer.Option(help="Look at outcomes after batches of so many customers only.")
    ] = None,
    lost: Annotated[
        float | None, typer.Option(help="Share of outcomes that never come and count as failures.")
    ] = None,
    instances: Annotated[int, typer.Option(help="Shops to simulate.")] = 200,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Page to write, .html.")] = None,
    as_json: Json = False,
) -> None:
    """Say what a campaign would gain over the present arm, before there is one."""
    from elsv._files import check_writable
    from elsv.problem import Problem
    from elsv.simulation.rehearse import POLICIES
    from elsv.simulation.rehearse import rehearse as run

    loaded = Problem.load(problem)
    if out is not None:
        from elsv.report.style import require_matplotlib

        require_matplotlib()
        check_writable(out)
    names = policy or list(POLICIES)
    options = {"--against": against, "--delay": delay, "--batch": batch, "--lost": lost}
    with progress_bar("rehearsing") as progress:
        found = run(
            loaded,
            _sizes(customers),
            against=against,
            policies=names,
            instances=instances,
            seed=seed,
            delay=delay,
            batch=batch,
            lost=lost,
            progress=progress,
        )
    if as_json:
        print_json(found.to_dict())
    else:
        print(found)
    if out is not None:
        from elsv.report.rehearsal import rehearsal_page

        words = ["elsv", "rehearse", str(problem), "--customers", customers]
        words += [word for name in names for word in ("-p", name)]
        words += [str(word) for option in options.items() if option[1] is not None for word in option]
        words += ["--instances", str(instances), "--seed", str(seed)]
        rehearsal_page(found, shlex.join(words)).write(out)
        print(f"wrote {out}", file=sys.stderr)


def _sizes(text: str) -> list[int]:
    try:
        return [int(part.replace("_", "")) for part in text.split(",")]
    except ValueError as error:
        raise InvalidInputError(
            f"customers must be whole numbers joined by commas, such as 100,1000, got {text!r}"
        ) from error
