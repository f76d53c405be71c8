"""What the service answers, as values: arms count from 0, times are `datetime`.

`read` builds any of these from JSON. It leaves out what a newer service adds, so that an old client goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from datetime import datetime
from typing import Any, TypeVar

from elsv_client.errors import ServiceError

T = TypeVar("T")


def read(kind: type[T], values: Any) -> T:
    """Return a value of this kind from the JSON of an answer."""
    found: dict[str, Any] = {}
    for one in fields(kind):  # type: ignore[arg-type]
        if isinstance(values, Mapping) and one.name in values:
            found[one.name] = one.metadata.get("read", lambda value: value)(values[one.name])
        elif one.default is MISSING:
            raise ServiceError(
                f"the service's answer is no {kind.__name__}; is it an elsv service, "
                "and not older than this client?"
            )
    return kind(**found)


def _arm(number: Any) -> Any:
    """Return an arm from 0, or that of each segment."""
    if isinstance(number, list):
        return tuple(map(_arm, number))
    return None if number is None else number - 1


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _each(kind: type[T]) -> Callable[[Any], tuple[T, ...]]:
    return lambda listed: tuple(read(kind, one) for one in listed)


def _maybe(kind: type[T]) -> Callable[[Any], T | None]:
    return lambda told: None if told is None else read(kind, told)


Arm = int | tuple[int, ...]
_ARM, _TIME, _TUPLE = {"read": _arm}, {"read": _time}, {"read": tuple}


@dataclass(frozen=True)
class Decision:
    """An arm for a customer."""

    id: str  # empty for a fallback, whose outcome is not reported
    number: int  # from 1, in the order of the decisions
    arm: int = field(metadata=_ARM)  # from 0
    name: str  # of the arm
    propensity: float  # the probability with which this arm was chosen
    reason: str  # policy, floor, holdout, paused, after (the last customer) or fallback
    at: datetime = field(metadata=_TIME)
    expires: datetime | None = field(metadata=_TIME)  # if no outcome arrives by then, it counts as a failure
    customer: str | None = None
    repeated: bool = False  # whether it was made before: the same key, or a customer whose decision is open
    segment: str | None = None
    option: str | None = None  # of segments that have the same options; None without segments
    why: str | None = None  # it is the fallback: what went wrong

    @property
    def shown(self) -> str:
        """What to show to the customer: the option, or the name of the arm."""
        return self.name if self.option is None else self.option


@dataclass(frozen=True)
class RewardReceipt:
    """What became of an outcome that was reported."""

    id: str
    status: str  # recorded, late (corrects a failure), too late, duplicate, conflict; later: in the outbox
    success: bool | None  # as the log has it; None: it has no outcome, as a void decision
    counted: bool  # whether the log's outcome counts


@dataclass(frozen=True)
class Audit:
    """What a replay of the log found."""

    decisions: int
    rewards: int
    expirations: int
    events: int
    problems: tuple[str, ...] = field(metadata=_TUPLE)  # what does not agree, at most 20 of them
    voids: int = 0
    corrections: int = 0

    @property
    def exact(self) -> bool:
        """Whether the log is whole and every count follows from it."""
        return not self.problems


@dataclass(frozen=True)
class Listed:
    """One campaign, in a line."""

    name: str
    created: str
    phase: str  # not begun, running, paused or over
    policy: str | None
    arms: int
    decided: int
    customers: int | None  # planned for; None without an end
    version: int  # of the settings


@dataclass(frozen=True)
class Settings:
    """The present settings of a campaign; arms from 0, or one for each segment."""

    policy: str | None = None
    horizon: int | None = None  # customers; None for a problem with a discount
    window: float | None = None  # seconds until a decision without an outcome is a failure; None: never
    accept_late: bool = True  # whether an outcome after that corrects it
    sticky: str = "campaign"  # how long a customer keeps the arm: campaign, open or never
    floor: float = 0.0  # least probability of every arm
    holdout: float = 0.0  # share of customers who get the control arm
    control: Arm | None = field(metadata=_ARM, default=None)  # the arm that others are measured against
    fallback: Arm | None = field(metadata=_ARM, default=None)  # the arm while paused
    paused: bool = False
    unit: str = ""  # of the rewards, such as EUR
    timezone: str = ""  # whose days are the campaign's; empty: that of the server
    ended: bool = False  # whether the customers so far are the last that are planned for
    withdrawn: tuple[int, ...] = field(metadata={"read": _arm}, default=())  # arms not on offer, from 0


@dataclass(frozen=True)
class ArmStatus:
    """One arm of a campaign."""

    arm: int = field(metadata=_ARM)  # from 0
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
    best: float  # probability that no other arm on offer to its segment earns more
    earned: float
    segment: str | None = None
    voided: int = 0  # decisions that nobody saw; not among `decided`
    withdrawn: bool = False  # whether the arm is not on offer now
    recent: int = 0  # of the last customers
    today: bool = False  # whether others are measured against it


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
class GainSoFar:
    """What the campaign earned more than an alternative."""

    against: str  # control, best or split
    name: str  # the alternative in words
    gain: float
    low: float  # 95 % interval
    high: float
    alternative: float | None = None  # what the alternative is estimated to have earned
    method: str = ""  # belief, outcomes or holdout
    customers: int = 0  # who had the alternative, as far as the method counts them
    percent: float | None = None  # the gain in per cent of the alternative


@dataclass(frozen=True)
class Sources:
    """Where the gain over today's arm comes from, by all that is known."""

    name: str  # the arm that looked best beforehand, or that of each segment
    switching: float  # what always giving that arm would have brought
    learning: float  # what the campaign added to it


