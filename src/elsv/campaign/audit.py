"""The log, replayed: everything that follows from it is computed anew and compared exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, fields
from typing import Any

from elsv.campaign import log
from elsv.campaign.log import Head
from elsv.campaign.records import Tally, weight_of
from elsv.segments import Segments
from elsv.stores.base import Transaction

_MOST_NAMED = 20


@dataclass(frozen=True)
class Audit:
    """What a replay found."""

    decisions: int
    rewards: int
    expirations: int
    events: int
    problems: tuple[str, ...]  # what does not agree, at most 20 of them
    voids: int = 0
    corrections: int = 0

    @property
    def exact(self) -> bool:
        """Whether the log is whole and every count follows from it."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        counts = {"decisions": self.decisions, "rewards": self.rewards, "expirations": self.expirations}
        counts |= {"voids": self.voids, "corrections": self.corrections}
        return {"exact": self.exact, **counts, "events": self.events, "problems": list(self.problems)}

    def __str__(self) -> str:
        more = ((self.voids, "voids"), (self.corrections, "corrections"))
        seldom = "".join(f", {count:,} {what}" for count, what in more if count)
        what = (
            f"{self.decisions:,} decisions, {self.rewards:,} outcomes{seldom} and {self.expirations:,} "
            f"expirations in {self.events:,} events"
        )
        if self.exact:
            return f"{what}: every count follows from the log"
        return "\n".join([f"{what} do not agree:", *(f"- {problem}" for problem in self.problems)])


def replay(transaction: Transaction, head: Head, segments: Segments) -> Audit:
    """Return what a replay of the whole log finds; `segments` are those of the campaign's customers."""
    mine = (head.id,)
    settings = transaction.rows("SELECT version, event FROM elsv_setting WHERE campaign = ?", mine)
    decisions = transaction.rows(
        "SELECT number, event, arm, propensity, propensities, version, expires, place, segment "
        "FROM elsv_decision WHERE campaign = ? ORDER BY event",
        mine,
    )
    rewards = transaction.rows(
        "SELECT number, event, success, late, counted FROM elsv_reward WHERE campaign = ? ORDER BY event",
        mine,
    )
    expirations = transaction.rows("SELECT number, event FROM elsv_expiration WHERE campaign = ?", mine)
    voids = transaction.rows("SELECT number, event FROM elsv_void WHERE campaign = ?", mine)
    corrections = transaction.rows(
        "SELECT number, event, before, success FROM elsv_correction WHERE campaign = ? ORDER BY event", mine
    )
    history = transaction.rows(
        "SELECT arm, event, successes, failures FROM elsv_history WHERE campaign = ?", mine
    )
    others = [
        row
        for table, key in (("elsv_forgotten", "decisions"), ("elsv_arm", "arm"))
        for row in transaction.rows(f"SELECT {key}, event FROM {table} WHERE campaign = ?", mine)
    ]
    stored = log.tallies(transaction, head)
    query = "SELECT number, arm, propensity, expires FROM elsv_open WHERE campaign = ?"
    opened = transaction.rows(query, mine)

    def problems() -> Iterator[str]:
        logs = (settings, decisions, rewards, expirations, voids, corrections, history, others)
        yield from _numbered("event", (row[1] for rows in logs for row in rows), head.events)
        yield from _numbered("decision", (row[0] for row in decisions), head.decisions)
        yield from _numbered("version of the settings", (row[0] for row in settings), head.version)
        yield from _consistent(decisions, rewards, expirations, dict(settings))
        yield from _in_order(decisions, rewards, expirations, voids, corrections)
        yield from _of_their_segment(decisions, segments)
        counts, still_open = _counted(len(stored), decisions, rewards, expirations, voids, history)
        for found, kept in zip(counts, stored, strict=True):
            for field, a, b in zip(fields(Tally), astuple(found), astuple(kept), strict=True):
                if a != b:
                    yield f"{field.name} of arm {found.arm + 1} is stored as {b} and is {a} by the log"
        if sorted(still_open) != sorted(opened):
            yield f"{len(opened)} decisions are stored as open, {len(still_open)} are by the log"

    found = tuple(problem for problem, _ in zip(problems(), range(_MOST_NAMED), strict=False))
    seldom = len(voids), len(corrections)
    return Audit(len(decisions), len(rewards), len(expirations), head.events, found, *seldom)


def _numbered(what: str, numbers: Iterable[int], last: int) -> Iterator[str]:
    """Complain unless `numbers` are 1, 2, …, `last`, each once."""
    counts = Counter(numbers)
    twice = [number for number, count in counts.items() if count > 1]
    missing = set(range(1, last + 1)) - counts.keys()
    beyond = counts.keys() - set(range(1, last + 1))
    for words, some in (("stand twice", twice), ("are missing", missing), ("are too many", beyond)):
        if some:
            yield f"{len(some)} {what} numbers {words}, such as {min(some)}"


