"""The log, replayed: everything that follows from it is computed anew and compared exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from elsv.campaign.log import Log, Rows, counts_of

_MOST_NAMED = 20
_COUNTED = ("decisions", "rewards", "expirations", "voids", "corrections")


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
        counts = {key: getattr(self, key) for key in _COUNTED}
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


Logged = dict[str, Rows]
"""All that a log holds: the rows of each table, in the order of their events."""

_TABLES = {
    "settings": "version, event FROM elsv_setting",
    "decisions": "number, event, arm, propensity, propensities, version, expires, place, segment "
    "FROM elsv_decision",
    "rewards": "number, event, success, late, counted FROM elsv_reward",
    "expirations": "number, event FROM elsv_expiration",
    "voids": "number, event FROM elsv_void",
    "corrections": "number, event, before, success FROM elsv_correction",
    "history": "arm, event, successes, failures FROM elsv_history",
    "forgotten": "decisions, event FROM elsv_forgotten",
    "arms": "arm, event FROM elsv_arm",
}


def replay(log: Log) -> Audit:
    """Return what a replay of the whole log finds."""
    logged = {
        key: log.rows(f"SELECT {table} WHERE campaign = ? ORDER BY event") for key, table in _TABLES.items()
    }
    found = tuple(islice(_problems(log, logged), _MOST_NAMED))
    counts = {key: len(logged[key]) for key in _COUNTED}
    return Audit(events=log.events, problems=found, **counts)


def _problems(log: Log, logged: Logged) -> Iterator[str]:
    """Yield what does not agree."""
    yield from _numbered("event", (row[1] for rows in logged.values() for row in rows), log.events)
    yield from _numbered("decision", (row[0] for row in logged["decisions"]), log.decisions)
    yield from _numbered("version of the settings", (row[0] for row in logged["settings"]), log.version)
    yield from _consistent(logged)
    yield from _in_order(logged)
    segments = log.segments
    for number, _, arm, *_, segment in logged["decisions"]:
        home = segments.turns[segments.of_arm[arm]]
        if segment != home:
            yield f"decision {number} is of segment {segment} (from 0) and its arm of {home}"
    stored = log.tallies()
    counts, still_open = _counted(len(stored), logged)
    for arm, (found, kept) in enumerate(zip(counts, stored, strict=True)):
        for name, held in vars(kept).items():
            if name != "arm" and found[name] != held:
                yield f"{name} of arm {arm + 1} is stored as {held} and is {found[name]} by the log"
    opened = log.rows("SELECT number, arm, propensity, expires FROM elsv_open WHERE campaign = ?")
    if sorted(still_open) != sorted(opened):
        yield f"{len(opened)} decisions are stored as open, {len(still_open)} are by the log"


def _numbered(what: str, numbers: Iterable[int], last: int) -> Iterator[str]:
    """Complain unless `numbers` are 1, 2, …, `last`, each once."""
    counts = Counter(numbers)
    twice = [number for number, count in counts.items() if count > 1]
    missing = set(range(1, last + 1)) - counts.keys()
    beyond = counts.keys() - set(range(1, last + 1))
    for words, some in (("stand twice", twice), ("are missing", missing), ("are too many", beyond)):
        if some:
            yield f"{len(some)} {what} numbers {words}, such as {min(some)}"


def _events(rows: Rows) -> dict[int, int]:
    """Return the event of each number."""
    return {number: event for number, event, *_ in rows}


def _consistent(logged: Logged) -> Iterator[str]:
    """Yield records that contradict one another."""
    made = {row[0]: row for row in logged["decisions"]}
    settings, expired = _events(logged["settings"]), _events(logged["expirations"])
    for number, event, arm, propensity, listed, version, *_ in logged["decisions"]:
        chances = [float(text or 0) for text in listed.split(",")]
        if not 0 < propensity <= 1 or chances[arm] != propensity or abs(sum(chances) - 1) > 1e-9:
            yield f"decision {number} has probabilities {listed}, not {propensity} for arm {arm + 1}"
        if settings.get(version, event) >= event:
            yield f"decision {number} stands before the settings that it was made by"
    for number, event, *_ in (*logged["rewards"], *logged["expirations"]):
        if number not in made or made[number][1] >= event:
            yield f"an outcome or expiration stands before its decision {number}"
    for number, event, _, late, counted in logged["rewards"]:
        if bool(late) != (expired.get(number, event) < event) or (number in expired and not late):
            yield f"the outcome of decision {number} is marked wrongly as {'late' if late else 'in time'}"
        if not late and not counted:
            yield f"the outcome of decision {number} came in time and is not counted"


def _in_order(logged: Logged) -> Iterator[str]:
    """Yield voids, corrections and places that do not follow from what stands before them."""
    made, known = {row[0]: row for row in logged["decisions"]}, {row[0]: row for row in logged["rewards"]}
    void = _events(logged["voids"])
    for number, event in logged["voids"]:
        if number not in made or made[number][1] >= event or number in known:
            yield f"decision {number} is void and has an outcome, or stands after that"
    for number, event in logged["expirations"]:
        if void.get(number, event) < event:
            yield f"decision {number} expired when it was void"
    last: dict[int, int] = {}
    for number, event, before, success in logged["corrections"]:
        if number not in known or known[number][1] >= event or last.get(number, before) != before:
            yield f"a correction of decision {number} does not follow from the outcome before it"
        last[number] = success
    for number, success in last.items():
        if number in known and known[number][2] != success:
            yield f"the outcome of decision {number} is not the one that it was corrected to"
    taken, freed = 0, sorted(((event, number) for number, event in logged["voids"]), reverse=True)
    for number, event, *_, place, _ in logged["decisions"]:  # in the order of their events
        while freed and freed[-1][0] < event:
            _, gone = freed.pop()
            taken -= gone in made and made[gone][7] is not None
        if place is not None:
            taken += 1
            if place != taken:
                yield f"decision {number} takes place {place} and should take {taken} by the log"


def _counted(arms: int, logged: Logged) -> tuple[list[Counter[str]], Rows]:
    """Return the counts of each arm and the open decisions that follow from the log."""
    became = dict.fromkeys((number for number, _ in logged["expirations"]), "expired")
    late = set()
    for number, _, success, was_late, counted in logged["rewards"]:
        if counted:
            became[number] = "successes" if success else "failures"
            late |= {number} if was_late else set()
        else:
            became.setdefault(number, "")  # it is not awaited, and counts as nothing
    became |= dict.fromkeys((number for number, _ in logged["voids"]), "voided")
    alike: Counter[tuple[Any, ...]] = Counter()  # decisions, by all that their counts follow from
    still_open = []
    for number, _, arm, propensity, _, _, expires, place, _ in logged["decisions"]:
        now = became.get(number, "open")
        alike[arm, now, place is None, number in late] += 1
        if now == "open":
            still_open.append((number, arm, propensity, expires))
    counts: list[Counter[str]] = [Counter() for _ in range(arms)]
    for (arm, *facts), times in alike.items():
        counts[arm].update({key: times * count for key, count in counts_of(*facts).items()})
    for arm, _, won, lost in logged["history"]:
        counts[arm].update(past_successes=won, past_failures=lost)
    return counts, still_open
