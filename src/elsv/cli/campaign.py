"""``elsv campaign``: live decisions from the command line; a cron job needs nothing else."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from typer import Argument, Exit, Option, Typer, prompt

from elsv._base.files import unreadable
from elsv.cli.console import note, show, show_explanations, working
from elsv.cli.options import HELP, STORE, Expect, Factor, HistoryFile, ProblemFile, SegmentName
from elsv.errors import InvalidInputError

if TYPE_CHECKING:
    from elsv.campaign import Campaign

T = TypeVar("T")
campaign = Typer(
    name="campaign",
    help="Live decisions whose outcomes come late, in one file or database.",
    no_args_is_help=True,
    context_settings=HELP,
)
Store = Annotated[str, Argument(metavar="STORE", help=STORE)]
Name = Annotated[str, Argument(metavar="NAME", help="Name of the campaign.")]
DecisionId = Annotated[str, Argument(metavar="DECISION", help="Id that decide printed.")]
Success = Annotated[bool, Option("--success/--failure", help="What happened.")]
ArmName = Annotated[str, Argument(metavar="ARM", help="Name of the arm, or its number from 1.")]
Strict = Annotated[
    bool, Option("--strict", help="Make an error of what contradicts the log; nothing is taken then.")
]


@campaign.command()
def new(
    store: Store,
    name: Name,
    problem: ProblemFile,
    policy: Annotated[str | None, Option("-p", "--policy", help="Policy; default: plan.")] = None,
    expect: Expect = None,
    history: HistoryFile = None,
    factor: Factor = None,
    window: Annotated[
        str | None, Option(help="How long to wait for an outcome: '7 days', none; then: a failure.")
    ] = None,
    unit: Annotated[str | None, Option(help="Unit of the rewards, such as EUR.")] = None,
    floor: Annotated[float | None, Option(help="Least probability of every arm; default: 0.")] = None,
    holdout: Annotated[float | None, Option(help="Share of customers who get --control.")] = None,
    control: Annotated[str | None, Option(help="Arm to measure against, by name or number.")] = None,
    fallback: Annotated[str | None, Option(help="Arm while paused; default: --control, or 1.")] = None,
    late: Annotated[
        bool | None, Option("--late/--no-late", help="Whether late outcomes count; default: yes.")
    ] = None,
    sticky: Annotated[
        str | None, Option(help="For how long customers keep their arm: campaign (default), open or never.")
    ] = None,
    no_sticky: Annotated[bool, Option("--no-sticky", hidden=True)] = False,
    timezone: Annotated[
        str | None, Option(help="Whose days count, such as Europe/Berlin; default: this machine's.")
    ] = None,
    seed: Annotated[int | None, Option(help="Seed of what is drawn; default: fresh.")] = None,
) -> None:
    """Begin a campaign, or change the settings of one; what is not given stays as it is."""
    from elsv.campaign import Campaign
    from elsv.prior.sources import problem_from

    loaded, notes = problem_from(problem, history, expect or [], factor)
    for text in notes:
        note(text)
    given: dict[str, Any] = {"policy": policy, "window": window, "unit": unit, "floor": floor}
    given |= {"holdout": holdout, "accept_late": late, "sticky": "never" if no_sticky else sticky}
    given |= {"control": control, "fallback": fallback, "timezone": timezone}
    settings = {key: value for key, value in given.items() if value is not None}
    with Campaign.open(store, name, loaded, seed=seed, who=_who(), **settings) as opened:
        show(opened.status())


@campaign.command()
def decide(
    store: Store,
    name: Name,
    customer: Annotated[str | None, Option(help="Text that tells customers apart.")] = None,
    customers: Annotated[
        Path | None, Option(metavar="FILE", help="Decide for the customers of a file, one on a line.")
    ] = None,
    count: Annotated[int | None, Option(help="Decide for so many customers who are not known.")] = None,
    segment: SegmentName = None,
    key: Annotated[str | None, Option(help="Name of this visit; a retry gets the first answer.")] = None,
) -> None:
    """Choose the arm for a customer, or for many: id, arm, probability and name, one on a line."""
    if sum(given is not None for given in (customer, customers, count)) > 1:
        raise InvalidInputError("--customer, --customers and --count each say whom to decide for; give one")
    with _open(store, name) as opened, working("deciding"):
        if customers is not None:
            made = opened.decide(_lines(customers), key=key, segment=segment)
        elif count is not None:
            made = opened.decide(count=count, key=key, segment=segment)
        else:
            made = [opened.decide(customer, key=key, segment=segment)]
    told = [decision.to_dict() for decision in made]
    lines = (
        f"{one.id}\t{one.arm + 1}\t{one.propensity:.6g}\t{one.name}"
        + ("" if one.customer is None else f"\t{one.customer}")
        for one in made
    )
    alone = customers is None and count is None
    show("\n".join(lines), told[0] if alone else {"decisions": told})


@campaign.command()
def reward(store: Store, name: Name, decision: DecisionId, success: Success, strict: Strict = False) -> None:
    """Report an outcome: recorded, late, duplicate or conflict."""
    from elsv.campaign.records import REFUSED

    receipt = _told(store, name, lambda opened: opened.reward(decision, success=success))
    if strict and receipt.status in REFUSED:
        known = "void" if receipt.success is None else "a success" if receipt.success else "a failure"
        raise InvalidInputError(
            f"an outcome must agree with the log: {decision} is {known}; correct an outcome with "
            "`elsv campaign correct`"
        )
    show(receipt.status, receipt.to_dict())


@campaign.command()
def void(store: Store, name: Name, decision: DecisionId) -> None:
    """Take back a decision that the customer never saw: it counts as nothing, and its place is free."""
    receipt = _told(store, name, lambda opened: opened.void(decision))
    show(receipt.status, receipt.to_dict())


@campaign.command()
def correct(store: Store, name: Name, decision: DecisionId, success: Success) -> None:
    """Replace an outcome, as after a return or a cancelled order; the log keeps both."""
    receipt = _told(store, name, lambda opened: opened.correct(decision, success=success))
    show(receipt.status, receipt.to_dict())


@campaign.command()
def status(store: Store, name: Name) -> None:
    """Say how the campaign stands: earnings, gains with intervals, every arm."""
    with working("computing"):
        found = _told(store, name, lambda opened: opened.status())
    show(found)


@campaign.command()
def digest(
    store: Store,
    since: Annotated[
        str, Option(help="yesterday, today, '7 days' or a day such as 2026-03-01.")
    ] = "yesterday",
    html: Annotated[bool, Option("--html", help="Print HTML for an e-mail instead of text.")] = False,
) -> None:
    """Print the news of all campaigns, for the morning: a cron job can mail it."""
    from elsv.campaign.digest import digest_of
    from elsv.campaign.opening import open_store

    with working("computing"):
        found = digest_of(open_store(store, create=False), since)
    show(found.html() if html else found, found.to_dict())


@campaign.command()
def explain(store: Store, name: Name, segment: SegmentName = None) -> None:
    """Say what the next customer would get, and why; for each segment of customers, or for one."""
    with _open(store, name) as opened, working("computing"):
        names = (segment,) if segment is not None else opened.problem.segments.names or (None,)
        found = [opened.explain(one) for one in names]
    show_explanations(found)


@campaign.command()
def report(
    store: Store,
    name: Name,
    out: Annotated[Path, Option(metavar="FILE", help="Page to write; default: NAME.html.")] = Path(""),
) -> None:
    """Write the status as one self-contained page."""
    from elsv.report.page import slug

    target = out if out.name else Path(f"{slug(name)}.html")
    with working("writing the page"):
        _told(store, name, lambda opened: opened.report(target))
    show(f"wrote {target}", {"out": str(target)})


@campaign.command()
def export(
    store: Store,
    name: Name,
    out: Annotated[Path, Argument(metavar="FILE", help="Table to write: .csv or .parquet.")],
) -> None:
    """Write all decisions with their outcomes."""
    rows = _told(store, name, lambda opened: opened.export(out))
    show(f"wrote {rows:,} decisions to {out}", {"out": str(out), "rows": rows})


@campaign.command(name="import")
def import_(
    store: Store,
    name: Name,
    file: Annotated[
        Path,
        Argument(
            metavar="FILE",
            help="Columns decision, success: outcomes. Columns arm, successes, failures: history.",
        ),
    ],
    kind: Annotated[
        str, Option("--as", metavar="KIND", help="What the rows are: outcome, correction or void.")
    ] = "outcome",
    strict: Strict = False,
) -> None:
    """Take outcomes of decisions, or history from before the campaign, from a .csv or .parquet file."""
    show(_told(store, name, lambda opened: opened.import_outcomes(file, strict, kind)))


@campaign.command()
def forget(
    store: Store,
    name: Name,
    customer: Annotated[str, Argument(metavar="CUSTOMER", help="Name that decide was given.")],
) -> None:
    """Remove a customer's name from the whole log; the counts stay."""
    count = _told(store, name, lambda opened: opened.forget(customer))
    show(f"removed the name from {count:,} decisions", {"decisions": count})