@dataclass(frozen=True)
class Doubt:
    """One thing that speaks against what is assumed, in a sentence."""

    about: str  # structure, prior, time, split or outcomes
    words: str
    chance: float | None = None  # of data as far out, if what is assumed holds


@dataclass(frozen=True)
class Change:
    """Something that was changed."""

    at: str
    who: str | None  # the name of a token, or of a person; None: not known
    what: str


@dataclass(frozen=True)
class Day:
    """What came on one day of the campaign's time zone."""

    date: str  # such as 2026-03-01
    customers: tuple[int, ...] = field(metadata=_TUPLE)  # of each arm
    outcomes: int  # reported on that day, and counted
    successes: tuple[int, ...] = field(metadata=_TUPLE)  # of each arm
    earned: float = 0.0


@dataclass(frozen=True)
class Status:
    """A campaign at one moment; ``print`` it for a table and a few sentences."""

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
    arms: tuple[ArmStatus, ...] = field(metadata={"read": _each(ArmStatus)})
    gains: tuple[GainSoFar, ...] = field(metadata={"read": _each(GainSoFar)}, default=())
    ahead: float | None = None  # expected earnings of the customers left, with the arm that is best now
    to_learn: float | None = None  # the most that knowing more could add to that
    doubt: float | None = None  # 1 / Bayes factor with this prior
    segments: tuple[SegmentStatus, ...] = field(metadata={"read": _each(SegmentStatus)}, default=())
    contradicted: bool = False  # whether the outcomes speak against what is assumed of the arms
    summary: tuple[str, ...] = field(metadata=_TUPLE, default=())  # how it stands, brought, offers; trouble
    lately: tuple[str, ...] = field(metadata=_TUPLE, default=())  # yesterday and today
    timezone: str = "UTC"  # whose days are the campaign's
    last: str | None = None  # when the last customer came; times in UTC
    days: tuple[Day, ...] = field(metadata={"read": _each(Day)}, default=())
    resting: str = ""  # what customers get while it is paused
    counting: bool = False  # whether a long log is still being read
    rested: int = 0  # customers who came while it was paused, beside those of `decided`
    voided: int = 0  # decisions that nobody saw
    created: str | None = None
    started: str | None = None  # when the first customer came
    ended: str | None = None  # when it was ended, or the last customer planned for came
    changes: tuple[Change, ...] = field(metadata={"read": _each(Change)}, default=())
    notes: tuple[str, ...] = field(metadata=_TUPLE, default=())  # what else there is to say of the gain
    doubts: tuple[Doubt, ...] = field(metadata={"read": _each(Doubt)}, default=())
    sure: bool = False  # whether the headline tells more from less and the outcomes agree
    sources: Sources | None = field(metadata={"read": _maybe(Sources)}, default=None)
    expected: float | None = None  # customers that the prior rows of today's arm are worth
    precision: dict[str, Any] | None = None  # before the start: how precisely the gain will be known
    unsaid: str | None = None  # before the start: that nothing is expected, so that no sum can be told

    @property
    def leader(self) -> ArmStatus:
        """The arm on offer with the largest expected earnings."""
        return max((arm for arm in self.arms if not arm.withdrawn), key=lambda arm: arm.worth)

    def __str__(self) -> str:
        lines = [self.name, *self.summary[:3], ""]
        widths = "{:<18} {:>9} {:>7} {:>7} {:>7} {:>6} {:>10} {:>17} {:>9} {:>7}"
        heads = "arm,customers,bought,did not,expired,open,conversion,95 %,worth,is best"
        lines.append(widths.format(*heads.split(",")))
        for a in self.arms:
            counts = [f"{n:,}" for n in (a.decided, a.successes, a.failures, a.expired, a.under_way)]
            believed = [f"{100 * a.conversion:.1f} %", f"{100 * a.low:.1f} – {100 * a.high:.1f} %"]
            lines.append(
                widths.format(a.name[:18], *counts, *believed, f"{a.worth:,.4g}", f"{100 * a.best:.0f} %")
            )
        warnings = [f"warning: {doubt.words}" for doubt in self.doubts]
        return "\n".join([*lines, "", *self.notes, *warnings])


