"""Campaigns of a store: listing them, beginning one, going on with one, changing it, adding an arm.

Arms keep their numbers, and a new one gets the next. Its place in an order is said by the structure, which
then lists pairs of arms. Its row is what is expected of it, or follows its neighbours (`elsv.prior.untried`),
given all outcomes so far; the rows of the others stay as they are.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from elsv._base.numbers import shown
from elsv._base.typing import FloatArray
from elsv.beliefs.ladder.ranking import closure
from elsv.campaign.choosing import Chooser
from elsv.campaign.log import Log, appending, create, find, parsed, read, reading, unknown
from elsv.campaign.records import Tally, in_iso, text_of
from elsv.campaign.settings import Settings
from elsv.errors import ElsvError, InvalidInputError
from elsv.policies import DEFAULT_POLICY, make_policy
from elsv.policies.single import find_arm, find_arms
from elsv.prior.expectations import Interval, from_expectations
from elsv.prior.untried import from_neighbours, known_arms, neutral
from elsv.problem import Problem
from elsv.stores.base import PATIENCE, Store
from elsv.structure.base import Structure, has_own_prior
from elsv.structure.product import arms_of

_FIXED = ("rewards", "prior", "names", "discount", "segments", "segment_shares", "segment_prior")
Stated = Structure | Mapping[str, Any]


class BegunOtherwiseError(InvalidInputError):
    """There is a campaign of that name which was begun with something else."""


class OtherVersionError(InvalidInputError):
    """The settings were changed by somebody else meanwhile."""


def open_store(place: str | Path, create: bool = True, patience: float = PATIENCE) -> Store:
    """Return the store at a path (SQLite) or a URL ``postgresql://…`` (extra ``postgres``).

    `patience`: seconds that a call waits for other writers of a PostgreSQL database.
    """
    text = str(place)
    if text.startswith(("postgresql://", "postgres://")):
        from elsv.stores.postgres import PostgresStore

        return PostgresStore(text, patience)
    from elsv.stores.sqlite import SqliteStore, file_of

    return SqliteStore(file_of(text), create)


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
    found = []
    with store.reading() as transaction:
        names = transaction.rows("SELECT name, created FROM elsv_campaign WHERE version > 0 ORDER BY name")
        for name, created in names:
            log = read(store, transaction, name)
            settings, tallies, unreadable = log.settings, log.tallies(), None
            try:
                _ = log.problem
            except ElsvError as error:  # the others are listed all the same
                unreadable = str(error)
            used = sum(tally.used for tally in tallies)
            about = settings.policy, len(tallies), used, settings.horizon, log.version, unreadable
            found.append(Listed(name, in_iso(created), settings.phase(used), *about))
    return found


def begin(
    store: Store,
    name: str,
    problem: Problem | None,
    seed: int | None,
    given: dict[str, Any],
    now: float,
    who: str | None,
) -> None:
    """Make the campaign if it is not there, and write a version of the settings if `given` changes them."""
    with store.reading() as transaction:
        log = find(transaction, name)
        if log is None and problem is None:
            raise unknown(store, transaction, name)
        if log is not None and log.version:
            if problem is None and not given:
                return
            asked = _as_it_is_now(log, problem)
            if _wanted(log, asked, given) == log.settings and not _difference(log.problem, asked):
                return
    with store.writing() as writing:
        if log is None and problem is not None:
            create(writing, name, now, problem, seed)
        log = read(store, writing, name, hold=True)
        asked = _as_it_is_now(log, problem)
        if asked is not None and (apart := _difference(log.problem, asked)):
            if log.decisions or any(t.past for t in log.tallies()):
                raise InvalidInputError(
                    f"{apart} of a campaign with outcomes cannot change; "
                    "begin another one under a new name (its history can be imported)"
                )
            log.replace_problem(asked)
        wanted = _wanted(log, asked, given)
        if wanted.policy is not None:
            _ = Chooser.of(log.problem, wanted, log.tallies()).asked.belief  # every decision needs it
        if not log.version or wanted != log.settings:
            log.append_settings(wanted, now, who)
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
    """Begin a campaign; False if it was begun in the same way before, whatever has changed since.

    If it was begun with another problem or other settings, that is an error.
    """
    made = Settings(horizon=problem.horizon).changed(problem, **_with_arms(problem, given))
    _ = problem.belief  # which every decision needs; it may take its time, so before the transaction
    make_policy(made.policy or DEFAULT_POLICY, problem)
    with store.writing() as writing:
        if find(writing, name) is None:
            create(writing, name, now, problem, seed)
        log = read(store, writing, name, hold=True)
        if log.version == 0:
            log.append_settings(made, now, who)
            log.release()
            return True
        others = (key for key, value in vars(log.settings_of(1)).items() if value != getattr(made, key))
        apart = _difference(parsed(log.problems()[0]), problem)
        apart = apart or ("seed" if seed not in (None, log.seed) else ", ".join(others))
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

    `given` has settings by their names, ``horizon``, ``paused`` and ``ended`` too; all others stay.
    ``withdraw`` and ``restore`` name one arm, ``withdrawn`` all that are not on offer. `expected` is the
    version that the caller has seen; another one is an error.
    """
    with appending(store, name) as log:
        if expected is not None and expected != log.version:
            raise OtherVersionError(
                f"the settings must be those of version {expected}, got version {log.version}; look at them "
                "again"
            )
        before, problem = log.settings, log.problem
        _check_horizon(before.horizon, given.get("horizon", before.horizon), log)
        changes = _with_arms(problem, _with_offer(before, problem, given))
        if "ended" in changes:
            changes |= _ending(before, given, log.used())
        after = before.changed(problem, **changes)
        if after.policy is not None and (after.policy, after.withdrawn) != (before.policy, before.withdrawn):
            Chooser.of(problem, after, log.tallies())
        if after != before:
            log.append_settings(after, now, who)
        return after, log.version


