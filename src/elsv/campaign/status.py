"""How a campaign stands, as one value: numbers, sentences and tables.

`Status` says everything once. The terminal, the report, the service's pages, the digest and JSON render its
`sentences` (four for someone who reads nothing else: how it stands, what it brought, what is offered, what is
wrong), `lately`, its `notes`, its `doubts` and its `tables`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np

from elsv._base.numbers import many, with_minus
from elsv.beliefs.abilities import best_in_groups, marginals
from elsv.campaign.changes import Change, Past
from elsv.campaign.choosing import Chooser
from elsv.campaign.days import Calendar, Day
from elsv.campaign.gains import BELIEF, HOLDOUT, OUTCOMES, GainSoFar, Sources, gains_of
from elsv.campaign.measured import Measured, split_doubt
from elsv.campaign.records import Tally, arms_in_words, as_time
from elsv.campaign.settings import Settings, in_words, zone_of
from elsv.live.explain import BEST_TOLERANCE, INTERVAL
from elsv.prior.untried import nothing_said
from elsv.simulation.precision import HEADS, Precision, precision
from elsv.structure.base import has_own_prior
from elsv.structure.evidence import Doubt, doubts, evidence
from elsv.structure.product import option_of

METHODS = {
    BELIEF: "all that is known",
    OUTCOMES: "this campaign's outcomes alone",
    HOLDOUT: "the held-out customers",
}
"""What a gain is estimated from, in words."""

_LARGE = 10.0  # what one customer earns, from which on two decimals will do
_ROUND = 100.0  # estimates of at least so much are said without cents
_TELLING = 20  # customers of an hour by whom a pace can be told
_SILENT = 50  # customers after whom an outcome should have been reported
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_SHOWN_DAYS = 14  # in the terminal
_WITHOUT_CENTS = {"JPY", "KRW", "VND", "CLP", "ISK", "HUF", "IDR", "¥", "₩"}


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

    @property
    def known(self) -> int:
        """Outcomes that count."""
        return self.successes + self.failures + self.expired


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
class Table:
    """Cells as text; the first column names the rows."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str
    align: str  # a letter for each column: l, r, or w for text that may wrap
    best: tuple[int, ...] = ()  # rows that are set off

    def __str__(self) -> str:
        cells = (self.heads, *self.rows)
        wide = [max(len(row[k]) for row in cells) for k in range(len(self.heads))]
        return "\n".join(
            "  ".join(
                cell.rjust(room) if letter == "r" else cell.ljust(room)
                for cell, room, letter in zip(row, wide, self.align, strict=True)
            ).rstrip()
            for row in cells
        )


