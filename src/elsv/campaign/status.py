"""How a campaign stands, for people: names of arms, the campaign's unit, plain words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from elsv._base.numbers import with_minus
from elsv.beliefs.abilities import best, best_in_groups, marginals
from elsv.campaign.choosing import Chooser
from elsv.campaign.gains import GainSoFar, gains_of, groups_of
from elsv.campaign.records import Tally, as_time
from elsv.campaign.settings import in_words
from elsv.live.explain import BEST_TOLERANCE, INTERVAL
from elsv.state import State
from elsv.structure.evidence import evidence

_LARGE = 10.0  # what one customer earns, from which on two decimals will do


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
    gains: tuple[GainSoFar, ...]
    ahead: float | None  # expected earnings of the customers left, with the arm that is best now
    to_learn: float | None  # the most that knowing more could add to that
    doubt: float | None  # how many times likelier the outcomes are without the structure; None if not known
    segments: tuple[SegmentStatus, ...] = ()  # none where all arms are for everyone

    @property
    def leader(self) -> ArmStatus:
        """The arm with the largest expected earnings."""
        return max(self.arms, key=lambda arm: arm.worth)

    @property
    def contradicted(self) -> bool:
        """Whether the outcomes speak against what is assumed of the arms."""
        return self.doubt is not None and self.doubt >= 20

    def money(self, amount: float, sign: bool = False) -> str:
        """Return an amount in the campaign's unit."""
        digits = 0 if abs(amount) >= 10_000 else 2
        shown = with_minus(f"{amount:{'+' if sign else ''},.{digits}f}")
        return f"{shown}{' ' + self.unit if self.unit else ''}"

    def worth(self, arm: ArmStatus) -> str:
        """Return what one customer of an arm is expected to earn, with as many decimals for every arm."""
        return f"{arm.worth:,.{2 if max(each.worth for each in self.arms) >= _LARGE else 4}f}"

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
        return {**values, "contradicted": self.contradicted, "summary": list(self.sentences())}

    def sentences(self) -> tuple[str, str, str]:
        """Return three sentences for someone who reads nothing else."""
        waited = f"; {self.under_way:,} outcomes are still awaited" if self.under_way else ""
        planned = f" of {self.customers:,}" if self.left else ""
        first = f"{self.decided:,}{planned} customers have earned {self.money(self.earned)} so far{waited}."
        told = self._leaders()
        if self.phase == "over":
            third = f"The planned customers have come: every further one gets the best arm, and {told}."
        elif self.phase == "paused":
            third = f"The campaign is paused; so far {told}."
        else:
            rest = "" if self.left is None else f" and {self.left:,} customers are left"
            third = f"At the moment {told}{rest}."
        return first, self._gain_sentence(), third

    def _leaders(self) -> str:
        """Return which arm is best, for each segment if there are some."""
        if self.segments:
            each = (f"{s.leader} for {s.name} ({100 * s.best:.0f} %)" for s in self.segments)
            return f"the best choices, with their probabilities, are {', '.join(each)}"
        leader = self.leader
        return f"{leader.name} is the best choice with a probability of {100 * leader.best:.0f} %"

    def _gain_sentence(self) -> str:
        if not self.gains:
            return "No outcome is known yet, so there is nothing to compare."
        gain = self.gains[0]
        if gain.low > 0 or gain.high < 0:
            word = "more" if gain.gain > 0 else "less"
            share = "" if gain.percent is None else f" ({abs(gain.percent):.0f} %)"
            return (
                f"That is {self.money(abs(gain.gain))}{share} {word} than {gain.name} would have earned "
                f"(95 % interval {self.money(gain.low, True)} to {self.money(gain.high, True)})."
            )
        return (
            f"Whether that is more than {gain.name} would have earned cannot be told yet "
            f"({self.money(gain.gain, True)}, 95 % interval {self.money(gain.low, True)} to "
            f"{self.money(gain.high, True)})."
        )

    def __str__(self) -> str:
        head = f"{self.name}: {self.phase}, {self.decided:,} customers"
        if self.customers is not None:
            head += f" of {self.customers:,}"
        lines = [head, f"  earned {self.money(self.earned)}; {self.under_way:,} outcomes under way"]
        lines += [
            f"  {self.money(gain.gain, True)} against {gain.name} (95 % {self.money(gain.low, True)} "
            f"to {self.money(gain.high, True)}; from the {gain.method})"
            for gain in self.gains
        ]
        if self.ahead is not None and self.left:
            lines.append(
                f"  {self.left:,} customers left: about {self.money(self.ahead)} to come, at most "
                f"{self.money(self.to_learn or 0.0)} more by learning"
            )
        lines += [
            f"  {s.name}: {s.decided:,} customers ({100 * s.share:.3g} % of those to come), "
            f"earned {self.money(s.earned)}; {s.under_way:,} outcomes under way"
            for s in self.segments
        ]
        if self.contradicted:
            lines.append(f"  the outcomes speak against what is assumed: {self.assumed}")
        columns = (
            "arm",
            "customers",
            "bought",
            "did not",
            "expired",
            "open",
            "conversion",
            "95 %",
            "worth",
            "is best",
        )
        widths = "{:<18} {:>9} {:>7} {:>7} {:>7} {:>6} {:>10} {:>17} {:>9} {:>7}"
        lines.append(widths.format(*columns))
        for a in self.arms:
            cells = (a.name[:18], f"{a.decided:,}", f"{a.successes:,}", f"{a.failures:,}", f"{a.expired:,}")
            interval = f"{100 * a.low:.1f} – {100 * a.high:.1f} %"
            believed = (f"{100 * a.conversion:.1f} %", interval, self.worth(a), f"{100 * a.best:.0f} %")
            lines.append(widths.format(*cells, f"{a.under_way:,}", *believed))
        return "\n".join([*lines, "", *self.sentences()])