def _consistent(
    decisions: list[tuple[Any, ...]],
    rewards: list[tuple[Any, ...]],
    expirations: list[tuple[Any, ...]],
    settings: dict[int, int],
) -> Iterator[str]:
    """Complain of records that contradict one another."""
    made = {row[0]: row for row in decisions}
    expired = dict(expirations)
    for number, event, arm, propensity, listed, version, *_ in decisions:
        chances = [float(text or 0) for text in listed.split(",")]
        if not 0 < propensity <= 1 or chances[arm] != propensity or abs(sum(chances) - 1) > 1e-9:
            yield f"decision {number} has probabilities {listed}, not {propensity} for arm {arm + 1}"
        if settings.get(version, event) >= event:
            yield f"decision {number} stands before the settings that it was made by"
    for number, event, *_ in (*rewards, *expirations):
        if number not in made or made[number][1] >= event:
            yield f"an outcome or expiration stands before its decision {number}"
    for number, event, _, late, counted in rewards:
        if bool(late) != (expired.get(number, event) < event) or (number in expired and not late):
            yield f"the outcome of decision {number} is marked wrongly as {'late' if late else 'in time'}"
        if not late and not counted:
            yield f"the outcome of decision {number} came in time and is not counted"


def _in_order(
    decisions: list[tuple[Any, ...]],
    rewards: list[tuple[Any, ...]],
    expirations: list[tuple[Any, ...]],
    voids: list[tuple[Any, ...]],
    corrections: list[tuple[Any, ...]],
) -> Iterator[str]:
    """Complain of voids, corrections and places that do not follow from what stands before them."""
    made, known, void = {row[0]: row for row in decisions}, {row[0]: row for row in rewards}, dict(voids)
    for number, event in voids:
        if number not in made or made[number][1] >= event or number in known:
            yield f"decision {number} is void and has an outcome, or stands after that"
    for number, event in expirations:
        if void.get(number, event) < event:
            yield f"decision {number} expired when it was void"
    last: dict[int, int] = {}
    for number, event, before, success in corrections:
        if number not in known or known[number][1] >= event or last.get(number, before) != before:
            yield f"a correction of decision {number} does not follow from the outcome before it"
        last[number] = success
    for number, success in last.items():
        if number in known and known[number][2] != success:
            yield f"the outcome of decision {number} is not the one that it was corrected to"
    taken, freed = 0, sorted(((event, number) for number, event in voids), reverse=True)
    for number, event, *_, place, _ in decisions:  # in the order of their events
        while freed and freed[-1][0] < event:
            _, gone = freed.pop()
            taken -= gone in made and made[gone][7] is not None
        if place is not None:
            taken += 1
            if place != taken:
                yield f"decision {number} takes place {place} and should take {taken} by the log"


def _of_their_segment(decisions: list[tuple[Any, ...]], segments: Segments) -> Iterator[str]:
    """Complain of decisions whose arm was not on offer to who came."""
    for number, _, arm, *_, segment in decisions:
        home = segments.turns[segments.of_arm[arm]]
        if segment != home:
            yield f"decision {number} is of segment {segment} (from 0) and its arm of {home}"


def _counted(
    arms: int,
    decisions: list[tuple[Any, ...]],
    rewards: list[tuple[Any, ...]],
    expirations: list[tuple[Any, ...]],
    voids: list[tuple[Any, ...]],
    history: list[tuple[Any, ...]],
) -> tuple[list[Tally], list[tuple[Any, ...]]]:
    """Return the counts and the open decisions that follow from the log."""
    counts = [{field.name: 0 for field in fields(Tally)} | {"arm": arm} for arm in range(arms)]
    still_open = {}
    void = {number for number, _ in voids}
    for number, _, arm, propensity, listed, _, expires, place, _ in decisions:
        counts[arm]["decided"] += 1
        counts[arm]["voided"] += number in void
        counts[arm]["rested"] += place is None and number not in void
        for other in log.without_support(listed):
            counts[other]["unsupported"] += 1
        if number not in void:
            still_open[number] = (number, arm, propensity, expires)
    made = {row[0]: row for row in decisions}
    outcome = {number: "expired" for number, _ in expirations if number not in void}
    for number, _, success, late, counted in rewards:
        if counted:
            outcome[number] = "successes" if success else "failures"
            counts[made[number][2]]["late"] += late
    for number, became in outcome.items():
        mine, (weight, square) = counts[made[number][2]], weight_of(made[number][3])
        mine[became] += 1
        kind = "won" if became == "successes" else "lost"
        mine[f"{kind}_weight"] += weight
        mine[f"{kind}_squares"] += square
    for number in (*outcome, *(number for number, *_ in rewards)):
        still_open.pop(number, None)
    for _, arm, *_ in still_open.values():
        counts[arm]["open"] += 1
    for arm, _, successes, failures in history:
        counts[arm]["past_successes"] += successes
        counts[arm]["past_failures"] += failures
    return [Tally(**count) for count in counts], list(still_open.values())
