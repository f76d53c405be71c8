"""How a campaign stands, as one value: numbers, sentences and tables.

`Status` says everything once. The terminal, the report, the service's pages, the digest and JSON render its
`sentences` (four for someone who reads nothing else: how it stands, what it brought, what is offered, what is
wrong), `lately`, its `notes`, its `doubts` and its `tables`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from elsv._base.numbers import many, with_minus
from elsv.campaign.gains import BELIEF, HOLDOUT, OUTCOMES, GainSoFar, Sources
from elsv.campaign.history import Change, Day
from elsv.campaign.settings import zone_of
from elsv.simulation.precision import HEADS, Precision
from elsv.structure.evidence import Doubt
from elsv.structure.product import option_of

T = TypeVar("T")
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
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
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

    @classmethod
    def of(
        cls,
        title: str,
        caption: str,
        things: Sequence[T],
        *columns: tuple[str, str, Callable[[T], str]],
        best: tuple[int, ...] = (),
    ) -> Table:
        """Return a table with a row for each thing; a column has a head, a letter and what makes a cell."""
        heads, letters, cells = zip(*columns, strict=True)
        rows = tuple(tuple(cell(thing) for cell in cells) for thing in things)
        return cls(title, heads, rows, caption, "".join(letters), best)

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

    # What follows from the numbers.

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

    def _first(self, key: Callable[[ArmStatus], Any]) -> dict[str, ArmStatus]:
        """Return the arm on offer to each segment with the largest `key`."""
        offered = {name: [a for a in arms if not a.withdrawn] for name, arms in self.groups().items()}
        return {name: max(arms, key=key) for name, arms in offered.items()}

    def _earn_most(self) -> dict[str, ArmStatus]:
        return self._first(lambda arm: arm.worth)

    def _given(self) -> dict[str, ArmStatus]:
        """Return what most of the last customers got."""
        return self._first(lambda arm: (arm.recent, arm.worth))

    @property
    def contradicted(self) -> bool:
        """Whether the outcomes speak against what is assumed of the arms."""
        return any(doubt.about == "structure" for doubt in self.doubts)

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

    # Amounts and times as people say them.

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

    def _span(self, start: str, end: str) -> str:
        first, last = self.said_day(start), self.said_day(end)
        return f"on {first}" if first == last else f"{first} to {last}"

    def came_in_words(self, days: Sequence[Day]) -> str:
        """Return what came on some days; a success that earns money is a sale."""
        won, one = sum(sum(day.successes) for day in days), "sale" if self.unit else "success"
        money = self.money(sum(self.earned_on(day) for day in days))
        sales = f"{won:,} {one if won == 1 else self.successes_word}"
        return f"{many(sum(day.came for day in days))}, {sales}, {money}"

    # How it stands, in sentences.

    def sentences(self) -> tuple[str, str, str, str]:
        """Return four lines: how it stands; what it brought, and how sure; what is offered; what is wrong."""
        troubles = self.troubles()
        wrong = "Nothing is wrong." if not troubles else " ".join(troubles)
        return self._state(), f"{self._earned()} {self._headline()}".rstrip(), self._offered(), wrong

    def lately(self) -> tuple[str, ...]:
        """Return what came yesterday and today, in words; nothing before the first customer."""
        known = {day.date: day for day in self.days}
        said = []
        for name, ago in (("Yesterday", 1), ("Today so far", 0)):
            when = (self.today - timedelta(days=ago)).isoformat()
            if self.began is not None and when >= self.began[:10] and not self.counting:
                came = self.came_in_words([known[when]]) if when in known else "nobody came"
                said.append(f"{name}: {came}.")
        return tuple(said)

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

    def _state(self) -> str:
        """Return the phase with its days, the customers, and how long it will take."""
        planned = "" if self.customers is None else f" of {self.customers:,}"
        rested = f", and {self.rested:,} while it was paused" if self.rested else ""
        if not self.came:
            rest = "" if self.customers is None else f"; {self.customers:,} are planned"
            return f"{'Paused' if self.phase == 'paused' else 'Not begun'}: no customer has come yet{rest}."
        if self.phase == "over":
            span = f", {self._span(self.began, self.ended)}" if self.began and self.ended else ""
            more = self.decided - (self.customers or 0)
            after = f"; {more:,} more have come since" if self.customers and more > 0 else ""
            many = min(self.decided, self.customers or 0)
            return f"Over: all {many:,} planned customers came{span}{rested}{after}."
        if self.phase == "paused":
            when = next((c.at for c in reversed(self.changes) if "paused" in c.kinds), None)
            since = "" if when is None else f" since {self.said_moment(when)}"
            return f"Paused{since}: {self.decided:,}{planned} customers have come{rested}."
        began = f" since {self.said_day(self.began)}, day {self.day_number}" if self.began else ""
        return f"Running{began}: {self.decided:,}{planned} customers have come{rested}{self._to_go()}."

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
        waited = f"; {many(self.under_way, 'outcome')} awaited" if self.under_way else ""
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
        tops, last = self._given(), sum(arm.recent for arm in self.arms)
        if not last:
            return f"By what is known {told}."
        if not self.segments:
            top = tops[""]
            rest = f"it{told.removeprefix(top.name)}" if top is self.leader else told
            who = f"{top.name}, to {top.recent} of the last {last:,} customers"
            return f"Offered now: {who}; by what is known {rest}."
        chances = (f"{a.option} for {name} (the best with {100 * a.best:.0f} %)" for name, a in tops.items())
        other = [s for s in self.segments if s.leader != tops[s.name].name]
        rest = ", ".join(f"{option_of(s.leader, s.name)} for {s.name}" for s in other)
        more = f"by what is known {rest} earns more" if other else "they earn most by what is known"
        return f"Offered now: {', '.join(chances)}; {more}."

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

    # The same for a page, where a figure stands before its sentence: nothing is said twice.

    def brought(self) -> tuple[str, str]:
        """Return the gain as a figure if it can be told, or else what was earned, and how sure that is."""
        if not self.came:
            return "", self._earned()
        waited = f"{many(self.under_way, 'outcome')} awaited" if self.under_way else ""
        gain = self.answer(BELIEF)
        if gain is None or not gain.told or self.misfit:
            sentence = f"{waited[:1].upper()}{waited[1:]}. {self._headline()}" if waited else self._headline()
            return f"{self.money(self.earned)} earned", sentence
        share = "" if gain.percent is None else with_minus(f" ({gain.percent:+.0f} %)")
        holds = "" if self.sure else ", if what was expected beforehand holds"
        earned = "; ".join(filter(None, (f"{self.money(self.earned)} earned", waited)))
        figure = f"{self.money(gain.gain, True, near=True)} against {gain.name}"
        return figure, f"95 % interval {self.between(gain)}{share}{holds}. {earned}."

    def on_offer(self) -> tuple[str, str]:
        """Return what customers get now, by its names alone, and why."""
        if self.phase == "paused":
            return self.resting, f"To everybody while it is paused; by what is known {self._leaders()}."
        tops, last = self._given(), sum(arm.recent for arm in self.arms)
        if self.phase == "over":
            tops = self._earn_most()
        names, ends = _options(tops), {s.name: s.leader for s in self.segments} or {"": self.leader.name}
        who = "To every further customer; " if self.phase == "over" else ""
        if not self.segments and last and not who:
            who = f"To {tops[''].recent} of the last {last:,} customers; "
        if any(ends[name] != arm.name for name, arm in tops.items()):
            why = f"by what is known {self._leaders()}"
        elif self.segments:
            chances = ", ".join(f"{100 * arm.best:.0f} % for {name}" for name, arm in tops.items())
            why = f"by what is known it earns most; it is the best with a probability of {chances}"
        else:
            why = f"by what is known it{self._leaders().removeprefix(names)}"
        said = f"{who}{why}."
        return names, f"{said[0].upper()}{said[1:]}"

    def needs(self) -> str:
        """Return whether it needs somebody, and what for."""
        if troubles := self.troubles():
            return f"Yes. {troubles[0]}"
        return "No. Nothing is wrong." if self.phase == "running" else f"Nothing is wrong. {self.advice()}"

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

    def advice(self) -> str:
        """Return what to do now, in a sentence or two."""
        if self.doubts:
            return "Look at what is wrong first: while it is, what is said of the gain cannot be relied on."
        tops = self._earn_most()
        best = _options(tops)
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
            whole, switching = (self.money(part, True, near=True) for part in (known.gain, from_.switching))
            learning = self.money(abs(from_.learning), near=True)
            if known.arms == from_.name:
                said.append(
                    f"{from_.name} also looked best beforehand: all of the {whole} came from learning."
                )
            else:
                said.append(
                    f"Switching to {from_.name}, which looked best beforehand, would have brought "
                    f"{switching}; learning {'added' if from_.learning >= 0 else 'cost'} {learning}."
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

    def _rests(self) -> str:
        """Return what the headline rests on."""
        gain = self.answer(BELIEF)
        if gain is None:
            return ""
        today = [arm for arm in self.arms if arm.today]
        asked = today if gain.against == "control" else self._earn_most().values()
        rests = [f"{many(gain.customers)} had {gain.arms}"]
        if before := sum(arm.history for arm in asked):
            rests.append(f"{before:,} outcomes are from before")
        if self.expected is not None:
            rests.append(f"what was expected beforehand counts as {self.expected:,.3g} customers")
        return f"All that is known of it: {'; '.join(rests)}."

    def _alone(self) -> str:
        """Return what this campaign's outcomes say by themselves."""
        if not self.gains:
            return ""
        gain = self.answer(OUTCOMES)
        if gain is None:
            return f"This campaign cannot tell by itself: nobody had {self.gains[0].arms}."
        if self.misfit:
            return ""
        if gain.told:
            return f"By this campaign's outcomes alone the gain is {self.between(gain)}."
        return f"This campaign cannot tell by itself: only {many(gain.customers)} had {gain.arms}."

    # All of it in tables.

    def __str__(self) -> str:
        lines = [f"{self.name}", *self.sentences()[:3], *self.lately()]
        lines += [*self.notes(), *(f"warning: {words}" for words in self.warnings())]
        return "\n".join([*lines, *(f"\n{table}" for table in self.tables())])

    def tables(self) -> tuple[Table, ...]:
        """Return precision or gains, days, segments, arms, outcomes and changes."""
        found = [self._gain_table()] if self.gains else []
        found += [self._precision_table(self.precision)] if self.precision is not None else []
        found += [self._day_table()] if self.days else []
        found += [self._segment_table()] if self.segments else []
        found += [self._arm_table(), self._outcome_table()]
        return (*found, *([self._change_table()] if len(self.changes) > 1 else []))

    def _gain_table(self) -> Table:
        return Table.of(
            "Gain",
            "What the campaign earned more than these would have, over the outcomes that are known.",
            self.gains,
            ("against", "w", lambda gain: gain.name),
            ("by", "w", lambda gain: METHODS[gain.method]),
            ("gain", "r", lambda gain: self.money(gain.gain, True, near=True)),
            ("95 % interval", "r", self.between),
            ("per cent", "r", lambda g: "–" if g.percent is None else with_minus(f"{g.percent:+.1f} %")),
        )

    def _precision_table(self, known: Precision) -> Table:
        words = (
            f"How precisely {known.customers:,} customers will tell the gain over always {known.name}: what "
            "a holdout costs, and the half-widths of the 95 % intervals to expect."
        )
        return Table("Precision", HEADS, tuple(known.cells()), words, "lrrr")

    def _day_table(self) -> Table:
        return Table.of(
            "Days",
            f"Days of {self.timezone}: who came, and what was reported.",
            self.days[-_SHOWN_DAYS:],
            ("day", "l", lambda day: day.date),
            ("customers", "r", lambda day: f"{day.came:,}"),
            ("outcomes", "r", lambda day: f"{day.outcomes:,}"),
            (self.successes_word, "r", lambda day: f"{sum(day.successes):,}"),
            ("earned", "r", lambda day: self.money(self.earned_on(day))),
        )

    def _segment_table(self) -> Table:
        return Table.of(
            "Segments",
            "Segments of customers. Only the arms of a segment are on offer to its customers.",
            self.segments,
            ("segment", "l", lambda s: s.name),
            ("of those to come", "r", lambda s: f"{100 * s.share:.3g} %"),
            ("customers", "r", lambda s: f"{s.decided:,}"),
            ("under way", "r", lambda s: f"{s.under_way:,}"),
            ("earned", "r", lambda s: self.money(s.earned)),
            ("earns most", "l", lambda s: option_of(s.leader, s.name)),
            ("is best", "r", lambda s: f"{100 * s.best:.0f} %"),
        )

    def _arm_table(self) -> Table:
        names: tuple[tuple[str, str, Callable[[ArmStatus], str]], ...] = (("arm", "l", lambda a: a.name),)
        if self.segments:
            names = ("segment", "l", lambda a: a.segment or ""), ("option", "l", lambda a: a.option)
        return Table.of(
            "Arms",
            "Every arm: what it brought, how often it succeeds by all that is known, what one customer is "
            "worth, and the probability that no other arm earns more.",
            self.arms,
            *names,
            ("customers", "r", lambda a: f"{a.decided:,}"),
            (self.successes_word, "r", lambda a: f"{a.successes:,}"),
            ("earned", "r", lambda a: self.money(a.earned)),
            ("conversion", "r", lambda a: f"{100 * a.conversion:.1f} %"),
            ("95 % interval", "r", lambda a: f"{100 * a.low:.1f} – {100 * a.high:.1f} %"),
            ("worth", "r", self.worth),
            ("is best", "r", lambda a: "withdrawn" if a.withdrawn else f"{100 * a.best:.0f} %"),
            best=tuple(arm.arm for arm in self._earn_most().values()),
        )

    def _outcome_table(self) -> Table:
        counts = {"failures": "failures", "expired": "expired", "under way": "under_way", "late": "late"}
        counts |= {"void": "voided", "from before": "history"}
        return Table.of(
            "Outcomes",
            "Other outcomes. Expired: none came in time, which counts as a failure. Void: nobody saw the "
            "decision, which counts as nothing.",
            self.arms,
            ("arm", "l", lambda a: a.name),
            *((head, "r", partial(_count_of, field)) for head, field in counts.items()),
        )

    def _change_table(self) -> Table:
        return Table.of(
            "Changes",
            f"History of changes: when ({self.timezone}), by whom, and what.",
            self.changes,
            ("when", "l", lambda change: f"{self.local(change.at):%Y-%m-%d %H:%M}"),
            ("by", "l", lambda change: change.who or "–"),
            ("what", "w", lambda change: change.what),
        )


def _count_of(field: str, arm: ArmStatus) -> str:
    return f"{getattr(arm, field):,}"


def _options(arms: Mapping[str, ArmStatus]) -> str:
    """Return the options of an arm for each segment; one that they share is said once."""
    options = {arm.option for arm in arms.values()}
    return (
        ", ".join(f"{arm.option} for {name}" for name, arm in arms.items())
        if len(options) > 1
        else options.pop()
    )