def status_of(name: str, chooser: Chooser, tallies: Sequence[Tally], decided: int, now: float) -> Status:
    """Return how a campaign with these counts stands."""
    problem, settings, state = chooser.problem, chooser.settings, chooser.state(tallies)
    mean, (low, high) = marginals(problem.belief, state, INTERVAL, np.random.default_rng(0))
    segments, groups = problem.segments, groups_of(problem)
    if not segments.stated:
        chance, top = best(problem.belief, state, problem.rewards, BEST_TOLERANCE)
        largest, shares = np.array([float(top)]), np.ones(1)
    else:
        chance, largest = best_in_groups(problem.belief, state, problem.rewards, groups, BEST_TOLERANCE)
        shares = segments.chances_in(chooser.planned(tallies, decided + 1, np.random.default_rng(0)), problem)
    worth = problem.rewards * mean
    leaders = [group[int(worth[list(group)].argmax())] for group in groups]
    ahead, known = float(shares @ worth[leaders]), float(shares @ largest)
    arms = tuple(
        ArmStatus(
            arm=i,
            name=problem.names[i],
            reward=float(problem.rewards[i]),
            decided=t.decided,
            successes=t.successes,
            failures=t.failures,
            expired=t.expired,
            under_way=t.open,
            late=t.late,
            history=t.past_successes + t.past_failures,
            conversion=float(mean[i]),
            low=float(low[i]),
            high=float(high[i]),
            worth=float(worth[i]),
            best=float(chance[i]),
            earned=float(problem.rewards[i] * t.successes),
            segment=None if not segments.stated else segments.names[int(segments.of_arm[i])],
        )
        for i, t in enumerate(tallies)
    )
    each = () if not segments.stated else segments.names
    left = None if settings.horizon is None else max(0, settings.horizon - decided)
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
        gains=gains_of(
            chooser, tallies, leaders[0] if not segments.stated else tuple(leaders), settings.control
        ),
        ahead=None if left is None else float(left * ahead),
        to_learn=None if left is None else float(max(0.0, left * (known - ahead))),
        doubt=_doubt(chooser, state),
        segments=tuple(
            SegmentStatus(
                name,
                float(shares[g]),
                decided=sum(tallies[i].decided for i in groups[g]),
                under_way=sum(tallies[i].open for i in groups[g]),
                earned=sum(arms[i].earned for i in groups[g]),
                leader=problem.names[leaders[g]],
                best=float(chance[leaders[g]]),
            )
            for g, name in enumerate(each)
        ),
    )


def phase_of(paused: bool, decided: int, left: int | None) -> str:
    """Return what a campaign is doing, in a word."""
    if paused:
        return "paused"
    if left == 0:
        return "over"
    return "running" if decided else "not begun"


def _doubt(chooser: Chooser, state: State) -> float | None:
    """Return how many times likelier the outcomes are for independent arms than under the structure."""
    found = evidence(chooser.problem, state)
    return None if found is None or found.factor is None else 1 / found.factor
