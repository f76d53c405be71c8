"""How a campaign stands, in numbers: what is known of every arm, and amounts and times as people say them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from elsv._base.numbers import many, with_minus
from elsv.campaign.history import Change, Day
from elsv.campaign.settings import zone_of
from elsv.simulation.precision import Precision
from elsv.structure.evidence import Doubt
from elsv.structure.product import option_of

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_LARGE = 10.0  # what one customer earns, from which on two decimals will do
_ROUND = 100.0  # estimates of at least so much are said without cents
_TELLING = 20  # customers of an hour by whom a pace can be told
_WITHOUT_CENTS = {"JPY", "KRW", "VND", "CLP", "ISK", "HUF", "IDR", "¥", "₩"}
BELIEF, OUTCOMES, HOLDOUT = "belief", "outcomes", "holdout"
METHODS = {
    BELIEF: "all that is known",
    OUTCOMES: "this campaign's outcomes alone",
    HOLDOUT: "the held-out customers",
}
"""What a gain is estimated from, in words."""


@dataclass(frozen=True)
class GainSoFar:
    """What the campaign earned more than an alternative, over the outcomes that are in."""

    against: str  # control, best or split
    name: str  # the alternative in words
    gain: float
    low: float  # 95 % interval
    high: float
    alternative: float  # what the alternative is estimated to have earned
    method: str  # belief, outcomes or holdout
    customers: int = 0  # who had the alternative, as far as the method counts them
    arms: str = ""  # the alternative's arms by themselves, for sentences

    @property
    def percent(self) -> float | None:
        """The gain in per cent of the alternative."""
        return 100 * self.gain / self.alternative if self.alternative > 0 else None

    @property
    def told(self) -> bool:
        """Whether the interval tells more from less."""
        return self.low > 0 or self.high < 0

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        order = ("against", "name", "gain", "low", "high", "percent", "alternative", "method", "customers")
        return {key: getattr(self, key) for key in (*order, "arms")}


@dataclass(frozen=True)
class Sources:
    """Where the gain over today's arm comes from, by all that is known."""

    name: str  # the arm that looked best beforehand, or that of each segment
    switching: float  # what always giving that arm would have brought
    learning: float  # what the campaign added to it


@dataclass(frozen=True)
class ArmStatus:
    """One arm."""

    arm: int  # from 0
    name: str
    reward: float
    decided: int
    successes: int
    failures: int  # reported ones
    expired: int  # no outcome in time
    under_way: int
    late: int
    history: int  # outcomes from before the campaign
    conversion: float  # expected, by all that is known
    low: float  # its 95 % interval
    high: float
    worth: float  # expected earnings per customer
    best: float  # probability that no other arm earns more, of those on offer to its segment
    earned: float
    segment: str | None = None
    voided: int = 0  # decisions that nobody saw; not among `decided`
    withdrawn: bool = False  # whether the arm is not on offer now; then it is never called best
    recent: int = 0  # of the last customers
    today: bool = False  # whether others are measured against it

    @property
    def option(self) -> str:
        """Its name without that of its segment."""
        return option_of(self.name, self.segment)


@dataclass(frozen=True)
class SegmentStatus:
    """The customers of one segment."""

    name: str
    share: float  # of the customers to come
    decided: int
    under_way: int
    earned: float
    leader: str  # the arm with the largest expected earnings
    best: float  # probability that no other arm on offer earns more


