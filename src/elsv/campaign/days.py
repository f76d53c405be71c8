"""A campaign in time: what came on each day of its own time zone, who came last, and what was changed when.

Days are grouped in SQL, so that a million decisions are read within a second and never leave the database.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from elsv.campaign.log import Head
from elsv.campaign.records import arms_in_words
from elsv.campaign.settings import Settings, in_words
from elsv.problem import Problem
from elsv.stores.base import Transaction

RECENT = 100  # customers by whom it is said what is offered now
_DAY = 86400
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True)
class Day:
    """What came on one day: customers by the time of their decision, outcomes by the time of the report."""

    date: str  # such as 2026-03-01
    customers: tuple[int, ...]  # of each arm
    outcomes: int  # reported, and counted
    successes: tuple[int, ...]  # of each arm

    @property
    def came(self) -> int:
        """All customers of the day."""
        return sum(self.customers)


@dataclass(frozen=True)
class Change:
    """Something that was changed by hand."""

    at: str  # ISO 8601, in the campaign's time zone
    what: str
    who: str | None = None


@dataclass(frozen=True)
class Calendar:
    """What a log says about time."""

    began: float | None = None  # of the first decision; None: there is none
    last: float | None = None  # of the last one
    days: tuple[Day, ...] = ()  # every day from the first to the last on which something came
    recent: tuple[int, ...] = ()  # of each arm among the last customers
    changes: tuple[Change, ...] = ()


def day_of(seconds: float, zone: ZoneInfo) -> date:
    """Return the day of a moment."""
    return datetime.fromtimestamp(seconds, zone).date()


def calendar(reading: Transaction, head: Head, problem: Problem, zone: ZoneInfo, now: float) -> Calendar:
    """Return what the log says about time."""
    arms = problem.arms
    changes = tuple(changes_of(reading, head, problem, zone))
    if not head.decisions:
        return Calendar(changes=changes)
    at = "SELECT at FROM elsv_decision WHERE campaign = ? AND number = ?"
    ((began,),), ((last,),) = (reading.rows(at, (head.id, number)) for number in (1, head.decisions))
    recent = [0] * arms
    query = "SELECT arm, COUNT(*) FROM elsv_decision WHERE campaign = ? AND number > ? GROUP BY arm"
    for arm, count in reading.rows(query, (head.id, head.decisions - RECENT)):
        recent[arm] = count
    days = tuple(_days(reading, head, arms, zone, began, max(now, last)))
    return Calendar(began, last, days, tuple(recent), changes)


def _days(
    reading: Transaction, head: Head, arms: int, zone: ZoneInfo, began: float, until: float
) -> Iterator[Day]:
    """Yield all days from the first to the last on which something came."""
    spans = list(offsets(zone, began, until))
    day, mine = _sql(spans), (head.id,)
    came: dict[int, list[int]] = {}
    won: dict[int, list[int]] = {}
    # Day and arm as one number: what databases sort by to group is then half as wide.
    packed = f"({day}) * {arms} + "
    query = f"SELECT {packed.format('at')}arm, COUNT(*) FROM elsv_decision WHERE campaign = ? GROUP BY 1"
    for key, count in reading.rows(query, mine):
        came.setdefault(int(key) // arms, [0] * arms)[int(key) % arms] = int(count)
    query = (
        f"SELECT {day.format('at')}, COUNT(*) FROM elsv_reward WHERE campaign = ? AND counted = 1 GROUP BY 1"
    )
    known = {int(place): int(count) for place, count in reading.rows(query, mine)}
    query = (
        f"SELECT {packed.format('r.at')}d.arm, COUNT(*) FROM elsv_reward r JOIN elsv_decision d "
        "ON d.campaign = r.campaign AND d.number = r.number "
        "WHERE r.campaign = ? AND r.counted = 1 AND r.success = 1 GROUP BY 1"
    )
    for key, count in reading.rows(query, mine):
        won.setdefault(int(key) // arms, [0] * arms)[int(key) % arms] = int(count)
    none = [0] * arms
    places = came.keys() | known.keys()
    for place in range(min(places), max(places) + 1):
        when = (_EPOCH + timedelta(days=place)).isoformat()
        mine_came, mine_won = tuple(came.get(place, none)), tuple(won.get(place, none))
        yield Day(when, mine_came, known.get(place, 0), mine_won)


def offsets(zone: ZoneInfo, first: float, last: float) -> Iterator[tuple[int, int]]:
    """Yield (from, seconds ahead of UTC) for the spans of time between `first` and `last`.

    Examples
    --------
    >>> berlin = ZoneInfo("Europe/Berlin")  # summer time ended on 25 October 2026, at 1:00 UTC
    >>> list(offsets(berlin, 1_792_800_000, 1_793_000_000))
    [(1792800000, 7200), (1792890000, 3600)]
    """

    def ahead(moment: int) -> int:
        told = datetime.fromtimestamp(moment, UTC).astimezone(zone).utcoffset()
        return 0 if told is None else round(told.total_seconds())

    low, end = int(first), int(last) + 1
    yield low, ahead(low)
    while low < end:
        high = min(low + _DAY, end)
        if ahead(low) != ahead(high):
            below, above = low, high
            while above - below > 1:
                middle = (below + above) // 2
                below, above = (middle, above) if ahead(middle) == ahead(low) else (below, middle)
            yield above, ahead(above)
        low = high


def _sql(spans: Sequence[tuple[int, int]]) -> str:
    """Return SQL of the day of a time ``{0}``, counted from 1970: the floor of its seconds, as days.

    Databases cut or round when they make whole numbers; both give the floor here.
    """
    ahead = str(spans[0][1])
    if len(spans) > 1:
        cases = [f"WHEN {{0}} < {until} THEN {offset}" for (_, offset), (until, _) in pairwise(spans)]
        ahead = f"CASE {' '.join(cases)} ELSE {spans[-1][1]} END"
    whole = "CAST({0} AS BIGINT) - CASE WHEN CAST({0} AS BIGINT) > {0} THEN 1 ELSE 0 END"
    return f"({whole} + {ahead}) / {_DAY}"


def changes_of(reading: Transaction, head: Head, problem: Problem, zone: ZoneInfo) -> Iterator[Change]:
    """Yield what was changed by hand, in its order: settings, and history that was taken in."""
    query = "SELECT event, at, content FROM elsv_setting WHERE campaign = ? ORDER BY version"
    found: list[tuple[int, float, str]] = []
    before: Settings | None = None
    for event, at, content in reading.rows(query, (head.id,)):
        after = Settings.from_json(content)
        if before is not None:
            found += [(event, at, words) for words in difference(before, after, problem)]
        before = after
    query = (
        "SELECT MIN(event), MIN(at), source, SUM(successes), SUM(failures) FROM elsv_history "
        "WHERE campaign = ? GROUP BY source"
    )
    for event, at, _, won, lost in reading.rows(query, (head.id,)):
        words = f"history taken in: {int(won):,} successes of {int(won) + int(lost):,} outcomes"
        found.append((event, at, words))
    for _, at, words in sorted(found):
        yield Change(datetime.fromtimestamp(at, zone).isoformat(timespec="minutes"), words)


def difference(before: Settings, after: Settings, problem: Problem) -> Iterator[str]:
    """Yield in words what changed from one version of the settings to the next."""
    if after.paused != before.paused:
        yield "paused" if after.paused else "resumed"
    if after.horizon != before.horizon and after.horizon is not None and before.horizon is not None:
        word = "extended" if after.horizon > before.horizon else "ended"
        yield f"{word}: {before.horizon:,} → {after.horizon:,} customers"
    if after.policy != before.policy:
        yield f"policy: {before.policy} → {after.policy}"
    for name in ("floor", "holdout"):
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            yield f"{name}: {100 * old:g} → {100 * new:g} %"
    if after.window != before.window:
        yield f"window: {in_words(before.window)} → {in_words(after.window)}"
    for name in ("control", "fallback"):
        old, new = (_named(getattr(one, name), problem) for one in (before, after))
        if old != new:
            yield f"{name}: {old} → {new}"
    for name in ("accept_late", "sticky", "unit", "timezone"):
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            yield f"{name.replace('_', ' ')}: {_plain(old)} → {_plain(new)}"


def _named(arm: int | tuple[int, ...] | None, problem: Problem) -> str:
    if arm is None:
        return "no arm"
    return arms_in_words(problem, (arm,) if isinstance(arm, int) else arm)


def _plain(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value) or "not given"
