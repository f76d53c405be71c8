"""Beginning a campaign and going on with one: what may change, and what is refused."""

from __future__ import annotations

import json
import secrets
from functools import lru_cache
from pathlib import Path
from typing import Any

from elsv._base.numbers import whole
from elsv.campaign import log
from elsv.campaign.arguments import new_name
from elsv.campaign.log import Head
from elsv.campaign.settings import Arm, Settings
from elsv.errors import CorruptFileError, InvalidInputError
from elsv.policies import make_policy
from elsv.policies.single import find_arm
from elsv.problem import Problem
from elsv.segments import Segments
from elsv.stores.base import Store, Transaction

_FIXED = {"rewards": "rewards", "prior": "prior", "names": "names of arms", "discount": "discount"}
_FIXED |= {"segments": "segments", "segment_shares": "segment_shares", "segment_prior": "segment_prior"}


def open_store(place: str | Path, create: bool = True, patience: float | None = None) -> Store:
    """Return the store at a path (SQLite) or a URL ``postgresql://…`` (extra ``postgres``).

    `patience`: seconds that a call waits for other writers of a database; default: a minute.
    """
    text = str(place)
    if text.startswith(("postgresql://", "postgres://")):
        from elsv.stores.postgres import PostgresStore

        return PostgresStore(text) if patience is None else PostgresStore(text, patience)
    from elsv.stores.sqlite import SqliteStore

    return SqliteStore(Path(text.removeprefix("sqlite:///")), create)


def begin(
    store: Store, name: str, problem: Problem | None, seed: int | None, given: dict[str, Any], now: float
) -> None:
    """Make the campaign if it is not there, and write a version of the settings if `given` changes them."""
    with store.reading() as reading:
        head = log.find(reading, name)
        if head is not None and head.version and problem is None and not given:
            return
        if head is not None and head.version:
            before = settings_of(reading, head)
            if _wanted(head, before, problem, given) == before and _same(problem_of(head), problem):
                return
    if head is None and problem is None:
        raise log.UnknownCampaignError(
            f"there is no campaign {name!r} in {store.place}; give its problem to begin one"
        )
    with store.writing() as writing:
        if head is None:
            assert problem is not None
            new_name(name)
            text, drawn = json.dumps(problem.to_dict()), secrets.randbits(48)
            fixed = drawn if seed is None else whole("seed", seed, 0)
            log.create(writing, name, now, text, fixed, problem.arms)
        head = log.hold(store, writing, name)
        _adopt(writing, head, problem, given, now)
        log.release(writing, head)


def problem_of(head: Head) -> Problem:
    """Return the problem that the campaign was begun with."""
    return _parsed(head.problem)


def segments_of(head: Head) -> Segments:
    """Return the segments of the customers; also where the problem's structure is not registered."""
    values = json.loads(head.problem)
    return Segments.from_dict(values, values["names"])


@lru_cache(maxsize=64)
def _parsed(text: str) -> Problem:
    try:
        return Problem.from_dict(json.loads(text))
    except (ValueError, TypeError, OSError, RecursionError) as error:
        raise CorruptFileError(
            f"the problem of the campaign cannot be read: {error}; a structure of your own must be "
            "registered first (elsv.structure.register)"
        ) from error


def settings_of(transaction: Transaction, head: Head) -> Settings:
    """Return the present settings."""
    return Settings.from_json(log.settings(transaction, head))


def _adopt(
    writing: Transaction, head: Head, problem: Problem | None, given: dict[str, Any], now: float
) -> None:
    if not _same(problem_of(head), problem):
        assert problem is not None
        used = any(t.past_successes + t.past_failures for t in log.tallies(writing, head))
        if head.decisions or used:
            raise InvalidInputError(
                f"{difference(problem_of(head), problem)} of a campaign with outcomes cannot change; "
                "begin another one under a new name (its history can be imported)"
            )
        log.replace_problem(writing, head, json.dumps(problem.to_dict()), problem.arms)
        head.problem = json.dumps(problem.to_dict())
    before = settings_of(writing, head) if head.version else None
    wanted = _wanted(head, before, problem, given)
    if wanted.policy is not None:
        make_policy(wanted.policy, problem_of(head))
    if wanted != before:
        log.append_settings(writing, head, now, wanted.to_json())


def _wanted(head: Head, before: Settings | None, problem: Problem | None, given: dict[str, Any]) -> Settings:
    """Return the settings that the caller asks for."""
    own = problem_of(head) if problem is None else problem
    start = Settings(horizon=own.horizon) if before is None else before
    changes = with_arms(own, given)
    begun_with = json.loads(head.problem).get("horizon")
    if before is not None and own.horizon not in (begun_with, before.horizon):
        check_horizon(before.horizon, own.horizon, head)
        changes["horizon"] = own.horizon
    return start.changed(own, **changes)


def with_arms(problem: Problem, given: dict[str, Any]) -> dict[str, Any]:
    """Return settings with arms by their numbers, from 0."""
    changes = dict(given)
    for key in ("control", "fallback"):
        if changes.get(key) is not None:
            changes[key] = _arms_of(problem, key, changes[key])
    return changes


def check_horizon(before: int | None, after: int | None, head: Head) -> None:
    """Refuse a horizon that a campaign with decisions cannot take."""
    if after == before:
        return
    if after is None or before is None or (after < before and head.decisions):
        raise InvalidInputError(
            f"the horizon of a campaign with decisions can only grow, from {before} "
            f"to {after} it cannot; leave it as it is"
        )


def _arms_of(problem: Problem, key: str, given: Any) -> Arm:
    """Return an arm, or where there are segments one for each of them, in their order."""
    segments = problem.segments
    if not segments.stated:
        return find_arm(problem, given)
    if isinstance(given, str) and given not in problem.names:
        given = given.split("+")
    several = list(given) if isinstance(given, list | tuple) else [given]
    arms = [find_arm(problem, arm.strip() if isinstance(arm, str) else arm) for arm in several]
    if sorted(segments.of_arm[arms]) != list(range(segments.count)):
        first = [problem.names[group[0]] for group in segments.groups]
        raise InvalidInputError(
            f"{key} needs one arm for each segment ({', '.join(segments.names)}), such as {key}={first}, "
            f"got {', '.join(problem.names[arm] for arm in arms)}"
        )
    return tuple(sorted(arms, key=lambda arm: int(segments.of_arm[arm])))


def _same(first: Problem, second: Problem | None) -> bool:
    """Return whether the problems have the same arms, prior and structure; horizons may differ."""
    return second is None or not difference(first, second)


def difference(first: Problem, second: Problem) -> str:
    """Say in which of the things that must not change two problems differ; empty if in none."""
    one, other = first.to_dict(), second.to_dict()
    found = [words for key, words in _FIXED.items() if one.get(key) != other.get(key)]
    if first.structure.to_dict() != second.structure.to_dict():
        found.append("structure")
    return ", ".join(found)