@campaign.command()
def withdraw(store: Store, name: Name, arm: ArmName) -> None:
    """Take an arm off the offer; what is known of it still teaches, and its open decisions are awaited."""
    _set(store, name, lambda opened: opened.withdraw(arm))


@campaign.command()
def restore(store: Store, name: Name, arm: ArmName) -> None:
    """Put an arm that was withdrawn on offer again."""
    _set(store, name, lambda opened: opened.restore(arm))


@campaign.command()
def add(
    store: Store,
    name: Name,
    arm: Annotated[str, Argument(metavar="ARM", help="Name of the new arm.")],
    reward: Annotated[float, Option(help="What a success pays.")],
    expect: Annotated[
        str | None, Option(help="Its rate: '5 to 15 %' or '4%'; default: near its neighbours'.")
    ] = None,
    after: Annotated[
        str | None, Option(help="Arm that it follows in the order; default: by its reward.")
    ] = None,
    segment: SegmentName = None,
    structure: Annotated[
        str | None,
        Option(metavar="JSON", help="What is known of all arms then, where they are not in one order."),
    ] = None,
) -> None:
    """Add an arm; all others keep their numbers and their outcomes."""
    try:
        known = None if structure is None else json.loads(structure)
    except ValueError as error:
        rule = "structure must be JSON, such as '{\"order\": [[1, 2], [1, 3]]}'"
        raise InvalidInputError(f"{rule}, got {structure!r}: {error}") from error
    with _open(store, name) as opened:
        number = opened.add(arm, reward, expect, after=after, segment=segment, structure=known)
        row = opened.problem.prior[number].tolist()
    said = f"added {arm} as arm {number + 1}, prior row {row[0]:.3g}, {row[1]:.3g}"
    show(said, {"arm": number + 1, "name": arm, "prior": row})


