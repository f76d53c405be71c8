"""The history of a campaign's changes: when, by whom and what, in words, from the log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from elsv.campaign.log import Head
from elsv.campaign.records import as_time
from elsv.campaign.settings import Arm, Settings, in_words
from elsv.problem import Problem
from elsv.stores.base import Transaction

_SELDOM = (("elsv_correction", "corrected {} outcomes"), ("elsv_void", "voided {} decisions"))
_DAY = 86400


@dataclass(frozen=True)
class Change:
    """Something that was changed."""

    at: str
    who: str | None  # the name of a token, or of a person; None: not known
    what: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Past:
    """When a campaign was made, began and ended, and what was changed since, in the order of the log."""

    created: str | None = None
    started: str | None = None  # when the first customer came
    ended: str | None = None  # when it was ended, or the last customer planned for came
    changes: tuple[Change, ...] = ()


def past_of(reading: Transaction, head: Head, settings: Settings, problem: Problem) -> Past:
    """Return what the log says of the past of a campaign."""
    mine = (head.id,)
    ((created,),) = reading.rows("SELECT created FROM elsv_campaign WHERE id = ?", mine)
    first = reading.rows("SELECT at FROM elsv_decision WHERE campaign = ? AND number = 1", mine)
    found = sorted([*_of_settings(reading, head, problem), *_of_others(reading, head, problem)])
    changes = tuple(Change(_time(at), who or None, what) for _, at, who, what in found)
    ended = next((at for _, at, _, what in reversed(found) if what.startswith("ended")), None)
    if not settings.ended and settings.horizon is not None and head.decisions >= settings.horizon:
        query = "SELECT MAX(at) FROM elsv_decision WHERE campaign = ? AND place = ?"
        ended = reading.rows(query, (head.id, settings.horizon))[0][0]
    return Past(
        _time(created),
        _time(first[0][0]) if first else None,
        None if ended is None else _time(ended),
        changes,
    )


def _time(seconds: float) -> str:
    return as_time(seconds).isoformat(timespec="seconds")


def _of_settings(reading: Transaction, head: Head, problem: Problem) -> Iterator[tuple[int, float, str, str]]:
    query = "SELECT event, at, who, content FROM elsv_setting WHERE campaign = ? ORDER BY version"
    before: Settings | None = None
    for event, at, who, content in reading.rows(query, (head.id,)):
        after = Settings.from_json(content)
        said = ["begun"] if before is None else differences(before, after, problem)
        yield event, at, who or "", "; ".join(said)
        before = after


def _of_others(reading: Transaction, head: Head, problem: Problem) -> Iterator[tuple[int, float, str, str]]:
    query = "SELECT event, at, who, arm FROM elsv_arm WHERE campaign = ?"
    for event, at, who, arm in reading.rows(query, (head.id,)):
        yield event, at, who or "", f"added {problem.names[arm]} (reward {problem.rewards[arm]:g})"
    query = "SELECT event, at, who, decisions FROM elsv_forgotten WHERE campaign = ?"
    for event, at, who, count in reading.rows(query, (head.id,)):
        yield event, at, who or "", f"forgot a customer ({_counted(count, 'decision')})"
    for table, words in _SELDOM:  # by person and day
        query = (
            f"SELECT MAX(event), MAX(at), who, COUNT(*) FROM {table} WHERE campaign = ? "
            f"GROUP BY who, CAST(at / {_DAY} AS INTEGER)"
        )
        for event, at, who, count in reading.rows(query, (head.id,)):
            said = words.format(f"{count:,}")
            yield event, at, who or "", said if count > 1 else said.removesuffix("s")


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def differences(before: Settings, after: Settings, problem: Problem) -> list[str]:
    """Say what differs between two versions of the settings."""
    found = []
    for words, arms in (("withdrew", {*after.withdrawn} - {*before.withdrawn}),
                        ("restored", {*before.withdrawn} - {*after.withdrawn})):  # fmt: skip
        if arms:
            found.append(f"{words} {', '.join(problem.names[arm] for arm in sorted(arms))}")
    if after.ended and not before.ended:
        found.append(f"ended after {_counted(after.horizon or 0, 'customer')}")
    elif after.horizon != before.horizon:
        found.append(f"extended from {before.horizon or 0:,} to {after.horizon or 0:,} customers")
    if after.paused != before.paused:
        found.append("paused" if after.paused else "resumed")

    def named(arm: Arm | None) -> str:
        several = () if arm is None else (arm,) if isinstance(arm, int) else arm
        return " / ".join(problem.names[one] for one in several) or "none"

    shown: dict[str, Any] = {"control": named, "fallback": named, "window": in_words}
    shown |= {"accept_late": lambda late: "yes" if late else "no", "policy": lambda p: p or "your own"}
    for key, words in _NAMED.items():
        one, other = getattr(before, key), getattr(after, key)
        if one != other:
            say = shown.get(key, str)
            found.append(f"{words}: {say(one) or 'none'} → {say(other) or 'none'}")
    return found


_NAMED = {"policy": "policy", "window": "window", "accept_late": "late outcomes count", "sticky": "sticky"}
_NAMED |= {
    "floor": "floor",
    "holdout": "holdout",
    "control": "control",
    "fallback": "fallback",
    "unit": "unit",
    "timezone": "timezone",
}
