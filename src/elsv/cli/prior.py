"""``elsv prior``: prior rows from last season's outcomes, or from what people expect."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from elsv.cli.console import Expect, Factor, Json, print_json, working


def prior(
    history: Annotated[
        Path | None,
        typer.Argument(
            metavar="[HISTORY]",
            help="Outcomes, .csv or .parquet: columns arm, success; or arm, successes, failures (or trials); "
            "or what elsv campaign export wrote.",
        ),
    ] = None,
    problem: Annotated[
        Path | None,
        typer.Option(metavar="PROBLEM.toml", help="Whose arms these are; its \\[expect] is taken too."),
    ] = None,
    weight: Annotated[
        float, typer.Option(help="What an old outcome is worth beside a new one, from 0 to 1.")
    ] = 0.3,
    method: Annotated[
        str,
        typer.Option(
            help="match: means as after all of the history, as sure as a share WEIGHT of it leaves; "
            "power: as if only that share had been seen."
        ),
    ] = "match",
    expect: Expect = None,
    factor: Factor = None,
    coverage: Annotated[
        float, typer.Option(help="Probability with which the mean lies in an interval that you expect.")
    ] = 0.9,
    out: Annotated[
        Path | None, typer.Option(metavar="NEW.toml", help="File for the problem with the new prior.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Prior rows from last season's outcomes, or from what you expect, and what they imply."""
    from elsv._base.files import check_writable
    from elsv.prior.sources import prior_from

    if out is not None:
        check_writable(out)
    with working("looking for prior rows"):
        found = prior_from(
            problem, history, expect or [], weight, method, coverage, factor, keep=out is not None
        )
    if as_json:
        print_json({"steps": [one.to_dict() for one in found], **found[-1].to_dict()})
    else:
        print("\n\n".join(map(str, found)))
    if out is not None:
        found[-1].problem.save(out)
        print(f"wrote {out}", file=sys.stderr)
