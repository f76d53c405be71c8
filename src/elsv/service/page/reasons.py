"""Why this arm now, in words: what the next customer gets, and what that rests on."""

from __future__ import annotations

import math
from dataclasses import dataclass

from elsv._base.numbers import with_minus
from elsv.campaign.status import Status
from elsv.live.explain import Explanation
from elsv.policies.meanings import meaning

_CLOSE = 0.02  # of the leader's worth: nearer arms are said to be about as good


@dataclass(frozen=True)
class Reasons:
    """The next customer's arm."""

    number: int  # of the customer
    segment: str | None  # of the customer; None where there are none
    arm: int  # from 0
    name: str
    sentences: tuple[str, ...]


def reasons_of(status: Status, explanation: Explanation) -> Reasons:
    """Return what the next customer gets and why, for someone who does not know the method."""
    if status.phase == "paused":
        said = ["The campaign is paused: every customer gets this arm until it is resumed."]
    elif status.phase == "over":
        said = ["The planned customers have come: every further one gets the arm that is best by now."]
        said.append(_how_sure(explanation))
    else:
        said = _compared(status, explanation)
    name = explanation.chosen.name
    return Reasons(explanation.step, explanation.segment, explanation.arm, name, tuple(said))


def _compared(status: Status, explanation: Explanation) -> list[str]:
    arms, chosen = explanation.arms, explanation.chosen
    by_worth = sorted(arms, key=lambda arm: -arm.worth)
    leader = by_worth[0]
    if len(arms) == 1:
        return ["It is the only arm on offer."]
    if chosen is leader:
        second = by_worth[1]
        said = [
            f"By what is known it earns most: {amount(status, chosen.worth)} per customer, against "
            f"{amount(status, second.worth)} with {second.name}, the next one."
        ]
        return [*said, _how_sure(explanation)]
    highest = chosen.reward * chosen.high
    nearly = leader.worth - chosen.worth <= _CLOSE * leader.worth
    lead = "about as much" if nearly else f"{amount(status, chosen.worth)} per customer"
    said = [
        f"{leader.name} earns most by what is known, {amount(status, leader.worth)} per customer; this arm "
        f"is expected to earn {lead}, but it may be as much as {amount(status, highest)}."
    ]
    if not chosen.pulls:
        said.append("No outcome of it is known yet, so it is the one to learn most from.")
    elif chosen.pulls < leader.pulls:
        said.append(
            f"It has {chosen.pulls:,} known outcome{'' if chosen.pulls == 1 else 's'} against "
            f"{leader.pulls:,}: there is more to learn from it."
        )
    if status.left:
        said.append(
            f"{status.left:,} customers are left to profit from what is learnt; with a probability of "
            f"{percent(chosen.best)} it is the best."
        )
    return said


def _how_sure(explanation: Explanation) -> str:
    return f"It is the best with a probability of {percent(explanation.chosen.best)}."


def method_of(status: Status) -> tuple[str, ...]:
    """Return how arms are chosen, whoever comes; nothing while the policy does not choose."""
    if status.phase in ("paused", "over"):
        return ()
    said = []
    if (means := meaning(status.policy)) is not None:
        said.append(f"Chosen by {status.policy}: {means}.")
    if status.under_way:
        many = status.under_way != 1
        said.append(
            f"{status.under_way:,} outcome{'s are' if many else ' is'} still awaited; the policy counts "
            f"with what {'they are' if many else 'it is'} expected to be."
        )
    if status.floor:
        said.append(
            f"Apart from this, every arm keeps {100 * status.floor:g} % of the customers, drawn by lot."
        )
    if status.holdout:
        said.append(f"{100 * status.holdout:g} % of the customers get the control arm, whatever is learnt.")
    return tuple(said)


def amount(status: Status, value: float) -> str:
    """Return what one customer earns, with three digits, in the campaign's unit."""
    return f"{figure(value)}{' ' + status.unit if status.unit else ''}"


def decimals(largest: float) -> int:
    """Return how many decimals numbers up to `largest` are shown with: three digits of it that count."""
    if not 0 < largest < math.inf:
        return 2
    return max(0, min(8, 2 - math.floor(math.log10(largest))))


def figure(value: float, digits: int | None = None) -> str:
    """Return a number as people read it: three digits that count, no powers of ten, a true minus.

    Numbers that stand below one another have the same `digits` behind the point.

    Examples
    --------
    >>> figure(0.61234), figure(-12.3456), figure(1234567.0)
    ('0.612', '−12.3', '1,234,567')
    """
    if not abs(value) < 1e15:
        return with_minus(f"{value:.3g}")
    shown = (0 if value == 0 else decimals(abs(value))) if digits is None else digits
    return with_minus(f"{value:,.{shown}f}")


def percent(share: float) -> str:
    r"""Return a share in per cent; what is nearly nothing or everything does not look like it.

    Examples
    --------
    >>> [percent(x).replace("\xa0", " ") for x in (0.123, 0.0004, 0.9999, 1.0)]
    ['12 %', '< 1 %', '> 99 %', '100 %']
    """
    points = 100 * share
    if 0 < points < 0.5:
        return "<\N{NO-BREAK SPACE}1\N{NO-BREAK SPACE}%"
    if 99.5 < points < 100:
        return ">\N{NO-BREAK SPACE}99\N{NO-BREAK SPACE}%"
    return f"{points:.0f}\N{NO-BREAK SPACE}%"
