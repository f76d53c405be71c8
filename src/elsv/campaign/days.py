"""A campaign in time: what came on each day of its own time zone, and what the last customers got.

Days are grouped in SQL, so that a million decisions are read within a second and never leave the database.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from elsv.campaign.log import Head
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
class Calendar:
    """What a log says about time."""

    last: float | None = None  # when the last customer came; None: nobody has
    days: tuple[Day, ...] = ()  # every day from the first to the last on which something came
    recent: tuple[int, ...] = ()  # of each arm among the last customers


def day_of(seconds: float, zone: ZoneInfo) -> date:
    """Return the day of a moment."""
    return datetime.fromtimestamp(seconds, zone).date()


def calendar(reading: Transaction, head: Head, problem: Problem, zone: ZoneInfo, now: float) -> Calendar:
    """Return what the log says about time."""
    arms = problem.arms
    if not head.decisions:
        return Calendar()
    at = "SELECT at FROM elsv_decision WHERE campaign = ? AND number = ?"
    ((began,),), ((last,),) = (reading.rows(at, (head.id, number)) for number in (1, head.decisions))
    recent = [0] * arms
    query = "SELECT arm, COUNT(*) FROM elsv_decision WHERE campaign = ? AND number > ? GROUP BY arm"
    for arm, count in reading.rows(query, (head.id, head.decisions - RECENT)):
        recent[arm] = count
    days = tuple(_days(reading, head, arms, zone, began, max(now, last)))
    return Calendar(last, days, tuple(recent))


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
        f"SELECT {packed.format('d.at')}d.arm, COUNT(*) FROM elsv_void v JOIN elsv_decision d "
        "ON d.campaign = v.campaign AND d.number = v.number WHERE v.campaign = ? GROUP BY 1"
    )
    for key, count in reading.rows(query, mine):  # nobody saw these
        came[int(key) // arms][int(key) % arms] -= int(count)
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
