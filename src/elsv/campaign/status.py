"""How a campaign stands, as one value: numbers, sentences and tables.

`Status` says everything once. The terminal, the report file, the service's page and JSON render its
`sentences` (three lines for someone who reads nothing else), its `notes`, its `doubts` and its `tables`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from elsv._base.numbers import many, with_minus
from elsv.beliefs.abilities import best_in_groups, marginals
from elsv.campaign.changes import Change, Past
from elsv.campaign.choosing import Chooser
from elsv.campaign.gains import BELIEF, HOLDOUT, OUTCOMES, GainSoFar, Sources, gains_of
from elsv.campaign.measured import Measured, split_doubt
from elsv.campaign.records import Tally, as_time
from elsv.campaign.settings import Settings, in_words
from elsv.live.explain import BEST_TOLERANCE, INTERVAL
from elsv.prior.untried import nothing_said
from elsv.simulation.precision import HEADS, Precision, precision
from elsv.structure.base import has_own_prior
from elsv.structure.evidence import Doubt, doubts, evidence

METHODS = {
    BELIEF: "all that is known",
    OUTCOMES: "this campaign's outcomes alone",
    HOLDOUT: "the held-out customers",
}
"""What a gain is estimated from, in words."""

_LARGE = 10.0  # what one customer earns, from which on two decimals will do
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
    unsaid: str | None = None  # before the start: that nothing is expected, so that no sum can be told
    rested: int = 0  # customers who came while the campaign was paused, beside those of `decided`
    voided: int = 0  # decisions that nobody saw
    created: str | None = None  # times in UTC
    started: str | None = None  # when the first customer came
    ended: str | None = None  # when it was ended, or the last customer planned for came
    changes: tuple[Change, ...] = ()  # in the order of the log

    @property
    def leader(self) -> ArmStatus:
        """The arm on offer with the largest expected earnings."""
        return max((arm for arm in self.arms if not arm.withdrawn), key=lambda arm: arm.worth)

    @property
    def contradicted(self) -> bool:
        """Whether the outcomes speak against what is assumed of the arms."""
        return any(doubt.about == "structure" for doubt in self.doubts)

    def money(self, amount: float, sign: bool = False) -> str:
        """Return an amount in the campaign's unit, rounded as people do with it; never -0."""
        digits = 0 if abs(amount) >= 10_000 or self.unit in _WITHOUT_CENTS else 2
        if digits:
            digits += max(0, -1 - math.floor(math.log10(max(arm.reward for arm in self.arms))))
        nothing = round(amount, digits) == 0
        shown = with_minus(f"{0.0 if nothing else amount:{'+' if sign and not nothing else ''},.{digits}f}")
        return f"{shown}{' ' + self.unit if self.unit else ''}"

    def between(self, gain: GainSoFar) -> str:
        """Return both ends of a gain's interval."""
        low, high = self.money(gain.low, True), self.money(gain.high, True)
        return f"{low.removesuffix(' ' + self.unit) if self.unit else low} to {high}"

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
        said = {"summary": list(self.sentences()), "notes": list(self.notes())}
        return {**values, "contradicted": self.contradicted, "sure": self.sure, **said}

    def sentences(self) -> tuple[str, str, str]:
        """Return three lines: what was earned; what that is more, how sure and why; what is offered."""
        over = self.phase == "over"
        waited = f"; {self.under_way:,} outcomes are still awaited" if self.under_way else ""
        more = f" and {self.rested:,} who came while it was paused" if self.rested else ""
        planned = f" of {self.customers:,}" if self.left else ""
        if not self.decided and not self.rested:
            first = "No customer has come yet."
        elif over:
            who = f"{many(self.decided)}{more}"
            first = f"The campaign brought {self.money(self.earned)} from {who}{waited}."
        else:
            who = f"{self.decided:,}{planned} customers{more}"
            first = f"{who} have earned {self.money(self.earned)} so far{waited}."
        told = self._leaders()
        if over:
            third = f"The planned customers have come: every further one gets what earns most, and {told}."
        elif self.phase == "paused":
            third = f"The campaign is paused; by what is known {told}."
        else:
            rest = "" if self.left is None else f"; {self.left:,} customers are left"
            third = f"By what is known {told}{rest}."
        return first, f"{self._headline()} {self._alone()}".rstrip(), third

    def _leaders(self) -> str:
        """Return which arm earns most, for each segment if there are some, and which is likeliest best."""
        if self.segments:
            each = (f"{s.leader} for {s.name} ({100 * s.best:.0f} %)" for s in self.segments)
            return f"these earn most, with the probability to be best: {', '.join(each)}"
        leader, likeliest = self.leader, max(self.arms, key=lambda arm: arm.best)
        said = f"{leader.name} earns most (it is the best with a probability of {100 * leader.best:.0f} %)"
        if likeliest.best > leader.best + 0.005:
            said += f", though {likeliest.name} is more often the best ({100 * likeliest.best:.0f} %)"
        return said

    def _headline(self) -> str:
        """Return the gain by all that is known, and what that rests on."""
        gain = self.answer(BELIEF)
        if gain is None:
            return "No outcome is known yet, so there is nothing to compare."
        arm = gain.name.removeprefix("always ")
        rests = [f"{gain.customers:,} of its customers had {arm}"]
        before = sum(each.history for each in self.arms if each.name in arm.split(" / "))
        if before:
            rests.append(f"{before:,} outcomes are from before")
        if self.expected is not None:
            rests.append(f"what was expected beforehand counts as {self.expected:,.3g} customers")
        if self.misfit and (alone := self.answer(OUTCOMES)) is not None:
            return (
                "What was expected beforehand does not fit the outcomes: by these alone the gain over "
                f"{gain.name} is {self.between(alone)}; by all that is known it would be "
                f"{self.money(gain.gain, True)} ({'; '.join(rests)})."
            )
        known = f"by all that is known ({'; '.join(rests)})"
        if gain.told:
            word = "more" if gain.gain > 0 else "less"
            share = "" if gain.percent is None else f" ({abs(gain.percent):.0f} %)"
            begin = "That is" if self.sure else "If what was expected beforehand holds, that is"
            return (
                f"{begin} {self.money(abs(gain.gain))}{share} {word} than {gain.name} would have earned, "
                f"95 % interval {self.between(gain)}, {known}."
            )
        return (
            f"Whether that is more than {gain.name} would have earned cannot be told: {known} the gain is "
            f"{self.money(gain.gain, True)}, 95 % interval {self.between(gain)}. {self._remedy()}"
        )

    def _remedy(self) -> str:
        """Return what would make the gain tellable, or would have."""
        measures = self.answer(HOLDOUT) is None and self.gains[0].against == "control"
        if self.phase == "over":
            return (
                f"{'A holdout would have measured' if measures else 'More customers would have narrowed'} it."
            )
        return f"{'A holdout would measure' if measures else 'More customers would narrow'} it."

    def _alone(self) -> str:
        """Return what this campaign's outcomes say by themselves."""
        if not self.gains:
            return ""
        gain, arm = self.answer(OUTCOMES), self.gains[0].name.removeprefix("always ")
        if gain is None:
            return f"This campaign cannot tell by itself: nobody had {arm}."
        if self.misfit:
            return ""
        if gain.told:
            return f"By this campaign's outcomes alone it is {self.between(gain)}."
        return f"This campaign cannot tell by itself: only {many(gain.customers)} had {arm}."

    def notes(self) -> tuple[str, ...]:
        """Return what else there is to say: the gain by holdout, where it comes from, what is ahead."""
        said = [] if self.precision is None else [self.precision.advice]
        if (gain := self.answer(HOLDOUT)) is not None:
            said.append(
                f"By the {many(gain.customers, 'held-out customer')} the gain is "
                f"{self.money(gain.gain, True)}, 95 % interval {self.between(gain)}; that holds even if "
                "conversions change with time."
            )
        known, from_ = self.answer(BELIEF), self.sources
        if known is not None and from_ is not None and not self.misfit:
            if known.name == f"always {from_.name}":
                said.append(
                    f"{from_.name} also looked best beforehand: all of the {self.money(known.gain, True)} "
                    "came from learning."
                )
            else:
                said.append(
                    f"Switching to {from_.name}, which looked best beforehand, would have brought "
                    f"{self.money(from_.switching, True)}; learning added {self.money(from_.learning, True)}."
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
                f"{self.money(self.ahead)}; knowing more could add at most {self.money(self.to_learn or 0)}."
            )
        return tuple(said)

    def tables(self) -> tuple[Table, ...]:
        """Return precision or gains, segments, arms, outcomes and changes."""
        found = [self._gain_table()] if self.gains else []
        found += [self._precision_table(self.precision)] if self.precision is not None else []
        found += [self._segment_table()] if self.segments else []
        found += [self._arm_table(), self._outcome_table()]
        return (*found, *([self._change_table()] if len(self.changes) > 1 else []))

    def _gain_table(self) -> Table:
        rows = tuple(
            (
                gain.name,
                METHODS[gain.method],
                self.money(gain.gain, True),
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
                s.leader,
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
                a.name,
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
        heads = ("arm", "customers", "successes", "earned", "conversion", "95 % interval", "worth", "is best")
        words = (
            "Every arm: what it brought, how often it succeeds by all that is known, what one customer is "
            "worth, and the probability that no other arm earns more."
        )
        return Table("Arms", heads, rows, words, "lrrrrrrr", self._earn_most())

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
        rows = tuple((c.at[:16].replace("T", " "), c.who or "–", c.what) for c in self.changes)
        words = "History of changes: when (UTC), by whom, and what."
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
        planned = "" if self.customers is None else f" of {self.customers:,}"
        lines = [f"{self.name}: {self.phase}, {self.decided:,} customers{planned}", *self.sentences()]
        lines += [*self.notes(), *(f"warning: {doubt.words}" for doubt in self.doubts)]
        return "\n".join([*lines, *(f"\n{table}" for table in self.tables())])


def status_of(
    name: str,
    chooser: Chooser,
    tallies: Sequence[Tally],
    decided: int,
    now: float,
    measured: Measured | None = None,
    past: Past | None = None,
) -> Status:
    """Return how a campaign with these counts stands; `measured` and `past` are what else its log says.

    `decided` are the customers of those planned for who have come.
    """
    log, before = Measured() if measured is None else measured, Past() if past is None else past
    problem, settings, state = chooser.problem, chooser.settings, chooser.state(tallies)
    segments, gone = problem.segments, set(settings.withdrawn)
    groups = [tuple(arm for arm in group if arm not in gone) for group in segments.groups]  # on offer
    mean, (low, high) = marginals(problem.belief, state, INTERVAL, np.random.default_rng(0))
    chance, largest = best_in_groups(problem.belief, state, problem.rewards, groups, BEST_TOLERANCE)
    shares = np.ones(1)
    if segments.stated:
        planned = chooser.planned(tallies, decided + 1, np.random.default_rng(0))
        shares = chooser.asked.segments.chances_in(planned, chooser.asked)
    worth = problem.rewards * mean
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
            segment=None if not segments.stated else segments.names[int(segments.of_arm[i])],
            voided=t.voided,
            withdrawn=i in gone,
        )
        for i, t in enumerate(tallies)
    )
    left = None if settings.horizon is None else max(0, settings.horizon - decided) * (not settings.ended)
    control = _control(settings)
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
        unsaid=unsaid,
        rested=sum(t.rested for t in tallies),
        voided=sum(t.voided for t in tallies),
        created=before.created,
        started=before.started,
        ended=before.ended if left == 0 else None,
        changes=before.changes,
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
