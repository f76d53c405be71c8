"""What a status reads of the log beside the counts: who was held out, days, and the history of changes.

`measure` finds who was held out, halves in time, the split, and what came on each day of the campaign's own
time zone; `past_of` what was changed when and by whom. All group in SQL, so that a million decisions are read
within a second and never leave the database. A decision that is neither open nor void has an outcome: its
reward, if that counts, or else a failure.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from elsv._base.numbers import many
from elsv._base.typing import FloatArray
from elsv.campaign.log import Log
from elsv.campaign.records import in_iso
from elsv.campaign.settings import Arm, Settings, in_words, several, zone_of
from elsv.problem import Problem
from elsv.structure.evidence import LEAST_IN_A_HALF, SURPRISING, Counts, Doubt, in_percent

EXPECTED = 20.0  # customers that an arm must be promised, and others too; with fewer it warns too often
RECENT = 100  # customers by whom it is said what is offered now
_PARTS = 64  # of a log, by which halves are cut
_LAST = 50_000  # customers, of whom halves and split are looked at: a log may be long
_DAY = 86400
_CLOSED = """
FROM elsv_decision d
LEFT JOIN elsv_reward r ON r.campaign = d.campaign AND r.number = d.number
LEFT JOIN elsv_open o ON o.campaign = d.campaign AND o.number = d.number
LEFT JOIN elsv_void v ON v.campaign = d.campaign AND v.number = d.number
WHERE d.campaign = ? AND o.number IS NULL AND v.number IS NULL
"""
_WON = "SUM(CASE WHEN r.success = 1 AND r.counted = 1 THEN 1 ELSE 0 END)"
_OUTCOMES = f"""
SELECT (d.number - 1 - {{0}}) / {{1}}, d.arm, CASE WHEN d.reason = 'holdout' THEN 1 ELSE 0 END,
COUNT(*), {_WON} {_CLOSED} AND d.number > {{0}} GROUP BY 1, 2, 3
"""
_HELD_BEFORE = (
    f"SELECT d.arm, COUNT(*), {_WON} {_CLOSED} AND d.number <= ? AND d.reason = 'holdout' GROUP BY 1"
)
_SPLIT = """
SELECT arm, propensities, COUNT(*) FROM elsv_decision WHERE campaign = ? AND number > ? AND propensity < 1
GROUP BY 1, 2
"""


@dataclass(frozen=True)
class Split:
    """Customers of each arm against those that the logged probabilities promised."""

    given: tuple[float, ...]  # customers
    promised: tuple[float, ...]
    chance: float  # of a split as far off


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
class Measured:
    """What the log says beside the counts, arm by arm."""

    held: tuple[Counts, ...] = ()  # successes and outcomes of the customers who were held out; (): nobody was
    halves: tuple[tuple[Counts, Counts], ...] = ()
    split: Split | None = None  # None where nothing was drawn
    last: float | None = None  # when the last customer came; None: nobody has
    days: tuple[Day, ...] = ()  # every day from the first to the last on which something came
    recent: tuple[int, ...] = ()  # of each arm among the last customers


def measure(log: Log, now: float) -> Measured:
    """Return what the log says by now."""
    if not log.decisions:
        return Measured()
    tallies, settings = log.tallies(), log.settings
    arms, before = len(tallies), max(0, log.decisions - _LAST)
    drawn = bool(settings.floor or settings.holdout)  # every arm was promised customers
    split = split_of(log.rows(_SPLIT, before), arms) if drawn else None
    compared = drawn or any(t.seen >= 2 * LEAST_IN_A_HALF for t in tallies)
    held, halves = _compared(log, arms, before) if compared else ((), ())
    at = "SELECT at FROM elsv_decision WHERE campaign = ? AND number = ?"
    ((began,),), ((last,),) = (log.rows(at, number) for number in (1, log.decisions))
    query = "SELECT arm, COUNT(*) FROM elsv_decision WHERE campaign = ? AND number > ? GROUP BY arm"
    recent: dict[int, int] = dict(log.rows(query, log.decisions - RECENT))
    day = _sql(list(offsets(zone_of(settings.timezone), began, max(now, last))))
    came = tuple(recent.get(arm, 0) for arm in range(arms))
    return Measured(held, halves, split, last, tuple(_days(log, arms, day)), came)


def _compared(
    log: Log, arms: int, before: int
) -> tuple[tuple[Counts, ...], tuple[tuple[Counts, Counts], ...]]:
    """Return who was held out, and halves of those after the first `before` customers."""
    size = -(-(log.decisions - before) // _PARTS)
    held, parts = np.zeros((arms, 2)), np.zeros((_PARTS, arms, 2))  # successes and outcomes
    for part, arm, aside, seen, won in log.rows(_OUTCOMES.format(before, size)):
        parts[int(part), arm] += int(won), int(seen)
        held[arm] += (int(won), int(seen)) if aside else (0, 0)
    for arm, seen, won in log.rows(_HELD_BEFORE, before) if before else ():
        held[arm] += int(won), int(seen)
    aside_counts = tuple((won, seen) for won, seen in held.tolist()) if held.any() else ()
    return aside_counts, tuple(_halves(parts[:, arm]) for arm in range(arms))


def _halves(parts: FloatArray) -> tuple[Counts, Counts]:
    """Return the counts of an arm before and after the end of a part that is nearest to the middle."""
    sums = parts.cumsum(axis=0)
    cut = int(np.abs(sums[:, 1] - sums[-1, 1] / 2).argmin())
    (won, seen), (all_won, all_seen) = sums[cut].tolist(), sums[-1].tolist()
    return (won, seen), (all_won - won, all_seen - seen)


def split_of(rows: Sequence[tuple[int, str, int]], arms: int) -> Split | None:
    r"""Return the split by rows of (arm, its probabilities as text, customers); None if too few came.

    With q the probabilities of a decision and a its arm, :math:`\sum (e_a - q)` has mean 0 and covariance
    :math:`V = \sum (\mathrm{diag}\,q - q q^T)` whatever the policy did. Its square in terms of V is about
    :math:`\chi^2`.
    Arms that are promised fewer than 20 customers count together with the others.
    """
    from scipy.special import chdtrc

    if not rows:
        return None
    counts = np.array([count for _, _, count in rows], dtype=np.float64)
    given = np.bincount([arm for arm, _, _ in rows], counts, arms)
    # Nothing stands for an arm that was not on offer, or has been added since.
    listed = [[float(part or 0.0) for part in text.split(",")] for _, text, _ in rows]
    chances = np.array([row + [0.0] * (arms - len(row)) for row in listed])
    promised, products = counts @ chances, (counts[:, None] * chances).T @ chances
    total = given.sum()
    kept = np.flatnonzero((promised >= EXPECTED) & (total - promised >= EXPECTED))
    if not len(kept):
        return None
    spread = (np.diag(promised) - products)[np.ix_(kept, kept)]
    apart = (given - promised)[kept]
    inverse = np.linalg.pinv(spread, rcond=1e-9, hermitian=True)
    rank = max(1, int(np.linalg.matrix_rank(spread, tol=1e-6)))
    chance = float(chdtrc(rank, max(0.0, float(apart @ inverse @ apart))))
    return Split(tuple(given.tolist()), tuple(promised.tolist()), chance)


def split_doubt(split: Split | None, names: Sequence[str]) -> tuple[Doubt, ...]:
    """Return the warning where arms did not get the customers that they were promised."""
    if split is None or split.chance > SURPRISING:
        return ()
    worst = max(range(len(names)), key=lambda arm: abs(split.given[arm] - split.promised[arm]))
    words = (
        f"The arms did not get the customers that the logged probabilities promised: {names[worst]} got "
        f"{split.given[worst]:,.0f}, promised were {split.promised[worst]:,.0f} (a chance of "
        f"{in_percent(split.chance)}). Events may be lost, or booked twice."
    )
    return (Doubt("split", words, split.chance),)


def _days(log: Log, arms: int, day: str) -> Iterator[Day]:
    """Yield all days from the first to the last on which something came; `day` is SQL of a time ``{0}``."""

    def by_arm(at: str, source: str) -> defaultdict[int, list[int]]:
        # Day and arm as one number: what databases sort by to group is then half as wide.
        query = f"SELECT ({day.format(at)}) * {arms} + d.arm, COUNT(*) FROM {source} GROUP BY 1"
        found: defaultdict[int, list[int]] = defaultdict(lambda: [0] * arms)
        for key, count in log.rows(query):
            place, arm = divmod(int(key), arms)
            found[place][arm] = int(count)
        return found

    joined = "x JOIN elsv_decision d ON d.campaign = x.campaign AND d.number = x.number WHERE x.campaign = ?"
    came = by_arm("d.at", "elsv_decision d WHERE d.campaign = ?")
    unseen = by_arm("d.at", f"elsv_void {joined}")
    won = by_arm("x.at", f"elsv_reward {joined} AND x.counted = 1 AND x.success = 1")
    reported = "COUNT(*) FROM elsv_reward WHERE campaign = ? AND counted = 1 GROUP BY 1"
    query = f"SELECT {day.format('at')}, {reported}"
    known = {int(place): int(count) for place, count in log.rows(query)}
    places = came.keys() | known.keys()
    for place in range(min(places), max(places) + 1):
        seen = (all_ - gone for all_, gone in zip(came[place], unseen[place], strict=True))
        when = (date(1970, 1, 1) + timedelta(days=place)).isoformat()
        yield Day(when, tuple(seen), known.get(place, 0), tuple(won[place]))


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
            until = low + bisect_left(range(low, high), True, key=lambda moment: ahead(moment) != ahead(low))
            yield until, ahead(until)
        low = high


def _sql(spans: Sequence[tuple[int, int]]) -> str:
    """Return SQL of the day of a time ``{0}``, counted from 1970: the floor of its seconds, as days.

    Some databases cut and others round when they make whole numbers; this gives the floor in both.
    """
    ahead = str(spans[0][1])
    if len(spans) > 1:
        cases = [f"WHEN {{0}} < {until} THEN {offset}" for (_, offset), (until, _) in pairwise(spans)]
        ahead = f"CASE {' '.join(cases)} ELSE {spans[-1][1]} END"
    whole = "CAST({0} AS BIGINT) - CASE WHEN CAST({0} AS BIGINT) > {0} THEN 1 ELSE 0 END"
    return f"({whole} + {ahead}) / {_DAY}"


@dataclass(frozen=True)
class Change:
    """Something that was changed."""

    at: str
    who: str | None  # the name of a token, or of a person; None: not known
    what: str
    kinds: tuple[str, ...] = ()  # as data: begun, ended, paused, added, settings, …


Said = tuple[str, str]  # kind and words


def past_of(log: Log) -> dict[str, Any]:
    """Return the fields of a status that say when the campaign was made, began, ended and was changed."""
    settings = log.settings
    ((created,),) = log.rows("SELECT created FROM elsv_campaign WHERE id = ?")
    first = log.rows("SELECT at FROM elsv_decision WHERE campaign = ? AND number = 1")
    changes = []
    for _, at, who, said in sorted(_changes(log, log.problem), key=lambda change: change[0]):
        words = "; ".join(words for _, words in said)
        changes.append(Change(in_iso(at), who or None, words, tuple(kind for kind, _ in said)))
    ended = None
    if settings.ended:
        ended = next((change.at for change in reversed(changes) if "ended" in change.kinds), None)
    elif settings.left(log.used()) == 0:
        query = "SELECT MAX(at) FROM elsv_decision WHERE campaign = ? AND place = ?"
        ((last,),) = log.rows(query, settings.horizon)
        ended = None if last is None else in_iso(last)
    started = in_iso(first[0][0]) if first else None
    return {"created": in_iso(created), "started": started, "ended": ended, "changes": tuple(changes)}


def _changes(log: Log, problem: Problem) -> Iterator[tuple[int, float, str | None, list[Said]]]:
    """Yield event, time, person and what was changed; corrections and voids by person and day."""
    names, rewards, some = problem.names, problem.rewards, partial(many, what="decision")
    query = "SELECT event, at, who, content FROM elsv_setting WHERE campaign = ? ORDER BY version"
    before: Settings | None = None
    for event, at, who, content in log.rows(query):
        after = Settings.from_json(content)
        said = [("begun", "begun")] if before is None else list(differences(before, after, problem))
        yield event, at, who, said
        before = after
    day = _sql([(0, 0)]).format("at")  # of UTC
    others: tuple[tuple[str, str, str, str, Callable[[int], str]], ...] = (
        ("added", "elsv_arm", "arm", "arm", lambda arm: f"{names[arm]} (reward {rewards[arm]:g})"),
        ("forgot", "elsv_forgotten", "decisions", "event, decisions", lambda n: f"a customer ({some(n)})"),
        ("corrected", "elsv_correction", "COUNT(*)", day, lambda n: many(n, "outcome")),
        ("voided", "elsv_void", "COUNT(*)", day, some),
    )
    for kind, table, column, group, say in others:
        query = f"SELECT MAX(event), MAX(at), who, {column} FROM {table} WHERE campaign = ?"
        for event, at, who, what in log.rows(f"{query} GROUP BY who, {group}"):
            yield event, at, who, [(kind, f"{kind} {say(what)}")]


def differences(before: Settings, after: Settings, problem: Problem) -> Iterator[Said]:
    """Say what differs between two versions of the settings."""

    def named(arms: Arm | None) -> str:
        return " / ".join(problem.names[arm] for arm in several(arms)) or "none"

    for kind, one, other in (("withdrew", after, before), ("restored", before, after)):
        if arms := sorted({*one.withdrawn} - {*other.withdrawn}):
            yield kind, f"{kind} {', '.join(problem.names[arm] for arm in arms)}"
    if after.ended and not before.ended:
        yield "ended", f"ended after {many(after.horizon or 0, 'customer')}"
    elif after.horizon != before.horizon:
        yield "extended", f"extended from {before.horizon or 0:,} to {after.horizon or 0:,} customers"
    if after.paused != before.paused:
        kind = "paused" if after.paused else "resumed"
        yield kind, kind
    say: dict[str, Callable[[Any], str]] = {
        "policy": lambda policy: policy or "your own",
        "window": in_words,
        "accept_late": lambda late: "yes" if late else "no",
        "control": named,
        "fallback": named,
    }
    for key, new in vars(after).items():
        values = getattr(before, key), new
        if values[0] != new and key not in ("horizon", "paused", "ended", "withdrawn"):
            words = "late outcomes count" if key == "accept_late" else key
            yield "settings", f"{words}: {' → '.join(say.get(key, str)(value) or 'none' for value in values)}"
