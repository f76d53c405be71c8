"""Pages of a campaign: figures and pictures for the templates, words for people, and the report.

What a campaign has earned and what that means is said by its `Status`; the templates show that as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from elsv._base.numbers import many, with_minus
from elsv._version import __version__
from elsv.beliefs.abilities import marginals
from elsv.campaign.choosing import Chooser
from elsv.campaign.figures import METHODS, MONTHS, ArmStatus
from elsv.campaign.history import Change, Day
from elsv.campaign.records import Tally
from elsv.campaign.status import Status
from elsv.errors import MissingExtraError
from elsv.live.explain import INTERVAL, Explanation
from elsv.policies.registry import meaning
from elsv.state import State
from elsv.structure.product import option_of

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
COLOURS = 9  # classes c0 … c8 of the style sheet
_EDGE = 3.0  # per cent at both sides, so that dots and labels are not cut off
_STEPS = (1.0, 2.0, 2.5, 5.0)
_AXIS = 23  # characters of labels that a narrow axis has room for
_MOST_BARS = 45  # in a picture of days; longer campaigns have bars of several days
_WIDE = 10  # units of a bar's width in its picture, one of which is a gap
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
        """Return round values within the scale, `most` at most, whose labels do not touch."""
        raw = (self.high - self.low) / most
        power = 10.0 ** math.floor(math.log10(raw))
        steps = (k * times * power for times in (1, 10, 100) for k in _STEPS)
        for step in (step for step in steps if step >= raw * (1 - 1e-9)):
            first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            found = [k * step for k in range(first, last + 1)]
            if _AXIS * step / (self.high - self.low) > 1 + max((len(tick(x)) for x in found), default=0):
                break
        return found


def scale_of(values: Iterable[float]) -> Scale:
    """Return a scale that shows all values and zero."""
    known = [0.0, *(value for value in values if math.isfinite(value))]
    low, high = min(known), max(known)
    return Scale(low, high) if high > low else Scale(low, low + 1.0)


def tick(value: float) -> str:
    """Return a number of an axis."""
    return with_minus(f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}")


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


def points(share: float) -> str:
    """Return a share in per cent with one decimal, two below one per cent, without the sign."""
    return f"{100 * share:.{1 if share >= 0.01 else 2}f}"


def unbroken(text: str) -> str:
    """Return a text in which a sign of per cent does not begin a line."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


