"""``elsv rehearse``: is a campaign worth it, and with how many customers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from elsv._base.files import check_writable
from elsv.cli.console import command_line, note, policies_option, print_json
from elsv.cli.options import AtMost, Batch, Delay, Expect, Factor, HistoryFile, Json, Lost, ProblemFile, Seed
from elsv.errors import InvalidInputError

DEFAULT_POLICIES = ("plan:effort=4096",)


def rehearse(
    problem: ProblemFile,
    customers: Annotated[
        str | None,
        typer.Option(
            help="Numbers of customers to try, joined by commas; default: the horizon, a third, the half and "
            "the double of it."
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(help="Today's arm, by name or number; default: the best one by the prior."),
    ] = None,
    expect: Expect = None,
    history: HistoryFile = None,
    factor: Factor = None,
    unit: Annotated[str, typer.Option(help="Unit of the rewards, such as EUR.")] = "",
    truth: Annotated[
        str | None,
        typer.Option(help='Play in this one shop: the rate of every arm, such as "none=3%, 5 % off=5%".'),
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
    """Say what a campaign would gain over today's arm, before there is one.

    Fewer customers, shops or policies make it quicker.
    """
    from elsv.prior.sources import problem_from
    from elsv.simulation.rehearsal import wrapped
    from elsv.simulation.rehearse import default_policies
    from elsv.simulation.rehearse import rehearse as run

    loaded, notes = problem_from(problem, history, expect or [], factor)
    if out is not None:
        from elsv.report.style import require_matplotlib

        require_matplotlib()
        check_writable(out)
    names = policy or list(default_policies(loaded))
    sizes = None if customers is None else _sizes(customers)
    asked: dict[str, Any] = {"against": against, "instances": instances, "seed": seed, "unit": unit}
    asked |= {"truth": truth, "delay": delay, "batch": batch, "lost": lost}
    found = run(loaded, sizes, policies=names, progress=True, at_most=at_most, **asked)
    if as_json:
        print_json(found.to_dict())
    else:
        print(found, *(wrapped([text]) for text in notes), sep="\n")
    if out is not None:
        from elsv.report.rehearsal import rehearsal_page

        more = {"customers": customers, "history": history, "factor": factor, "expect": expect}
        options = {**more, **asked, "unit": unit or None}
        rehearsal_page(found, command_line("rehearse", problem, names, options)).write(out)
        note(f"wrote {out}")


def _sizes(text: str) -> list[int]:
    try:
        return [int(part.replace("_", "")) for part in text.split(",")]
    except ValueError as error:
        raise InvalidInputError(
            f"customers must be whole numbers joined by commas, such as 100,1000, got {text!r}"
        ) from error
