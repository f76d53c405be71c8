"""How a campaign stands, as one value: numbers and sentences.

`Status` says everything once. The terminal, the report, the service's pages, the digest and JSON render its
`sentences` (four for someone who reads nothing else: how it stands, what it brought, what is offered, what is
wrong), `lately`, its `notes` and its `doubts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import date, datetime, timedelta
from typing import Any

from elsv._base.numbers import many, with_minus
from elsv.campaign.figures import BELIEF, HOLDOUT, OUTCOMES, ArmStatus, Figures
from elsv.campaign.tables import tables_of

_SILENT = 50  # customers after whom an outcome should have been reported


class Status(Figures):
    """A campaign at one moment, and what that means."""

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

    # How it stands, in sentences.

    def sentences(self) -> tuple[str, str, str, str]:
        """Return four lines: how it stands; what it brought, and how sure; what is offered; what is wrong."""
        wrong = " ".join(self.troubles()) or "Nothing is wrong."
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
            span = ""
            if self.began and self.ended:
                first, last = self.said_day(self.began), self.said_day(self.ended)
                span = f", on {first}" if first == last else f", {first} to {last}"
            more = self.decided - (self.customers or 0)
            after = f"; {more:,} more have come since" if self.customers and more > 0 else ""
            planned = f"{min(self.decided, self.customers or 0):,}"
            return f"Over: all {planned} planned customers came{span}{rested}{after}."
        if self.phase == "paused":
            when = next((c.at for c in reversed(self.changes) if "paused" in c.kinds), None)
            since = "" if when is None else f" since {self.said_moment(when)}"
            return f"Paused{since}: {self.decided:,}{planned} customers have come{rested}."
        began = ""
        if self.began:
            days = self.today - date.fromisoformat(self.began[:10])
            began = f" since {self.said_day(self.began)}, day {days.days + 1}"
        return f"Running{began}: {self.decided:,}{planned} customers have come{rested}{self._to_go()}."

    def _to_go(self) -> str:
        if not self.left or self.pace is None:
            return ""
        rest = self.left / self.pace
        count = f"{round(rest):,} days" if rest >= 2 else many(max(1, round(24 * rest)), "hour")
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
                f"{self.near(gain.gain)}."
            )
        if gain.told:
            word = "more" if gain.gain > 0 else "less"
            share = "" if gain.percent is None else f" ({abs(gain.percent):.0f} %)"
            begin = "That is" if self.sure else "If what was expected beforehand holds, that is"
            return (
                f"{begin} {self.money(abs(gain.gain), near=True)}{share} {word} than {rival}, "
                f"95 % interval {self.between(gain)}."
            )
        near, over = self.near(gain.gain), self.phase == "over"
        remedy = f"More customers would {'have narrowed' if over else 'narrow'} it."
        if gain.against == "control" and self.answer(HOLDOUT) is None:
            remedy = f"A holdout would {'have measured' if over else 'measure'} it."
        return (
            f"Whether that is more than {rival} cannot be told: about {near}, 95 % interval "
            f"{self.between(gain)}. {remedy}"
        )

    def _offered(self) -> str:
        """Return what customers get now, and why."""
        told, (names, why) = self._leaders(), self.on_offer()
        if self.phase == "paused":
            return f"Everybody gets {self.resting} while it is paused; by what is known {told}."
        if self.phase == "over":
            return f"The planned customers have come: every further one gets what earns most, and {told}."
        if not any(arm.recent for arm in self.arms):
            return f"By what is known {told}."
        if not self.segments:
            return f"Offered now: {names}, {why[0].lower()}{why[1:]}"
        tops, best = self._given(), self.first()
        chances = (f"{a.option} for {name} (the best with {100 * a.best:.0f} %)" for name, a in tops.items())
        rest = ", ".join(f"{arm.option} for {name}" for name, arm in best.items() if arm is not tops[name])
        more = f"by what is known {rest} earns more" if rest else "they earn most by what is known"
        return f"Offered now: {', '.join(chances)}; {more}."

    def _given(self) -> dict[str, ArmStatus]:
        """Return what most of the last customers got, for each segment."""
        return self.first(lambda arm: (arm.recent, arm.worth))

    def _leaders(self) -> str:
        """Return which arm earns most, for each segment if there are some, and which is likeliest best."""
        if self.segments:
            each = (f"{arm.option} for {name} ({100 * arm.best:.0f} %)" for name, arm in self.first().items())
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
        earned = f"{self.money(self.earned)} earned"
        waited = f"{many(self.under_way, 'outcome')} awaited" if self.under_way else ""
        gain = self.answer(BELIEF)
        if gain is None or not gain.told or self.misfit:
            first = f"{waited[0].upper()}{waited[1:]}. " if waited else ""
            return earned, f"{first}{self._headline()}"
        share = "" if gain.percent is None else with_minus(f" ({gain.percent:+.0f} %)")
        holds = "" if self.sure else ", if what was expected beforehand holds"
        figure = f"{self.near(gain.gain)} against {gain.name}"
        both = "; ".join(filter(None, (earned, waited)))
        return figure, f"95 % interval {self.between(gain)}{share}{holds}. {both}."

    def on_offer(self) -> tuple[str, str]:
        """Return what customers get now, by its names alone, and why."""
        told = self._leaders()
        if self.phase == "paused":
            return self.resting, f"To everybody while it is paused; by what is known {told}."
        best, last = self.first(), sum(arm.recent for arm in self.arms)
        tops = best if self.phase == "over" else self._given()
        names, who = _options(tops), "To every further customer; " if self.phase == "over" else ""
        if not self.segments and last and not who:
            count = f"{tops[''].recent} of the last {last:,} customers" if last > 1 else "the last customer"
            who = f"To {count}; "
        if tops == best and self.segments:
            chances = ", ".join(f"{100 * arm.best:.0f} % for {name}" for name, arm in tops.items())
            told = f"it earns most; it is the best with a probability of {chances}"
        elif tops == best:
            told = f"it{told.removeprefix(names)}"
        said = f"{who}by what is known {told}."
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
        near = self.near(gain.gain)
        if self.misfit:
            return f"{self.money(self.earned)} earned; the gain cannot be told while the outcomes do not fit."
        sure = "" if gain.told else ", which cannot be told yet" if self.phase != "over" else ", not told"
        return f"{self.money(self.earned)} earned; {near} against {gain.name} ({self.between(gain)}){sure}."

    def advice(self) -> str:
        """Return what to do now, in a sentence or two."""
        if self.doubts:
            return "Look at what is wrong first: while it is, what is said of the gain cannot be relied on."
        tops = self.first()
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
                f"{self.near(gain.gain)}, 95 % interval {self.between(gain)}; that holds "
                "even if conversions change with time."
            )
        known, from_ = self.answer(BELIEF), self.sources
        if known is not None and from_ is not None and not self.misfit:
            whole, switching = map(self.near, (known.gain, from_.switching))
            learning = self.money(abs(from_.learning), near=True)
            words = (
                f"Switching to {from_.name}, which looked best beforehand, would have brought "
                f"{switching}; learning {'added' if from_.learning >= 0 else 'cost'} {learning}."
            )
            if known.arms == from_.name:
                words = f"{from_.name} also looked best beforehand: all of the {whole} came from learning."
            said.append(words)
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
        asked = today if gain.against == "control" else self.first().values()
        rests = [f"{many(gain.customers, 'outcome')} in this campaign"]
        if before := sum(arm.history for arm in asked):
            rests.append(f"{many(before, 'outcome')} from before")
        if self.expected is not None:
            rests.append(f"what was expected beforehand, which counts as {self.expected:,.3g} customers")
        return f"What is known of {gain.arms}: {'; '.join(rests)}."

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

    def __str__(self) -> str:
        lines = [self.name, *self.sentences()[:3], *self.lately(), *self.notes()]
        lines += [f"warning: {words}" for words in self.warnings()]
        return "\n".join([*lines, *(f"\n{table}" for table in tables_of(self))])


def _options(arms: Mapping[str, ArmStatus]) -> str:
    """Return the options of an arm for each segment; one that they share is said once."""
    options = {arm.option for arm in arms.values()}
    if len(options) == 1:
        return options.pop()
    return ", ".join(f"{arm.option} for {name}" for name, arm in arms.items())