@dataclass(frozen=True)
class Status:
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

    @property
    def contradicted(self) -> bool:
        """Whether the outcomes speak against what is assumed of the arms."""
        return any(doubt.about == "structure" for doubt in self.doubts)

    def money(self, amount: float, sign: bool = False, near: bool = False, whole: bool = False) -> str:
        """Return an amount in the campaign's unit, rounded as people do with it; never -0.

        `near`: it is an estimate, so that from 100 on its cents mean nothing; `whole`: no cents.
        """
        large = abs(amount) >= (_ROUND if near else 10_000) or self.unit in _WITHOUT_CENTS
        digits = 0 if large or whole else 2
        if digits:
            digits += max(0, -1 - math.floor(math.log10(max(arm.reward for arm in self.arms))))
        nothing = round(amount, digits) == 0
        shown = with_minus(f"{0.0 if nothing else amount:{'+' if sign and not nothing else ''},.{digits}f}")
        return f"{shown}{' ' + self.unit if self.unit else ''}"

    def amount(self, amount: float, sign: bool = False, near: bool = False, whole: bool = False) -> str:
        """Return the same without the unit, for a column whose head has it."""
        shown = self.money(amount, sign, near, whole)
        return shown.removesuffix(f" {self.unit}") if self.unit else shown

    def between(self, gain: GainSoFar) -> str:
        """Return both ends of a gain's interval."""
        whole = max(abs(gain.low), abs(gain.high)) >= _ROUND
        return f"{self.amount(gain.low, True, whole=whole)} to {self.money(gain.high, True, whole=whole)}"

    def worth(self, arm: ArmStatus) -> str:
        """Return what one customer of an arm is expected to earn, with as many decimals for every arm."""
        return f"{arm.worth:,.{2 if max(each.worth for each in self.arms) >= _LARGE else 4}f}"

    def answer(self, method: str) -> GainSoFar | None:
        """Return the gain over the first rival by one method."""
        first = self.gains[0].against if self.gains else ""
        return next((g for g in self.gains if g.against == first and g.method == method), None)

    @property
    def misfit(self) -> bool:
        """Whether the gain by all that is known lies outside the interval by this campaign's outcomes."""
        return any(doubt.about == "outcomes" for doubt in self.doubts)

    @property
    def sure(self) -> bool:
        """Whether the headline tells more from less and this campaign's outcomes, or its holdout, agree."""
        known = None if self.misfit else self.answer(BELIEF)
        seen = [gain for method in (OUTCOMES, HOLDOUT) if (gain := self.answer(method)) is not None]
        agree = any(gain.told and known is not None and gain.gain * known.gain > 0 for gain in seen)
        return known is not None and known.told and agree

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, for people: arms from 1."""
        values = asdict(self)
        values["gains"] = [gain.to_dict() for gain in self.gains]
        for arm in values["arms"]:
            arm["arm"] += 1
            if not self.segments:
                del arm["segment"]
        if not self.segments:
            del values["segments"]
        values["precision"] = None if self.precision is None else self.precision.to_dict()
        values["days"] = [asdict(day) | {"earned": self.earned_on(day)} for day in self.days]
        said = {"summary": list(self.sentences()), "lately": list(self.lately()), "notes": list(self.notes())}
        return {**values, "contradicted": self.contradicted, "sure": self.sure, **said}

    def sentences(self) -> tuple[str, str, str, str]:
        """Return four lines: how it stands; what it brought, and how sure; what is offered; what is wrong."""
        troubles = self.troubles()
        wrong = "Nothing is wrong." if not troubles else " ".join(troubles)
        return self._state(), f"{self._earned()} {self._headline()}".rstrip(), self._offered(), wrong

    def local(self, moment: str) -> datetime:
        """Return a moment in the campaign's time zone."""
        return datetime.fromisoformat(moment).astimezone(zone_of(self.timezone))

    @property
    def today(self) -> date:
        """The day of this moment, in the campaign's time zone."""
        return self.local(self.at).date()

    @property
    def began(self) -> str | None:
        """When the first customer came, in the campaign's time zone; None: nobody has."""
        return None if self.started is None else self.local(self.started).isoformat(timespec="minutes")

    @property
    def came(self) -> int:
        """All customers who have come, also while it was paused."""
        return self.decided + self.rested

    @property
    def day_number(self) -> int | None:
        """How many days it has run, from 1; None: nobody has come."""
        return None if self.began is None else (self.today - date.fromisoformat(self.began[:10])).days + 1

    @property
    def pace(self) -> float | None:
        """Customers a day: of the last week, or since the first one; None while that means nothing.

        It does after a day, or after an hour in which 20 customers came: fewer tell it to a quarter at best,
        and less time may be a rush, or somebody who tries the page.
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

    def earned_on(self, day: Day) -> float:
        """Return what the successes of a day earned."""
        return float(sum(arm.reward * won for arm, won in zip(self.arms, day.successes, strict=True)))

    def count(self, number: int, word: str) -> str:
        """Return a number of things; a success that earns money is a sale."""
        word = "sale" if word == "success" and self.unit else word
        several = "es" if word.endswith("s") else "s"
        return f"{number:,} {word}{'' if number == 1 else several}"

    def said_day(self, moment: str) -> str:
        """Return the day of a moment, or a day, as people say it; with its year if that is not this one."""
        day = date.fromisoformat(moment) if len(moment) <= 10 else self.local(moment).date()
        year = "" if day.year == self.today.year else f" {day.year}"
        return f"{day.day} {_MONTHS[day.month - 1]}{year}"

    def lately(self) -> tuple[str, ...]:
        """Return what came yesterday and today, in words; nothing before the first customer."""
        known = {day.date: day for day in self.days}
        said = []
        for name, ago in (("Yesterday", 1), ("Today so far", 0)):
            when = (self.today - timedelta(days=ago)).isoformat()
            if self.began is not None and when >= self.began[:10] and not self.counting:
                day = known.get(when)
                said.append(f"{name}: {'nobody came' if day is None else self.day_in_words(day)}.")
        return tuple(said)

    def day_in_words(self, day: Day) -> str:
        """Return what came on a day."""
        won = self.count(sum(day.successes), "success")
        return f"{self.count(day.came, 'customer')}, {won}, {self.money(self.earned_on(day))}"

    def troubles(self) -> tuple[str, ...]:
        """Return what is wrong, in a sentence each."""
        said = [doubt.words.partition(". ")[0].rstrip(".") + "." for doubt in self.doubts]
        if self.phase == "running" and self.last is not None:
            quiet = datetime.fromisoformat(self.at) - datetime.fromisoformat(self.last)
            if quiet > timedelta(days=max(1.0, 10 / (self.pace or 10))):
                said.append(f"No customer has come since {self.said_moment(self.last)}.")
        reported = sum(arm.successes + arm.failures for arm in self.arms)
        if self.decided >= _SILENT and not reported:
            said.append(f"No outcome of {self.decided:,} customers was reported: does the shop send them?")
        return tuple(said)

    def warnings(self) -> tuple[str, ...]:
        """Return what is wrong, with all that is to be said of it."""
        return (*(doubt.words for doubt in self.doubts), *self.troubles()[len(self.doubts) :])

    def said_moment(self, moment: str) -> str:
        """Return a moment as people say it, in the campaign's time zone."""
        return f"{self.said_day(moment)}, {self.local(moment):%H:%M}"

    def _state(self) -> str:
        """Return the phase with its days, the customers, and how long it will take."""
        planned = "" if self.customers is None else f" of {self.customers:,}"
        rested = f", and {self.rested:,} while it was paused" if self.rested else ""
        if not self.came:
            rest = "" if self.customers is None else f"; {self.customers:,} are planned"
            return f"{'Paused' if self.phase == 'paused' else 'Not begun'}: no customer has come yet{rest}."
        began = "" if self.began is None else f" since {self.said_day(self.began)}, day {self.day_number}"
        if self.phase == "over":
            span = (
                "" if self.began is None or self.ended is None else f", {self._span(self.began, self.ended)}"
            )
            more = self.decided - (self.customers or 0)
            after = f"; {more:,} more have come since" if self.customers and more > 0 else ""
            many = min(self.decided, self.customers or 0)
            return f"Over: all {many:,} planned customers came{span}{rested}{after}."
        if self.phase == "paused":
            when = next((c.at for c in reversed(self.changes) if "paused" in c.what.split("; ")), None)
            since = "" if when is None else f" since {self.said_moment(when)}"
            return f"Paused{since}: {self.decided:,}{planned} customers have come{rested}."
        return f"Running{began}: {self.decided:,}{planned} customers have come{rested}{self._to_go()}."

    def _span(self, start: str, end: str) -> str:
        first, last = self.said_day(start), self.said_day(end)
        return f"on {first}" if first == last else f"{first} to {last}"

    def _to_go(self) -> str:
        if not self.left or self.pace is None:
            return ""
        rest = self.left / self.pace
        hours = max(1, round(24 * rest))
        count = f"{round(rest):,} days" if rest >= 2 else f"{hours} hour{'' if hours == 1 else 's'}"
        return f"; about {count} left at this pace"

    def _earned(self) -> str:
        if not self.came:
            return "Nothing is earned yet."
        waited = f"; {self.count(self.under_way, 'outcome')} awaited" if self.under_way else ""
        return f"It {'brought' if self.phase == 'over' else 'has earned'} {self.money(self.earned)}{waited}."

    def _headline(self) -> str:
        """Return the gain by all that is known, and how sure that is."""
        gain = self.answer(BELIEF)
        if gain is None:
            return "No outcome is known, so there is nothing to compare." if self.came else ""
        rival = f"{gain.name} would have earned"
        if self.misfit and (alone := self.answer(OUTCOMES)) is not None:
            return (
                "What was expected beforehand does not fit the outcomes: by these alone the gain over "
                f"{gain.name} is {self.between(alone)}; by all that is known it would be "
                f"{self.money(gain.gain, True, near=True)}."
            )
        if gain.told:
            word = "more" if gain.gain > 0 else "less"
            share = "" if gain.percent is None else f" ({abs(gain.percent):.0f} %)"
            begin = "That is" if self.sure else "If what was expected beforehand holds, that is"
            return (
                f"{begin} {self.money(abs(gain.gain), near=True)}{share} {word} than {rival}, "
                f"95 % interval {self.between(gain)}."
            )
        near = self.money(gain.gain, True, near=True)
        return (
            f"Whether that is more than {rival} cannot be told: about {near}, 95 % interval "
            f"{self.between(gain)}. {self._remedy()}"
        )

    def _remedy(self) -> str:
        """Return what would make the gain tellable, or would have."""
        measures = self.answer(HOLDOUT) is None and self.gains[0].against == "control"
        if self.phase == "over":
            return (
                f"{'A holdout would have measured' if measures else 'More customers would have narrowed'} it."
            )
        return f"{'A holdout would measure' if measures else 'More customers would narrow'} it."

    def _offered(self) -> str:
        """Return what customers get now, and why."""
        told = self._leaders()
        if self.phase == "paused":
            return f"Everybody gets {self.resting} while it is paused; by what is known {told}."
        if self.phase == "over":
            return f"The planned customers have come: every further one gets what earns most, and {told}."
        tops = {name: max(arms, key=lambda arm: arm.recent) for name, arms in self._on_offer().items()}
        last = sum(arm.recent for arm in self.arms)
        if not last:
            return f"By what is known {told}."
        if not self.segments:
            top = tops[""]
            rest = f"it{told.removeprefix(top.name)}" if top is self.leader else told
            who = f"{top.name}, to {top.recent} of the last {last:,} customers"
            return f"Offered now: {who}; by what is known {rest}."
        each = ", ".join(
            f"{top.option} for {name} (the best with {100 * top.best:.0f} %)" for name, top in tops.items()
        )
        other = [s for s in self.segments if s.leader != tops[s.name].name]
        rest = ", ".join(f"{option_of(s.leader, s.name)} for {s.name}" for s in other)
        more = f"by what is known {rest} earns more" if other else "they earn most by what is known"
        return f"Offered now: {each}; {more}."

    def _leaders(self) -> str:
        """Return which arm earns most, for each segment if there are some, and which is likeliest best."""
        if self.segments:
            whose = {arm.name: arm.option for arm in self.arms}
            each = (f"{whose[s.leader]} for {s.name} ({100 * s.best:.0f} %)" for s in self.segments)
            return f"these earn most, with the probability to be best: {', '.join(each)}"
        leader, likeliest = self.leader, max(self.arms, key=lambda arm: arm.best)
        said = f"{leader.name} earns most (it is the best with a probability of {100 * leader.best:.0f} %)"
        if likeliest.best > leader.best + 0.005:
            said += f", though {likeliest.name} is more often the best ({100 * likeliest.best:.0f} %)"
        return said

    def offered_names(self) -> str:
        """Return what customers get now, by its names alone."""
        if self.phase == "paused":
            return self.resting
        over = self.phase == "over"
        tops = {
            name: max(arms, key=lambda arm: (0 if over else arm.recent, arm.worth))
            for name, arms in self._on_offer().items()
        }
        if len({arm.option for arm in tops.values()}) == 1:
            return next(iter(tops.values())).option
        return ", ".join(f"{arm.option} for {name}" for name, arm in tops.items())

    def brought_figure(self) -> str:
        """Return what it brought, as a figure: the gain if it can be told, or else what was earned."""
        gain = self.answer(BELIEF)
        if gain is None or not gain.told or self.misfit:
            return self.money(self.earned) if self.came else ""
        return f"{self.money(gain.gain, True, near=True)} against {gain.name}"

    def money_line(self) -> str:
        """Return the money in one line: what was earned, and the gain with its interval."""
        if not self.came:
            return "Nothing is earned yet."
        gain = self.answer(BELIEF)
        if gain is None:
            return f"{self.money(self.earned)} earned."
        near = self.money(gain.gain, True, near=True)
        if self.misfit:
            return f"{self.money(self.earned)} earned; the gain cannot be told while the outcomes do not fit."
        sure = "" if gain.told else ", which cannot be told yet" if self.phase != "over" else ", not told"
        return f"{self.money(self.earned)} earned; {near} against {gain.name} ({self.between(gain)}){sure}."

    def groups(self) -> dict[str, tuple[ArmStatus, ...]]:
        """Return the arms of each segment; all of them under an empty name where there are none."""
        names = [s.name for s in self.segments] or [""]
        return {name: tuple(arm for arm in self.arms if (arm.segment or "") == name) for name in names}

    def _on_offer(self) -> dict[str, tuple[ArmStatus, ...]]:
        """Return the same without withdrawn arms."""
        return {name: tuple(a for a in arms if not a.withdrawn) for name, arms in self.groups().items()}

    def options(self) -> tuple[str, ...]:
        """Return the names of the options, each once."""
        return tuple(dict.fromkeys(arm.option for arm in self.arms))

    def advice(self) -> str:
        """Return what to do now, in a sentence or two."""
        if self.doubts:
            return "Look at what is wrong first: while it is, what is said of the gain cannot be relied on."
        tops = {name: max(arms, key=lambda arm: arm.worth) for name, arms in self._on_offer().items()}
        same = len({arm.option for arm in tops.values()}) == 1
        told = ", ".join(f"{arm.option} for {name}" for name, arm in tops.items())
        best = next(iter(tops.values())).option if same else told
        if self.phase == "not begun":
            return f"Send customers. Beforehand {best} is expected to earn most."
        if self.phase == "running":
            return (
                f"Let it run{self._to_go().replace('; ', ': ')}. Nothing needs to be decided before its end."
            )
        if self.phase == "paused":
            return f"Resume it to go on learning, or end it: then everybody gets {best}."
        gain = self.answer(BELIEF)
        keep = all(arm.today for arm in tops.values())
        begin = f"Stay with {best}" if keep else f"Offer {best} from now on: it earns most by what is known"
        if gain is None or (not self.sure and not keep):
            held = "a larger holdout" if self.holdout else "a holdout"
            return f"{begin}. To measure what it brings by itself, extend the campaign with {held}."
        return f"{begin}."

    def _rests(self) -> str:
        """Return what the headline rests on."""
        gain = self.answer(BELIEF)
        if gain is None:
            return ""
        arm = gain.name.removeprefix("always ").partition(", which")[0]
        leaders = self._earn_most()
        asked = [
            a for i, a in enumerate(self.arms) if (a.today if gain.against == "control" else i in leaders)
        ]
        rests = [f"{self.count(gain.customers, 'customer')} had {arm}"]
        if before := sum(one.history for one in asked):
            rests.append(f"{before:,} outcomes are from before")
        if self.expected is not None:
            rests.append(f"what was expected beforehand counts as {self.expected:,.3g} customers")
        return f"All that is known of it: {'; '.join(rests)}."

    def _alone(self) -> str:
        """Return what this campaign's outcomes say by themselves."""
        if not self.gains:
            return ""
        gain, arm = self.answer(OUTCOMES), self.gains[0].name.removeprefix("always ").partition(", which")[0]
        if gain is None:
            return f"This campaign cannot tell by itself: nobody had {arm}."
        if self.misfit:
            return ""
        if gain.told:
            return f"By this campaign's outcomes alone the gain is {self.between(gain)}."
        return f"This campaign cannot tell by itself: only {many(gain.customers)} had {arm}."

    def notes(self) -> tuple[str, ...]:
        """Return what else there is to say: what the gain rests on, where it comes from, what is ahead."""
        said = [] if self.precision is None else [self.precision.advice]
        said += filter(None, (self._rests(), self._alone()))
        if (gain := self.answer(HOLDOUT)) is not None:
            said.append(
                f"By the {many(gain.customers, 'held-out customer')} the gain is "
                f"{self.money(gain.gain, True, near=True)}, 95 % interval {self.between(gain)}; that holds "
                "even if conversions change with time."
            )
        known, from_ = self.answer(BELIEF), self.sources
        if known is not None and from_ is not None and not self.misfit:
            whole, switching, learning = (
                self.money(part, True, near=True) for part in (known.gain, from_.switching, from_.learning)
            )
            if known.name == f"always {from_.name}":
                said.append(
                    f"{from_.name} also looked best beforehand: all of the {whole} came from learning."
                )
            else:
                said.append(
                    f"Switching to {from_.name}, which looked best beforehand, would have brought "
                    f"{switching}; learning added {learning}."
                )
        if self.unsaid is not None:
            said.append(self.unsaid)
        elif self.left is None or self.ahead is None:
            said.append("The campaign has no last customer: later ones count less and less.")
        elif not self.left:
            said.append("No planned customers are left. Extend the campaign to go on learning.")
        else:
            said.append(
                f"{self.left:,} customers are left. With the arm that earns most by now they bring about "
                f"{self.money(self.ahead, near=True)}; knowing more could add at most "
                f"{self.money(self.to_learn or 0, near=True)}."
            )
        return tuple(said)

    def tables(self) -> tuple[Table, ...]:
        """Return precision or gains, days, segments, arms, outcomes and changes."""
        found = [self._gain_table()] if self.gains else []
        found += [self._precision_table(self.precision)] if self.precision is not None else []
        found += [self._day_table()] if self.days else []
        found += [self._segment_table()] if self.segments else []
        found += [self._arm_table(), self._outcome_table()]
        return (*found, *([self._change_table()] if len(self.changes) > 1 else []))

    def _day_table(self) -> Table:
        shown = self.days[-_SHOWN_DAYS:]
        rows = tuple(
            (
                day.date,
                f"{day.came:,}",
                f"{day.outcomes:,}",
                f"{sum(day.successes):,}",
                self.money(self.earned_on(day)),
            )
            for day in shown
        )
        heads = ("day", "customers", "outcomes", self.successes_word, "earned")
        words = f"Days of {self.timezone}: who came, and what was reported."
        return Table("Days", heads, rows, words, "lrrrr")

    @property
    def successes_word(self) -> str:
        """Sales where they earn money, else successes."""
        return "sales" if self.unit else "successes"

    def _gain_table(self) -> Table:
        rows = tuple(
            (
                gain.name,
                METHODS[gain.method],
                self.money(gain.gain, True, near=True),
                self.between(gain),
                "–" if gain.percent is None else with_minus(f"{gain.percent:+.1f} %"),
            )
            for gain in self.gains
        )
        heads = ("against", "by", "gain", "95 % interval", "per cent")
        words = "What the campaign earned more than these would have, over the outcomes that are known."
        return Table("Gain", heads, rows, words, "wwrrr")

    def _precision_table(self, known: Precision) -> Table:
        words = (
            f"How precisely {known.customers:,} customers will tell the gain over always {known.name}: what "
            "a holdout costs, and the half-widths of the 95 % intervals to expect."
        )
        return Table("Precision", HEADS, tuple(known.cells()), words, "lrrr")

    def _segment_table(self) -> Table:
        rows = tuple(
            (
                s.name,
                f"{100 * s.share:.3g} %",
                f"{s.decided:,}",
                f"{s.under_way:,}",
                self.money(s.earned),
                option_of(s.leader, s.name),
                f"{100 * s.best:.0f} %",
            )
            for s in self.segments
        )
        heads = ("segment", "of those to come", "customers", "under way", "earned", "earns most", "is best")
        words = "Segments of customers. Only the arms of a segment are on offer to its customers."
        return Table("Segments", heads, rows, words, "lrrrrlr")

    def _arm_table(self) -> Table:
        rows = tuple(
            (
                *((a.segment or "", a.option) if self.segments else (a.name,)),
                f"{a.decided:,}",
                f"{a.successes:,}",
                self.money(a.earned),
                f"{100 * a.conversion:.1f} %",
                f"{100 * a.low:.1f} – {100 * a.high:.1f} %",
                self.worth(a),
                "withdrawn" if a.withdrawn else f"{100 * a.best:.0f} %",
            )
            for a in self.arms
        )
        heads = (
            "customers",
            self.successes_word,
            "earned",
            "conversion",
            "95 % interval",
            "worth",
            "is best",
        )
        words = (
            "Every arm: what it brought, how often it succeeds by all that is known, what one customer is "
            "worth, and the probability that no other arm earns more."
        )
        first = ("segment", "option") if self.segments else ("arm",)
        align = "l" * len(first) + "r" * len(heads)
        return Table("Arms", (*first, *heads), rows, words, align, self._earn_most())

    def _outcome_table(self) -> Table:
        rows = tuple(
            (a.name, *(f"{n:,}" for n in (a.failures, a.expired, a.under_way, a.late, a.voided, a.history)))
            for a in self.arms
        )
        heads = ("arm", "failures", "expired", "under way", "late", "void", "from before")
        words = (
            "Other outcomes. Expired: none came in time, which counts as a failure. Void: nobody saw the "
            "decision, which counts as nothing."
        )
        return Table("Outcomes", heads, rows, words, "lrrrrrr")

    def _change_table(self) -> Table:
        rows = tuple((f"{self.local(c.at):%Y-%m-%d %H:%M}", c.who or "–", c.what) for c in self.changes)
        words = f"History of changes: when ({self.timezone}), by whom, and what."
        return Table("Changes", ("when", "by", "what"), rows, words, "llw")

    def _earn_most(self) -> tuple[int, ...]:
        """Return the arm that earns most, of each segment if there are some."""
        found: dict[str | None, int] = {}
        for i, arm in enumerate(self.arms):
            better = arm.segment not in found or arm.worth > self.arms[found[arm.segment]].worth
            if better and not arm.withdrawn:
                found[arm.segment] = i
        return tuple(found.values())

    def __str__(self) -> str:
        lines = [f"{self.name}", *self.sentences()[:3], *self.lately()]
        lines += [*self.notes(), *(f"warning: {words}" for words in self.warnings())]
        return "\n".join([*lines, *(f"\n{table}" for table in self.tables())])