def add(
    store: Store, name: str, now: float, who: str | None, arm: str, reward: float, **about: Any
) -> tuple[int, Problem]:
    """Add an arm (`with_arm`); return its number, from 0, and the problem with it.

    Its row and the kernels of another structure take time, so both come before the transaction.
    """
    while True:
        with reading(store, name) as seen:
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


def with_arm(
    problem: Problem,
    outcomes: FloatArray,
    name: str,
    reward: float,
    expect: Interval | None = None,
    after: str | int | None = None,
    segment: str | int | None = None,
    structure: Stated | None = None,
) -> Problem:
    """Return the problem with one more arm, the last.

    `outcomes` are successes and failures of the arms so far, history included, ``[N, 2]``; all else is as in
    `Campaign.add`.
    """
    text_of("name of an arm", name)
    if name in problem.names:
        raise InvalidInputError(f"names of arms must differ, got {name!r} again; restore it, or take another")
    if isinstance(reward, bool) or not isinstance(reward, int | float) or not 0 < reward < np.inf:
        raise InvalidInputError(f"reward must be a positive number, got {shown(reward)}")
    if after is not None:
        find_arm(problem, after)
    values = problem.to_dict()
    for key in ("order", "structure"):
        values.pop(key, None)
    values["rewards"] = [*values["rewards"], float(reward)]
    values["names"] = [*values["names"], name]
    values["prior"] = [*values["prior"], [1.0, 1.0]]
    values["segments"] = problem.segments.with_arm(segment)
    known = _restated(problem, problem.structure.to_dict(), reward, after) if structure is None else structure
    made = Problem(**values, structure=known or None)
    rows = made.prior.copy()
    rows[-1] = _row(made, outcomes, expect)
    return made.with_prior(rows)


def _row(made: Problem, outcomes: FloatArray, expect: Interval | None) -> FloatArray:
    """Return the row of the last arm, given what is known of all others by now."""
    if has_own_prior(made.structure):
        return np.ones(2)
    counts = made.prior.copy()
    counts[:-1] += outcomes
    now = made.with_prior(counts)
    if expect is not None:
        return np.asarray(from_expectations(now, {made.names[-1]: expect}, fill=False).problem.prior[-1])
    known = known_arms(now)
    known[-1] = False
    if not known.any():
        return np.ones(2)
    return np.asarray(from_neighbours(neutral(now, known), known)[0].prior[-1])


