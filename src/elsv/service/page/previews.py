"""Before a campaign begins: what its prior implies, and what a rehearsal says."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from elsv.assumptions import check
from elsv.prior.untried import nothing_said
from elsv.problem import Problem
from elsv.service.page import pictures
from elsv.service.page.reasons import figure, percent
from elsv.simulation.rehearsal import cells
from elsv.simulation.rehearse import POLICIES, Rehearsal, rehearse

LARGEST = 1000  # customers that are rehearsed
INSTANCES = 60
_SMALLEST = 20
_FLAT = 0.03  # of the largest worth: arms nearer than this are about as good


@dataclass(frozen=True)
class PriorRow:
    """An arm before the first customer."""

    name: str
    swatch: Markup
    picture: Markup
    mean: str
    between: str
    worth: str


@dataclass(frozen=True)
class PriorView:
    """What is implied."""

    assumed: str
    axis: Markup
    rows: tuple[PriorRow, ...]
    said: str


@dataclass(frozen=True)
class RehearsedRow:
    """A number of customers."""

    customers: str
    gain: str
    per_cent: str
    found: str


def prior_view(problem: Problem, unit: str) -> PriorView:
    """Return what is believed of every arm before the first customer."""
    found = check(problem)
    points = [(100 * a.prior.mean, 100 * a.prior.low, 100 * a.prior.high) for a in found.arms]
    scale = pictures.scale_of(high for _, _, high in points)
    rows = tuple(
        PriorRow(
            name=arm.name,
            swatch=pictures.swatch(arm.arm),
            picture=pictures.interval(scale, *shares, arm.arm),
            mean=f"{shares[0]:.1f}",
            between=f"{shares[1]:.1f} – {shares[2]:.1f}",
            worth=figure(arm.reward * arm.prior.mean),
        )
        for arm, shares in zip(found.arms, points, strict=True)
    )
    worths = sorted(((arm.reward * arm.prior.mean, arm.name) for arm in found.arms), reverse=True)
    (first, name), (second, other) = worths[:2]
    money = f" {unit}" if unit else ""
    said = f"Before any customer {name} is expected to earn most, {figure(first)}{money} a customer"
    near = first - second <= _FLAT * first
    said += f", nearly the same as {other}." if near else f", against {figure(second)} with {other}."
    assumed = found.assumed[0].upper() + found.assumed[1:] + "."
    return PriorView(assumed, pictures.axis(scale), rows, said)


def rehearsed(problem: Problem, policy: str, today: int | None, unit: str = "") -> Rehearsal:
    """Return a small rehearsal, of a tenth and of all customers."""
    most = max(1, min(LARGEST, problem.horizon or LARGEST))
    sizes = sorted({most, max(min(_SMALLEST, most), most // 10)})
    policies = POLICIES if policy == "plan" else policy
    settings = {"policies": policies, "instances": INSTANCES, "jobs": 1, "unit": unit}
    return rehearse(problem, sizes, against=today, **settings)  # type: ignore[arg-type]


def answers(found: Rehearsal) -> list[str]:
    """Return what the rehearsal says, or what to type so that it can say something."""
    nothing = nothing_said(found.problem, "Say above what share of your visitors buys today.")
    return found.answers() if nothing is None else [nothing]


def rehearsed_rows(found: Rehearsal) -> tuple[RehearsedRow, ...]:
    """Return the rows of its table."""
    return tuple(
        RehearsedRow(
            customers=f"{row.customers:,}",
            gain=_signed(row.gain, row.error),
            per_cent=cells(row)[4],
            found=percent(row.found),
        )
        for row in found.outcomes
    )


def how(problem: Problem, found: Rehearsal) -> str:
    """Say what was played."""
    against = problem.names[found.against]
    cut = problem.horizon is not None and problem.horizon > LARGEST
    more = f" More than {LARGEST:,} customers are rehearsed with `elsv rehearse`." if cut else ""
    return (
        f"Against always {against}, in {found.instances:,} imaginary shops. "
        f"Finds the best: share of shops in which the last customer gets the arm that is truly best.{more}"
    )


def _signed(gain: float, error: float) -> str:
    text = ("+" if gain >= 0 else "") + figure(gain)
    return f"{text} ± {figure(error)}" if error else text