@dataclass(frozen=True)
class Figures:
    """A campaign at one moment."""

    name: str
    at: str
    phase: str  # not begun, running, paused or over
    unit: str
    policy: str
    assumed: str
    window: str
    floor: float
    holdout: float
    customers: int | None  # planned for; None without an end
    decided: int
    left: int | None
    under_way: int
    earned: float
    arms: tuple[ArmStatus, ...]
    gains: tuple[GainSoFar, ...]  # the first of each rival is the headline
    ahead: float | None  # expected earnings of the customers left, with the arm that earns most by now
    to_learn: float | None  # the most that knowing more could add to that
    doubt: float | None  # 1 / Bayes factor with this prior: for researchers; None if not known
    segments: tuple[SegmentStatus, ...] = ()  # none where all arms are for everyone
    doubts: tuple[Doubt, ...] = ()  # what speaks against what is assumed
    sources: Sources | None = None  # of the gain over today's arm
    expected: float | None = None  # customers that the prior rows of today's arm are worth
    precision: Precision | None = None  # before the start: how precisely the gain will be known
    rested: int = 0  # customers who came while the campaign was paused, beside those of `decided`
    voided: int = 0  # decisions that nobody saw
    created: str | None = None  # times in UTC
    started: str | None = None  # when the first customer came
    ended: str | None = None  # when it was ended, or the last customer planned for came
    changes: tuple[Change, ...] = ()  # in the order of the log
    timezone: str = "UTC"  # whose days are the campaign's
    last: str | None = None  # when the last customer came
    days: tuple[Day, ...] = ()
    resting: str = ""  # what customers get while it is paused
    counting: bool = False  # whether a long log is still being read: days and held-out customers follow
    unsaid: str | None = None  # before the start: that nothing is expected, so that no sum can be told

    @property
    def leader(self) -> ArmStatus:
        """The arm on offer with the largest expected earnings."""
        return max((arm for arm in self.arms if not arm.withdrawn), key=lambda arm: arm.worth)

    def groups(self) -> dict[str, tuple[ArmStatus, ...]]:
        """Return the arms of each segment; all of them under an empty name where there are none."""
        names = [s.name for s in self.segments] or [""]
        return {name: tuple(arm for arm in self.arms if (arm.segment or "") == name) for name in names}

    def options(self) -> tuple[str, ...]:
        """Return the names of the options, each once."""
        return tuple(dict.fromkeys(arm.option for arm in self.arms))

    def first(self, key: Callable[[ArmStatus], Any] = lambda arm: arm.worth) -> dict[str, ArmStatus]:
        """Return the arm on offer to each segment with the largest `key`; default: what it earns."""
        groups = self.groups().items()
        return {name: max((arm for arm in arms if not arm.withdrawn), key=key) for name, arms in groups}

    @property
    def contradicted(self) -> bool:
        """Whether the outcomes speak against what is assumed of the arms."""
        return any(doubt.about == "structure" for doubt in self.doubts)

    @property
    def misfit(self) -> bool:
        """Whether the gain by all that is known lies outside the interval by this campaign's outcomes."""
        return any(doubt.about == "outcomes" for doubt in self.doubts)

    def answers(self) -> list[GainSoFar]:
        """Return the gain over the first rival by each method."""
        return [gain for gain in self.gains if gain.against == self.gains[0].against]

    def answer(self, method: str) -> GainSoFar | None:
        """Return the gain over the first rival by one method."""
        return next((gain for gain in self.answers() if gain.method == method), None)

    @property
    def sure(self) -> bool:
        """Whether the headline tells more from less and this campaign's outcomes, or its holdout, agree."""
        known, seen = self.answer(BELIEF), (self.answer(OUTCOMES), self.answer(HOLDOUT))
        if known is None or self.misfit or not known.told:
            return False
        return any(gain.told and gain.gain * known.gain > 0 for gain in seen if gain is not None)

    @property
    def came(self) -> int:
        """All customers who have come, also while it was paused."""
        return self.decided + self.rested

    def earned_on(self, day: Day) -> float:
        """Return what the successes of a day earned."""
        return float(sum(arm.reward * won for arm, won in zip(self.arms, day.successes, strict=True)))

    @property
    def began(self) -> str | None:
        """When the first customer came, in the campaign's time zone; None: nobody has."""
        return None if self.started is None else self.local(self.started).isoformat(timespec="minutes")

    @property
    def today(self) -> date:
        """The day of this moment, in the campaign's time zone."""
        return self.local(self.at).date()

    @property
    def pace(self) -> float | None:
        """Customers a day: of the last week, or since the first one; None while that means nothing.

        A pace means something after a day, or after an hour in which 20 customers came. Fewer tell it to a
        quarter at best, and less time may be a rush, or somebody who tries the page.
        """
        if self.began is None:
            return None
        now, begin = datetime.fromisoformat(self.at), datetime.fromisoformat(self.began)
        from_ = max(begin.date(), self.today - timedelta(days=7)).isoformat()
        start = max(begin, datetime.fromisoformat(from_).replace(tzinfo=begin.tzinfo))
        came = sum(day.came for day in self.days if day.date >= from_) if self.days else self.decided
        elapsed = (now - (start if self.days else begin)).total_seconds() / 86400
        telling = elapsed >= 1 or (elapsed >= 1 / 24 and came >= _TELLING)
        return came / elapsed if telling and came > 1 else None

    # Amounts and times as people say them.

    def money(self, amount: float, sign: bool = False, near: bool = False, whole: bool = False) -> str:
        """Return an amount in the campaign's unit, rounded as people round it; never -0.

        `near`: the amount is an estimate, and from 100 on has no cents; `whole`: no cents.
        """
        return f"{self.amount(amount, sign, near, whole)}{' ' + self.unit if self.unit else ''}"

    def amount(self, amount: float, sign: bool = False, near: bool = False, whole: bool = False) -> str:
        """Return the same without the unit, for a column whose head has it."""
        large = abs(amount) >= (_ROUND if near else 10_000) or self.unit in _WITHOUT_CENTS
        digits = 0 if large or whole else 2
        if digits:
            digits += max(0, -1 - math.floor(math.log10(max(arm.reward for arm in self.arms))))
        nothing = round(amount, digits) == 0
        return with_minus(f"{0.0 if nothing else amount:{'+' if sign and not nothing else ''},.{digits}f}")

    def near(self, amount: float) -> str:
        """Return an estimate with its sign."""
        return self.money(amount, True, near=True)

    def between(self, gain: GainSoFar) -> str:
        """Return both ends of a gain's interval."""
        whole = max(abs(gain.low), abs(gain.high)) >= _ROUND
        return f"{self.amount(gain.low, True, whole=whole)} to {self.money(gain.high, True, whole=whole)}"

    def worth(self, arm: ArmStatus) -> str:
        """Return what one customer of an arm is expected to earn, with as many decimals for every arm."""
        return f"{arm.worth:,.{2 if max(each.worth for each in self.arms) >= _LARGE else 4}f}"

    @property
    def successes_word(self) -> str:
        """Sales where they earn money, else successes."""
        return "sales" if self.unit else "successes"

    def local(self, moment: str) -> datetime:
        """Return a moment in the campaign's time zone."""
        return datetime.fromisoformat(moment).astimezone(zone_of(self.timezone))

    def said_day(self, moment: str) -> str:
        """Return the day of a moment, or a day, as people say it; with its year if that is not this one."""
        day = date.fromisoformat(moment) if len(moment) <= 10 else self.local(moment).date()
        year = "" if day.year == self.today.year else f" {day.year}"
        return f"{day.day} {MONTHS[day.month - 1]}{year}"

    def said_moment(self, moment: str) -> str:
        """Return a moment as people say it, in the campaign's time zone."""
        return f"{self.said_day(moment)}, {self.local(moment):%H:%M}"

    def in_words(self, customers: int, successes: int, earned: float) -> str:
        """Return customers, sales and money as words; without a unit, sales are called successes."""
        one = "sale" if self.unit else "success"
        sold = f"{successes:,} {one if successes == 1 else self.successes_word}"
        return f"{many(customers)}, {sold}, {self.money(earned)}"

    def came_in_words(self, days: Sequence[Day]) -> str:
        """Return what came on some days."""
        earned = sum(self.earned_on(day) for day in days)
        return self.in_words(sum(day.came for day in days), sum(sum(day.successes) for day in days), earned)