def status_of(
    name: str,
    chooser: Chooser,
    tallies: Sequence[Tally],
    decided: int,
    now: float,
    measured: Measured | None = None,
    past: Past | None = None,
    calendar: Calendar | None = None,
) -> Status:
    """Return how a campaign with these counts stands; the last three are what else its log says.

    `decided` are the customers of those planned for who have come.
    """
    log, before = Measured() if measured is None else measured, Past() if past is None else past
    times = calendar or Calendar()
    problem, settings, state = chooser.problem, chooser.settings, chooser.state(tallies)
    segments, gone = problem.segments, set(settings.withdrawn)
    groups = [tuple(arm for arm in group if arm not in gone) for group in segments.groups]  # on offer
    mean, (low, high) = marginals(problem.belief, state, INTERVAL, np.random.default_rng(0))
    chance, largest = best_in_groups(problem.belief, state, problem.rewards, groups, BEST_TOLERANCE)
    shares = np.array(segments.shares)
    if segments.shares is None:
        planned = chooser.planned(tallies, decided + 1, np.random.default_rng(0))
        shares = chooser.asked.segments.chances_in(planned, chooser.asked)
    worth = problem.rewards * mean
    control = _control(settings)
    zone = zone_of(settings.timezone)
    leaders = [group[int(worth[list(group)].argmax())] for group in groups]
    ahead, known = float(shares @ worth[leaders]), float(shares @ largest)
    arms = tuple(
        ArmStatus(
            arm=i,
            name=problem.names[i],
            reward=float(problem.rewards[i]),
            decided=t.had,
            successes=t.successes,
            failures=t.failures,
            expired=t.expired,
            under_way=t.open,
            late=t.late,
            history=_past(t),
            conversion=float(mean[i]),
            low=float(low[i]),
            high=float(high[i]),
            worth=float(worth[i]),
            best=0.0 if i in gone else float(chance[i]),
            earned=float(problem.rewards[i] * t.successes),
            segment=segments.name_of(i),
            voided=t.voided,
            withdrawn=i in gone,
            recent=times.recent[i] if times.recent else 0,
            today=control is not None and i in control,
        )
        for i, t in enumerate(tallies)
    )
    left = None if settings.horizon is None else max(0, settings.horizon - decided) * (not settings.ended)
    resting = settings.resting_arm(segments)
    gains, sources = gains_of(chooser, tallies, leaders, control, log.held)
    found = evidence(problem, state) if any(t.seen for t in tallies) else None
    against = doubts(problem, state, found, log.halves) + split_doubt(log.split, problem.names)
    unsaid = None if decided or any(map(_past, tallies)) else nothing_said(problem)
    return Status(
        name=name,
        at=as_time(now).isoformat(timespec="seconds"),
        phase=phase_of(settings.paused, decided, left),
        unit=settings.unit,
        policy=settings.policy or "a policy of your own",
        assumed=problem.structure.describe(),
        window=in_words(settings.window),
        floor=settings.floor,
        holdout=settings.holdout,
        customers=settings.horizon,
        decided=decided,
        left=left,
        under_way=sum(t.open for t in tallies),
        earned=sum(arm.earned for arm in arms),
        arms=arms,
        gains=gains,
        ahead=None if left is None else float(left * ahead),
        to_learn=None if left is None else float(max(0.0, left * (known - ahead))),
        doubt=None if found is None or found.factor is None else 1 / found.factor,
        segments=tuple(
            SegmentStatus(
                name,
                float(shares[g]),
                decided=sum(tallies[i].had for i in segments.groups[g]),
                under_way=sum(tallies[i].open for i in segments.groups[g]),
                earned=sum(arms[i].earned for i in segments.groups[g]),
                leader=problem.names[leaders[g]],
                best=float(chance[leaders[g]]),
            )
            for g, name in enumerate(segments.named)
        ),
        doubts=(*against, *_disagreement(gains, settings.unit)),
        sources=sources,
        expected=_expected(chooser, tallies, leaders if control is None else control),
        precision=None
        if decided or unsaid or control is None or settings.horizon is None
        else precision(problem, settings.horizon, control, settings.unit),
        rested=sum(t.rested for t in tallies),
        voided=sum(t.voided for t in tallies),
        created=before.created,
        started=before.started,
        ended=before.ended if left == 0 else None,
        changes=before.changes,
        timezone=zone.key,
        last=None if times.last is None else as_time(times.last).isoformat(timespec="seconds"),
        days=times.days,
        resting=arms_in_words(problem, (resting,) if isinstance(resting, int) else resting),
        counting=measured is None and calendar is None and sum(t.decided for t in tallies) > 0,
        unsaid=unsaid,
    )