@dataclass(frozen=True)
class Timeline:
    """The days of a campaign as bars of a picture, with what was changed when."""

    bars: tuple[Day, ...]  # some days each, under the date of the first
    earned: tuple[float, ...]  # of each bar
    size: int  # days of a bar
    marks: tuple[tuple[float, int, Change], ...]  # place in per cent, number from 1, what it was

    @property
    def room(self) -> int:
        """The width of the picture, in its own units."""
        return _WIDE * len(self.bars)

    def path(self, values: Sequence[float]) -> str:
        """Return bars as one path, 100 units high for the largest."""
        most = max(values, default=0.0)
        return "" if most <= 0 else _rectangles([(0.0, 100 * value / most) for value in values])

    def shares(self, arms: Sequence[ArmStatus]) -> list[tuple[ArmStatus, str]]:
        """Return who got which of some arms: shares of each bar, one on top of the other, as paths."""
        below = [0.0] * len(self.bars)
        totals = [sum(bar.customers[arm.arm] for arm in arms) for bar in self.bars]
        found = []
        for arm in arms:
            parts = [
                (low, 100 * bar.customers[arm.arm] / total if total else 0.0)
                for low, bar, total in zip(below, self.bars, totals, strict=True)
            ]
            below = [low + share for low, share in parts]
            found.append((arm, _rectangles(parts)))
        return found

    def ticks(self, most: int = 5) -> list[tuple[float, str]]:
        """Return places in per cent and days, `most` at most."""
        step = max(1, -(-len(self.bars) // most))
        return [
            (round(100 * (k + 0.45) / len(self.bars), 2), short_day(self.bars[k].date))
            for k in range(0, len(self.bars), step)
        ]


def _rectangles(parts: Sequence[tuple[float, float]]) -> str:
    """Return a path of rectangles of (lower end, height)."""
    return "".join(
        f"M{_WIDE * k} {100 - low:.4g}h{_WIDE - 1}v{-high:.4g}h{1 - _WIDE}z"
        for k, (low, high) in enumerate(parts)
        if high > 0
    )


def timeline(status: Status) -> Timeline:
    """Return the days of a campaign for pictures."""
    days = status.days
    size = max(1, -(-len(days) // _MOST_BARS))
    bars, earned = [], []
    for part in (days[k : k + size] for k in range(0, len(days), size)):
        came = zip(*(day.customers for day in part), strict=True)
        bars.append(Day(part[0].date, tuple(map(sum, came)), 0, ()))
        earned.append(sum(status.earned_on(day) for day in part))
    marks: list[tuple[float, int, Change]] = []
    for change in status.changes if days else ():
        start, when = date.fromisoformat(days[0].date), status.local(change.at)
        passed = (when.date() - start).days + (when.hour + when.minute / 60) / 24
        if passed >= 0 and "begun" not in change.kinds:
            place = min(100.0, 100 * passed / (size * len(bars)))
            marks.append((round(place, 2), len(marks) + 1, change))
    return Timeline(tuple(bars), tuple(earned), size, tuple(marks))


def short_day(day: str) -> str:
    """Return a day as an axis has it.

    Examples
    --------
    >>> short_day("2026-11-04")
    '4 Nov'
    """
    told = date.fromisoformat(day[:10])
    return f"{told.day} {MONTHS[told.month - 1][:3]}"


def weekday(day: str) -> str:
    """Return a day with the day of its week."""
    return f"{_WEEKDAYS[date.fromisoformat(day[:10]).weekday()]} {short_day(day)}"


def colours(status: Status) -> dict[int, int]:
    """Return the colour of each arm: that of its option, in every segment."""
    places = {option: k for k, option in enumerate(status.options())}
    return {arm.arm: places[arm.option] for arm in status.arms}


def matrix(status: Status) -> list[tuple[str, list[ArmStatus | None], str]]:
    """Return each option, its arm for every segment (None: not on offer), and what it brought in all."""
    found = []
    for option in status.options():
        mine = [arm for arm in status.arms if arm.option == option]
        home = {arm.segment: arm for arm in mine}
        came, won = sum(arm.decided for arm in mine), sum(arm.successes for arm in mine)
        words = status.in_words(came, won, sum(arm.earned for arm in mine))
        found.append((option, [home.get(segment.name) for segment in status.segments], words))
    return found


def reasons_of(status: Status, explanation: Explanation) -> tuple[str, ...]:
    """Return why the next customer gets this arm, for someone who does not know the method."""
    sure = f"It is the best with a probability of {percent(explanation.chosen.best)}."
    if status.phase == "paused":
        return ("The campaign is paused: new customers get this arm until it is resumed.",)
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
    nearly = leader.worth - chosen.worth <= _CLOSE * leader.worth
    lead = "about as much" if nearly else f"{_amount(status, chosen.worth)} per customer"
    said = [
        f"{leader.name} earns most by what is known, {_amount(status, leader.worth)} per customer; this arm "
        f"is expected to earn {lead}, but it may be as much as "
        f"{_amount(status, chosen.reward * chosen.high)}."
    ]
    if not chosen.pulls:
        said.append("No outcome of it is known yet, so it is the one to learn most from.")
    elif chosen.pulls < leader.pulls:
        known = f"{many(chosen.pulls, 'known outcome')} against {leader.pulls:,}"
        said.append(f"It has {known}: there is more to learn from it.")
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
        are, they = ("s are", "they are") if status.under_way != 1 else (" is", "it is")
        said.append(
            f"{status.under_way:,} outcome{are} still awaited; the policy counts with what {they} expected "
            "to be."
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


_METHOD = (
    "Gains are given by all that is known (outcomes, structure, prior, history), by this campaign's outcomes "
    "alone (an interval that holds for any policy and however often one looks), and by holdout where there "
    "is one. Reports of earlier versions took them from logged probabilities, and their figures differ."
)


@cache
def environment(*loaders: Any) -> Any:
    """Return Jinja with the templates of a campaign; those of `loaders` go first."""
    try:
        from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise MissingExtraError("writing a page", "plot") from error
    found = Environment(
        loader=ChoiceLoader([*loaders, PackageLoader("elsv.campaign")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.do"],
    )
    functions = {f.__name__: f for f in (colours, decimals, matrix, scale_of, timeline)}
    found.globals.update(functions, version=__version__, methods=METHODS, COLOURS=COLOURS)
    filters = {f.__name__: f for f in (figure, percent, points, short_day, tick, unbroken, weekday)}
    found.filters.update(filters, option=option_of, many=many, minus=with_minus, count="{:,}".format)
    return found


@cache
def style_sheet() -> str:
    """Return the one style sheet of campaigns' pages."""
    return resources.files("elsv.campaign").joinpath("templates", "page.css").read_text(encoding="utf-8")


def report_page(status: Status, chooser: Chooser, tallies: Sequence[Tally]) -> str:
    """Return the report, a page that needs no other file."""
    problem = chooser.problem
    prior = State(problem.prior[:, 0], problem.prior[:, 1])  # history included
    mean, (low, high) = marginals(problem.belief, prior, INTERVAL, np.random.default_rng(0))
    won = [t.past_successes for t in tallies]
    today = dict.fromkeys(arm.option for arm in status.arms if arm.today)
    page = environment().get_template("report.html")
    said = page.render(
        status=status,
        style=style_sheet(),
        before=list(zip(status.arms, won, mean.tolist(), low.tolist(), high.tolist(), strict=True)),
        today=" / ".join(today),
        meaning=meaning(status.policy),
        method=_METHOD,
    )
    return str(said)