@dataclass(frozen=True)
class ArmExplanation:
    """One arm: what is believed of it and how the policy scores it."""

    arm: int = field(metadata=_ARM)  # from 0
    name: str
    reward: float
    pulls: int
    mean: float
    worth: float  # reward times mean: the expected reward of one pull
    low: float  # 95 % interval of the mean
    high: float
    best: float  # probability that this arm is the best of those on offer
    bonus: float | None = None  # what exploring adds to the worth; None without an index
    q: float | None = None  # the score by which the policy chooses; None if it has none


@dataclass(frozen=True)
class Evidence:
    """What the data say of what is assumed."""

    log_bayes_factor: float | None = None  # with this prior
    likelihood_ratio: float | None = None  # what the best rates within the structure lack
    chance: float | None = None  # of outcomes as far off if the structure holds, at most
    parts: tuple[str, ...] = field(metadata=_TUPLE, default=())


@dataclass(frozen=True)
class Explanation:
    """What the next customer would get, and why."""

    arm: int = field(metadata=_ARM)  # from 0, the arm to pull
    step: int
    policy: str
    arms: tuple[ArmExplanation, ...] = field(metadata={"read": _each(ArmExplanation)})
    assumed: str | None = None  # in words; None where nothing is
    evidence: Evidence | None = field(metadata={"read": _maybe(Evidence)}, default=None)
    segment: str | None = None  # who has come: `arms` are those on offer; None without segments
    share: float | None = None  # the chance that the next customer is one of them
    doubts: tuple[Doubt, ...] = field(metadata={"read": _each(Doubt)}, default=())

    @property
    def chosen(self) -> ArmExplanation:
        """The arm to pull."""
        return next(one for one in self.arms if one.arm == self.arm)

    def __str__(self) -> str:
        who = (
            "" if self.segment is None else f", {self.segment} ({100 * (self.share or 0):.3g} % of customers)"
        )
        lines = [f"step {self.step}{who}: pull arm {self.arm + 1}, {self.chosen.name} ({self.policy})"]
        widths = "{:>4}  {:<16.16} {:>5} {:>7} {:>17} {:>8} {:>8} {:>8} {:>10}"
        lines.append(
            widths.format(
                *["arm", "name", "pulls", "mean", "95 % interval", "worth", "P(best)", "bonus", "q"]
            ).rstrip()
        )
        for a in self.arms:
            numbers = [f"{a.mean:.4f}", f"[{a.low:.4f}, {a.high:.4f}]", f"{a.worth:.4f}", f"{a.best:.4f}"]
            numbers += ["" if x is None else f"{x:.4f}" for x in (a.bonus, a.q)]
            mark = f"{'→' if a.arm == self.arm else ' '}{a.arm + 1:>3}"
            lines.append(widths.format(mark, a.name, a.pulls, *numbers).rstrip())
        return "\n".join(lines)