def _restated(problem: Problem, known: Any, reward: float, after: str | int | None) -> Any:
    """Return what is known of all arms with the new one, as in a problem file; it has its place in orders."""
    if not known or "free" in known:  # a word, or a table
        return known
    if isinstance(known, str):
        restated = _restated(problem, {"order": known}, reward, after)
        return known if restated == {"order": known} else restated
    if set(known) == {"mixture"}:
        return {
            "mixture": [[share, _restated(problem, part, reward, after)] for share, part in known["mixture"]]
        }
    if set(known) == {"order"} and (chain := _chain(known["order"], problem.arms)) is not None:
        place = _place(problem, chain, reward, after)
        if (known["order"], place) in (("decreasing", len(chain)), ("increasing", 0)):
            return known
        longer = [arm + 1 for arm in chain]
        longer.insert(place, problem.arms + 1)
        return {"order": [[a, b] for a, b in itertools.pairwise(longer)]}
    if set(known) == {"unimodal"} and _place(problem, range(problem.arms), reward, after) == problem.arms:
        return known
    new = problem.arms + 1
    raise InvalidInputError(
        "an arm is added by itself where arms are independent, in one order, or last on a curve with one "
        f"peak, got: {problem.structure.describe()}; say what is known of all arms then: structure= "
        f"(--structure), now {json.dumps(known)}; the new arm is number {new}, and [1, {new}] in an order "
        f"says that arm 1 succeeds at least as often as arm {new}"
    )


def _chain(order: Any, arms: int) -> list[int] | None:
    """Return the arms from the one that succeeds most often on; None for a partial order."""
    if isinstance(order, str):
        return list(range(arms)) if order == "decreasing" else list(range(arms))[::-1]
    below = closure(arms, tuple((a - 1, b - 1) for a, b in order)).sum(axis=1)
    if sorted(below.tolist()) != list(range(arms)):
        return None
    return [int(arm) for arm in np.argsort(-below)]


def _place(problem: Problem, chain: Sequence[int], reward: float, after: str | int | None) -> int:
    """Return where the new arm stands in an order."""
    if after is not None:
        rises = len(chain) > 1 and chain.index(0) > chain.index(1)  # people go through it from its other end
        return chain.index(find_arm(problem, after)) + (not rises)
    rewards = np.array([float(problem.rewards[arm]) for arm in chain])
    steps = np.unique(np.sign(np.diff(rewards)))
    if reward in rewards or len(steps) != 1 or steps[0] == 0:
        raise InvalidInputError(
            "the order must have a place for the new arm, and rewards do not tell which; say which arm it "
            f"follows: after={problem.names[-1]!r}"
        )
    return int(np.searchsorted(steps[0] * rewards, steps[0] * reward))


def _as_it_is_now(log: Log, problem: Problem | None) -> Problem | None:
    """Return `problem`; one from before arms were added stands for the present problem with its horizon."""
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
    """Return settings with arms by their numbers, from 0; control and fallback have one for each segment."""
    changes, segments = dict(given), problem.segments
    for key in ("control", "fallback"):
        if changes.get(key) is None:
            continue
        arms = find_arms(problem, changes[key])
        if sorted(segments.of_arm[arms]) != list(range(segments.count)):
            first = [problem.names[group[0]] for group in segments.groups]
            raise InvalidInputError(
                f"{key} needs one arm for each segment ({', '.join(segments.names)}), such as {key}={first}, "
                f"got {', '.join(problem.names[arm] for arm in arms)}"
            )
        changes[key] = segments.each(tuple(sorted(arms, key=lambda arm: int(segments.of_arm[arm]))))
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


def _difference(first: Problem, second: Problem | None) -> str:
    """Say in which of the things that must not change two problems differ; empty if in none."""
    if second is None:
        return ""
    one, other = first.to_dict(), second.to_dict()
    apart = [key for key in _FIXED if one.get(key) != other.get(key)]
    found = ["names of arms" if key == "names" else key for key in apart]
    if first.structure.to_dict() != second.structure.to_dict():
        found.append("structure")
    return ", ".join(found)