def _control(settings: Settings) -> Sequence[int] | None:
    """Return today's arm of each segment."""
    return (settings.control,) if isinstance(settings.control, int) else settings.control


def _expected(chooser: Chooser, tallies: Sequence[Tally], arms: Sequence[int]) -> float | None:
    """Return how many customers the prior rows of some arms are worth; None where rows say nothing."""
    if has_own_prior(chooser.problem.structure):
        return None
    rows = chooser.problem.prior[list(arms)].sum()
    return float(rows - sum(_past(tallies[i]) for i in arms))


def _past(tally: Tally) -> int:
    """Return the outcomes of an arm from before the campaign."""
    return tally.past_successes + tally.past_failures


def _disagreement(gains: Sequence[GainSoFar], unit: str) -> Iterator[Doubt]:
    """Yield that the headline lies outside the interval by this campaign's outcomes alone."""
    first = [gain for gain in gains if gain.against == gains[0].against]
    known, seen = first[:1], [gain for gain in first if gain.method == OUTCOMES]
    for gain, alone in zip(known, seen, strict=False):
        if not alone.low <= gain.gain <= alone.high:
            words = (
                f"What was assumed beforehand does not fit the outcomes: against {gain.name} the gain is "
                f"{gain.gain:+,.2f} by all that is known, and {alone.low:+,.2f} to {alone.high:+,.2f} {unit} "
                "by this campaign's outcomes alone. Trust the outcomes; look at the prior rows, the history "
                "and the structure, or measure with a holdout."
            )
            yield Doubt("outcomes", with_minus(words).replace("  ", " "))


def phase_of(paused: bool, decided: int, left: int | None) -> str:
    """Return what a campaign is doing, in a word."""
    if paused:
        return "paused"
    if left == 0:
        return "over"
    return "running" if decided else "not begun"