@campaign.command()
def pause(store: Store, name: Name) -> None:
    """Give new customers the fallback arm, who use up nothing; outcomes are still taken."""
    _set(store, name, lambda opened: opened.pause())


@campaign.command()
def resume(store: Store, name: Name) -> None:
    """Let the policy choose again."""
    _set(store, name, lambda opened: opened.resume())


@campaign.command()
def extend(
    store: Store,
    name: Name,
    customers: Annotated[int, Argument(metavar="CUSTOMERS", help="How many there will be in all.")],
) -> None:
    """Plan for more customers than before."""
    _set(store, name, lambda opened: opened.extend(customers))


@campaign.command()
def end(store: Store, name: Name) -> None:
    """Let the customers so far be the last: all others get the best arm by now; extend goes on."""
    _set(store, name, lambda opened: opened.end())


@campaign.command()
def delete(
    store: Store,
    name: Name,
    again: Annotated[
        str | None, Option(metavar="NAME", help="The name once more; asked for on a terminal.")
    ] = None,
    out: Annotated[
        Path | None, Option(metavar="FILE", help="File for the log; default: NAME-deleted.db.")
    ] = None,
) -> None:
    """Delete a campaign; its whole log goes to a file first, from which `elsv copy` brings it back."""
    from elsv.report.page import slug

    target = out or Path(f"{slug(name)}-deleted.db")
    with _open(store, name) as opened:
        if again is None:
            if not sys.stdin.isatty():
                raise InvalidInputError(f"to delete a campaign type its name again: --again {name!r}")
            again = prompt(f"Type {name} again to delete it", prompt_suffix=": ")
        opened.delete(again, target)
    show(f"deleted {name}; its log is in {target}", {"deleted": name, "out": str(target)})


@campaign.command()
def audit(store: Store, name: Name) -> None:
    """Replay the whole log and compare every count; exit code 1 if anything differs."""
    found = _told(store, name, lambda opened: opened.audit())
    show(found)
    if not found.exact:
        raise Exit(1)


def _open(store: str, name: str) -> Campaign:
    from elsv.campaign import Campaign

    return Campaign.open(store, name, who=_who())


def _told(store: str, name: str, ask: Callable[[Campaign], T]) -> T:
    """Return what a campaign answers."""
    with _open(store, name) as opened:
        return ask(opened)


def _who() -> str:
    """Return who is at the command line, for the log."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a process without a user's name
        return "command line"


def _set(store: str, name: str, change: Callable[[Campaign], object]) -> None:
    with _open(store, name) as opened:
        change(opened)
        settings, phase, arms = opened.settings, opened.phase, opened.problem.names
    planned = "no end" if settings.horizon is None else f"{settings.horizon:,} customers"
    gone = ", ".join(arms[arm] for arm in settings.withdrawn)
    line = f"{name}: {phase}, planned for {planned}{f'; withdrawn: {gone}' if gone else ''}"
    show(line, settings.to_dict())


def _lines(path: Path) -> list[str]:
    """Return the lines of a file, or of stdin for ``-``."""
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise unreadable(
            f"customers from {path}", error, "give a file with one customer on a line"
        ) from error
    except ValueError as error:
        raise InvalidInputError(f"{path} must be text in UTF-8: {error}") from error
    return [line.strip() for line in text.splitlines() if line.strip()]
