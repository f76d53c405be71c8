"""Numbers and words for the templates: how figures are shown, where they stand on a scale, why this arm now.

What a campaign has earned and what that means is said by its `Status`; the templates show that as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from elsv._base.numbers import with_minus
from elsv.campaign.status import Status
from elsv.live.explain import Explanation
from elsv.policies.meanings import meaning

COLOURS = 9  # classes c0 … c8 of the style sheet
_EDGE = 3.0  # per cent at both sides, so that dots and labels are not cut off
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_CLOSE = 0.02  # of the leader's worth: nearer arms are said to be about as good


@dataclass(frozen=True)
class Scale:
    """Values from `low` to `high` over the width of a picture."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Return where a value stands, in per cent."""
        share = (value - self.low) / (self.high - self.low)
        return round(_EDGE + (100 - 2 * _EDGE) * min(1.0, max(0.0, share)), 2)

    def ticks(self, most: int = 5) -> list[float]:
        """Return round values within the scale, `most` at most."""
        raw = (self.high - self.low) / most
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(k * power for k in _STEPS if k * power >= raw * (1 - 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [k * step for k in range(first, last + 1)]


def scale_of(values: Iterable[float]) -> Scale:
    """Return a scale that shows all values and zero."""
    known = [0.0, *(value for value in values if math.isfinite(value))]
    low, high = min(known), max(known)
    return Scale(low, high) if high > low else Scale(low, low + 1.0)


def tick(value: float) -> str:
    """Return a number of an axis."""
    return with_minus(f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}")


def count(number: int) -> str:
    """Return a whole number with separators."""
    return f"{number:,}"


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


def signed(value: float, form: str = "+.1f") -> str:
    """Return a number with its sign."""
    return with_minus(f"{value:{form}}")


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


def points(share: float) -> str:
    """Return a share in per cent with one decimal, two below one per cent, without the sign."""
    return f"{100 * share:.{1 if share >= 0.01 else 2}f}"


FILTERS = {f.__name__: f for f in (count, figure, percent, points, signed, tick)}


def reasons_of(status: Status, explanation: Explanation) -> tuple[str, ...]:
    """Return why the next customer gets this arm, for someone who does not know the method."""
    sure = f"It is the best with a probability of {percent(explanation.chosen.best)}."
    if status.phase == "paused":
        return ("The campaign is paused: every customer gets this arm until it is resumed.",)
    if status.phase == "over":
        return "The planned customers have come: every further one gets the arm that is best by now.", sure
    if len(explanation.arms) == 1:
        return ("It is the only arm on offer.",)
    chosen = explanation.chosen
    leader, second = sorted(explanation.arms, key=lambda arm: -arm.worth)[:2]
    if chosen is leader:
        return (
            f"By what is known it earns most: {_amount(status, chosen.worth)} per customer, against "
            f"{_amount(status, second.worth)} with {second.name}, the next one.",
            sure,
        )
    most = _amount(status, chosen.reward * chosen.high)
    nearly = leader.worth - chosen.worth <= _CLOSE * leader.worth
    lead = "about as much" if nearly else f"{_amount(status, chosen.worth)} per customer"
    said = [
        f"{leader.name} earns most by what is known, {_amount(status, leader.worth)} per customer; this arm "
        f"is expected to earn {lead}, but it may be as much as {most}."
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
    return tuple(said)


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


def _amount(status: Status, value: float) -> str:
    """Return what one customer earns, with three digits, in the campaign's unit."""
    return f"{figure(value)}{' ' + status.unit if status.unit else ''}"
