"""Campaigns of a store: listing them, beginning one, going on with one, changing its settings."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from elsv._base.numbers import whole
from elsv.campaign.adding import with_arm
from elsv.campaign.choosing import Chooser
from elsv.campaign.log import Log, appending, create, find, parsed, read, unknown
from elsv.campaign.records import Tally, in_iso, new_name
from elsv.campaign.settings import Arm, Settings
from elsv.errors import ElsvError, InvalidInputError
from elsv.policies import DEFAULT_POLICY, make_policy
from elsv.policies.single import find_arm, find_arms
from elsv.problem import Problem
from elsv.stores.base import Store, Transaction
from elsv.structure.product import arms_of

_FIXED = {"rewards": "rewards", "prior": "prior", "names": "names of arms", "discount": "discount"}
_FIXED |= {"segments": "segments", "segment_shares": "segment_shares", "segment_prior": "segment_prior"}


class BegunOtherwiseError(InvalidInputError):
    """There is a campaign of that name which was begun with something else."""


class OtherVersionError(InvalidInputError):
    """The settings were changed by somebody else meanwhile."""


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
    unreadable: str | None = None  # why its problem cannot be read here

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return dict(vars(self))


def campaigns_of(store: Store) -> list[Listed]:
    """Return the campaigns of a store, by their names."""
    with store.reading() as reading:
        names = reading.rows("SELECT name, created FROM elsv_campaign WHERE version > 0 ORDER BY name")
        return [_listed(read(store, reading, name), name, created) for name, created in names]


def _listed(log: Log, name: str, created: float) -> Listed:
    settings, used, unreadable = log.settings, log.used(), None
    try:
        arms = log.problem.arms
    except ElsvError as error:  # the others are listed all the same
        arms, unreadable = len(json.loads(log.problem_text)["rewards"]), str(error)
    at, phase = in_iso(created), settings.phase(used)
    return Listed(name, at, phase, settings.policy, arms, used, settings.horizon, log.version, unreadable)


def begin(
    store: Store,
    name: str,
    problem: Problem | None,
    seed: int | None,
    given: dict[str, Any],
    now: float,
    who: str | None = None,
) -> None:
    """Make the campaign if it is not there, and write a version of the settings if `given` changes them."""
    with store.reading() as reading:
        log = find(reading, name)
        if log is None and problem is None:
            raise unknown(store, reading, name)
        if log is not None and log.version:
            if problem is None and not given:
                return
            asked = _as_it_is_now(log, problem)
            if _wanted(log, asked, given) == log.settings and not _difference(log.problem, asked):
                return
    with store.writing() as writing:
        if log is None:
            assert problem is not None
            _create(writing, name, problem, seed, now)
        log = read(store, writing, name, hold=True)
        _adopt(log, _as_it_is_now(log, problem), given, now, who)
        log.release()


def begin_once(
    store: Store,
    name: str,
    problem: Problem,
    seed: int | None,
    given: dict[str, Any],
    now: float,
    who: str | None = None,
) -> bool:
    """Begin a campaign; False if it was begun just so before, whatever has been changed since.

    One that was begun with another problem or other settings is an error.
    """
    made = Settings(horizon=problem.horizon).changed(problem, **_with_arms(problem, given))
    make_policy(made.policy or DEFAULT_POLICY, problem)  # it may take its time, so before the transaction
    with store.writing() as writing:
        if find(writing, name) is None:
            _create(writing, name, problem, seed, now)
        log = read(store, writing, name, hold=True)
        if log.version == 0:
            log.append_settings(made, now, who)
            log.release()
            return True
        first = log.settings_of(1)
        apart = _difference(parsed(log.problems()[0]), problem) or (
            "seed" if seed not in (None, log.seed) else ""
        )
        if not apart and first != made:
            apart = ", ".join(key for key, value in vars(first).items() if value != getattr(made, key))
    if apart:
        raise BegunOtherwiseError(
            f"campaign {name!r} was begun with something else ({apart}); take another name, or change its "
            "settings"
        )
    return False


def change(
    store: Store,
    name: str,
    given: dict[str, Any],
    now: float,
    expected: int | None = None,
    who: str | None = None,
) -> tuple[Settings, int]:
    """Change settings as one new version; return them and its number.

    Parameters
    ----------
    given
        Settings by their names, ``horizon``, ``paused`` and ``ended`` too; what is not among them stays.
        ``withdraw`` and ``restore`` name one arm, ``withdrawn`` all that are not on offer.
    expected
        The version that the caller has seen; another one is an error.
    who
        Changes them, for the history of changes.
    """
    with appending(store, name) as log:
        if expected is not None and expected != log.version:
            raise OtherVersionError(
                f"the settings must be those of version {expected}, got version {log.version}; look at them "
                "again"
            )
        before, problem = log.settings, log.problem
        _check_horizon(before.horizon, given.get("horizon", before.horizon), log)
        given = _with_offer(before, problem, given)
        if "ended" in given:
            given = {**given, **_ending(before, given, log.used())}
        after = before.changed(problem, **_with_arms(problem, given))
        if after.policy is not None and (after.policy, after.withdrawn) != (before.policy, before.withdrawn):
            Chooser.of(problem, after, log.tallies())
        if after != before:
            log.append_settings(after, now, who)
        return after, log.version


def add(
    store: Store, name: str, now: float, who: str | None, arm: str, reward: float, **about: Any
) -> tuple[int, Problem]:
    """Add an arm (`elsv.campaign.adding.with_arm`); return its number, from 0, and the problem with it.

    Its row takes its time, and so do the kernels of another structure: all that is before the transaction.
    """
    while True:
        with store.reading() as reading:
            seen = read(store, reading, name)
            tallies, settings, before = seen.tallies(), seen.settings, seen.problem
        outcomes = [[t.past_successes + t.successes, t.past_failures + t.lost] for t in tallies]
        made = with_arm(before, np.array(outcomes, dtype=np.float64), arm, reward, **about)
        settings.changed(made)  # a floor may leave no room for one more
        if settings.policy is not None:
            more = [*tallies, Tally(before.arms)]
            chooser = Chooser.of(made, settings, more)
            chooser.choose(more, made.segments.turns[:1] * 2, seen.seed)
        with appending(store, name) as log:
            if log.problem_text == seen.problem_text:  # else another arm was added meanwhile
                log.append_arm(made, now, who)
                return before.arms, made


def _as_it_is_now(log: Log, problem: Problem | None) -> Problem | None:
    """Return the present problem, with the horizon that is given, for one from before arms were added."""
    if problem is None or all(_difference(parsed(text), problem) for text in log.problems()[:-1]):
        return problem
    return log.problem if problem.horizon is None else log.problem.with_horizon(problem.horizon)


def _with_offer(before: Settings, problem: Problem, given: dict[str, Any]) -> dict[str, Any]:
    """Return changes in which the arms that are withdrawn are listed."""
    changes = dict(given)
    for key in ("withdraw", "restore"):
        if key in changes:
            named = changes.pop(key)
            arms = arms_of(named, problem.names) if isinstance(named, str) else []
            arms = arms or [find_arm(problem, named)]  # an option is withdrawn from all segments
            others = [one for one in before.withdrawn if one not in arms]
            changes["withdrawn"] = [*others, *arms] if key == "withdraw" else others
    return changes


def _ending(before: Settings, given: dict[str, Any], used: int) -> dict[str, Any]:
    """Return what an end changes: the customers so far are the last that are planned for."""
    if not given["ended"]:
        if before.ended and given.get("horizon") in (None, before.horizon):
            raise InvalidInputError(
                "a campaign that has ended goes on with more customers; extend it: give a larger horizon"
            )
        return {}
    if before.horizon is None:
        raise InvalidInputError("a campaign with a discount has no last customer; pause it instead")
    if not used:
        raise InvalidInputError("a campaign without customers cannot end; pause it instead")
    return {"horizon": min(before.horizon, used), "paused": False}


def _create(writing: Transaction, name: str, problem: Problem, seed: int | None, now: float) -> None:
    fixed = secrets.randbits(48) if seed is None else whole("seed", seed, 0)
    create(writing, new_name(name), now, problem, fixed)


def _adopt(log: Log, problem: Problem | None, given: dict[str, Any], now: float, who: str | None) -> None:
    """Take over what the caller asks for: the problem while nothing has come, and the settings."""
    if problem is not None and (apart := _difference(log.problem, problem)):
        if log.decisions or any(t.past for t in log.tallies()):
            raise InvalidInputError(
                f"{apart} of a campaign with outcomes cannot change; "
                "begin another one under a new name (its history can be imported)"
            )
        log.replace_problem(problem)
    wanted = _wanted(log, problem, given)
    if wanted.policy is not None:
        make_policy(wanted.policy, log.problem)
    if not log.version or wanted != log.settings:
        log.append_settings(wanted, now, who)


def _wanted(log: Log, problem: Problem | None, given: dict[str, Any]) -> Settings:
    """Return the settings that the caller asks for."""
    own = problem or log.problem
    before = log.settings if log.version else Settings(horizon=own.horizon)
    changes = _with_arms(own, given)
    if log.version and own.horizon not in (json.loads(log.problem_text).get("horizon"), before.horizon):
        _check_horizon(before.horizon, own.horizon, log)
        changes["horizon"] = own.horizon
    return before.changed(own, **changes)


def _with_arms(problem: Problem, given: dict[str, Any]) -> dict[str, Any]:
    """Return settings with arms by their numbers, from 0."""
    changes = dict(given)
    for key in ("control", "fallback"):
        if changes.get(key) is not None:
            changes[key] = _arms_of(problem, key, changes[key])
    if "withdrawn" in changes:
        changes["withdrawn"] = tuple(sorted({find_arm(problem, arm) for arm in changes["withdrawn"]}))
    return changes


def _check_horizon(before: int | None, after: int | None, log: Log) -> None:
    """Refuse a horizon that a campaign with decisions cannot take."""
    if after != before and (after is None or before is None or (after < before and log.decisions)):
        raise InvalidInputError(
            f"the horizon of a campaign with decisions can only grow, from {before} "
            f"to {after} it cannot; leave it as it is"
        )


def _arms_of(problem: Problem, key: str, given: Any) -> Arm:
    """Return an arm, or where there are segments one for each of them, in their order."""
    segments, arms = problem.segments, find_arms(problem, given)
    if sorted(segments.of_arm[arms]) != list(range(segments.count)):
        first = [problem.names[group[0]] for group in segments.groups]
        raise InvalidInputError(
            f"{key} needs one arm for each segment ({', '.join(segments.names)}), such as {key}={first}, "
            f"got {', '.join(problem.names[arm] for arm in arms)}"
        )
    return segments.each(tuple(sorted(arms, key=lambda arm: int(segments.of_arm[arm]))))


def _difference(first: Problem, second: Problem | None) -> str:
    """Say in which of the things that must not change two problems differ; empty if in none."""
    if second is None:
        return ""
    one, other = first.to_dict(), second.to_dict()
    found = [words for key, words in _FIXED.items() if one.get(key) != other.get(key)]
    if first.structure.to_dict() != second.structure.to_dict():
        found.append("structure")
    return ", ".join(found)
