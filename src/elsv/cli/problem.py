"""Commands about one problem: ``check``, ``prior``, ``decide`` and ``rehearse``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from elsv._base.files import check_writable, write_text
from elsv.cli.console import load_problem, note, policies_option, show, show_explanations, working
from elsv.cli.options import (
    AtMost,
    Batch,
    Delay,
    Expect,
    Factor,
    HistoryFile,
    Horizon,
    Lost,
    ProblemFile,
    Seed,
    SegmentName,
)
from elsv.errors import InvalidInputError

REHEARSED = ("plan:effort=4096",)


def check(
    problem: ProblemFile,
    state: Annotated[
        str | None, Option(help='Data to hold against it: alpha,beta for each arm, such as "3,1 2,2 1,1".')
    ] = None,
    svg: Annotated[Path | None, Option(help="File for a drawing of it, .svg.")] = None,
) -> None:
    """Assumptions of a problem: what they say and imply, what they cost, whether data contradict them."""
    from elsv.assumptions import check as check_problem
    from elsv.state import State

    if svg is not None:
        if svg.suffix.lower() != ".svg":
            raise InvalidInputError(f"a drawing is written as .svg, got {str(svg)!r}")
        check_writable(svg)
    loaded = load_problem(problem)
    counts = None if state is None else State.parse(state)
    with working("looking at what is assumed"):
        found = check_problem(loaded, counts)
    show(found)
    if svg is not None:
        write_text(svg, found.svg())
        note(f"wrote {svg}")


def prior(
    history: Annotated[
        Path | None,
        Argument(
            metavar="[HISTORY]",
            help="Outcomes, .csv or .parquet: columns arm, success; or arm, successes, failures (or trials); "
            "or what elsv campaign export wrote.",
        ),
    ] = None,
    problem: Annotated[
        Path | None, Option(metavar="PROBLEM.toml", help="Whose arms these are; its \\[expect] is taken too.")
    ] = None,
    weight: Annotated[
        float, Option(help="What an old outcome is worth beside a new one, from 0 to 1.")
    ] = 0.3,
    method: Annotated[
        str,
        Option(
            help="match: means as after all of the history, as sure as a share WEIGHT of it leaves; "
            "power: as if only that share had been seen."
        ),
    ] = "match",
    expect: Expect = None,
    factor: Factor = None,
    coverage: Annotated[
        float, Option(help="Probability with which the mean lies in an interval that you expect.")
    ] = 0.9,
    out: Annotated[
        Path | None, Option(metavar="NEW.toml", help="File for the problem with the new prior.")
    ] = None,
) -> None:
    """Prior rows from last season's outcomes, or from what you expect, and what they imply."""
    from elsv.prior.sources import prior_from

    if out is not None:
        check_writable(out)
    with working("looking for prior rows"):
        found = prior_from(
            problem, history, expect or [], weight, method, coverage, factor, keep=out is not None
        )
    told = {"steps": [one.to_dict() for one in found], **found[-1].to_dict()}
    show("\n\n".join(map(str, found)), told)
    if out is not None:
        found[-1].problem.save(out)
        note(f"wrote {out}")


def decide(
    problem: ProblemFile,
    policy: Annotated[
        str | None, Option("-p", "--policy", help="Policy, NAME[:key=value,…]; default: plan.")
    ] = None,
    state: Annotated[
        str | None,
        Option(help='One alpha,beta pair for each arm, such as "3,1 2,2 1,1"; default: the prior.'),
    ] = None,
    step: Annotated[
        int | None, Option(help="Step t, from 1; default: one more than the pulls in the state.")
    ] = None,
    segment: SegmentName = None,
    horizon: Horizon = None,
    seed: Annotated[int, Option(help="Seed, for policies that draw.")] = 0,
) -> None:
    """Which arm to pull in a state, and why; for each segment of customers, or for one."""
    from elsv.live import Bandit
    from elsv.policies import DEFAULT_POLICY
    from elsv.state import State

    loaded = load_problem(problem, horizon)
    counts = None if state is None else State.parse(state)
    bandit = Bandit(loaded, DEFAULT_POLICY if policy is None else policy, seed, counts)
    names = (segment,) if segment is not None else loaded.segments.names or (None,)
    with working(f"deciding with {bandit.policy_name}"):
        found = [bandit.explain(step, name) for name in names]
    show_explanations(found)


def rehearse(
    problem: ProblemFile,
    customers: Annotated[
        str | None,
        Option(
            help="Numbers of customers to try, joined by commas; default: the horizon, a third, the half and "
            "the double of it."
        ),
    ] = None,
    against: Annotated[
        str | None, Option(help="Today's arm, by name or number; default: the best one by the prior.")
    ] = None,
    expect: Expect = None,
    history: HistoryFile = None,
    factor: Factor = None,
    unit: Annotated[str, Option(help="Unit of the rewards, such as EUR.")] = "",
    truth: Annotated[
        str | None,
        Option(help='Play in this one shop: the rate of every arm, such as "none=3%, 5 % off=5%".'),
    ] = None,
    policy: Annotated[list[str] | None, policies_option(REHEARSED)] = None,
    delay: Delay = None,
    batch: Batch = None,
    lost: Lost = None,
    instances: Annotated[
        int, Option(help="Shops to simulate; as many of `compare` with this seed are the same ones.")
    ] = 200,
    seed: Seed = 0,
    at_most: AtMost = None,
    out: Annotated[Path | None, Option(metavar="FILE", help="Page to write, .html.")] = None,
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
    show("\n".join([str(found), *(wrapped([text]) for text in notes)]), found.to_dict())
    if out is not None:
        from elsv.report.comparison import rehearsal_page
        from elsv.report.page import command_line

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
