"""``elsv reproduce``: the paper's figures and claims, measured again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from elsv.cli.console import Json, print_json, progress_bar
from elsv.errors import InvalidInputError

if TYPE_CHECKING:
    from elsv.paper.run import Reproduction


def reproduce(
    out: Annotated[
        Path,
        typer.Option(metavar="DIR", help="Write report.html, summary.json, results and figures here."),
    ],
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Smaller problems and fewer instances; under a minute after compilation."
        ),
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Experiment: transition, values, theorem, cost, depth, discount, optimum, long-horizon, "
            "arms, growth or decomposition; repeat for more. Default: all.",
            show_default=False,
        ),
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Threads; default: one a core.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace another run that is in DIR.")
    ] = False,
    device: Annotated[
        str, typer.Option(metavar="cpu|cuda", help="cuda: T = 290 is computed again on a GPU (extra gpu).")
    ] = "cpu",
    as_json: Json = False,
) -> None:
    """Reproduce the paper, figure by figure, with a verdict on each of its claims."""
    from elsv.paper.run import reproduce as run

    if seed < 0:
        raise InvalidInputError(f"--seed must be at least 0, got {seed}")
    if jobs is not None and jobs < 1:
        raise InvalidInputError(f"--jobs must be at least 1, got {jobs}")
    try:
        with progress_bar("reproducing") as bar:
            found = run(
                out,
                only or (),
                quick,
                seed,
                jobs,
                lambda name, share: bar(share, 1.0, name),
                overwrite,
                device,
            )
    except KeyboardInterrupt:
        print(f"interrupted; what was finished is in {out / 'results'}", file=sys.stderr)
        raise typer.Exit(130) from None
    if as_json:
        print_json(found.to_dict())
    else:
        _show(found)
    print(f"wrote {out / 'report.html'}", file=sys.stderr)


def _show(found: Reproduction) -> None:
    """Print the verdicts, one line for each claim."""
    for claim in found.claims:
        print(f"{claim.label:<14}  {claim.verdict.value:<15} {claim.says}")
        if claim.in_short != claim.verdict.value:
            print(f"{' ':<32}{claim.in_short}")
