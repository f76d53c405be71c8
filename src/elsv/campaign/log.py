"""The log in SQL: appending to it, and keeping the counts that follow from it in the same transaction.

A `Log` is that of one campaign within one transaction of any store. Who appends holds the campaign's row
(`appending`), so that events have one order; unique keys keep what must be unique in any case.
"""

from __future__ import annotations

import difflib
import json
import secrets
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import lru_cache
from typing import Any

from elsv._base.numbers import whole
from elsv.campaign import records
from elsv.campaign.records import Outcome, RewardReceipt, Row, Tally, new_name
from elsv.campaign.settings import Settings
from elsv.errors import CorruptFileError, InvalidInputError
from elsv.problem import Problem
from elsv.segments import Segments
from elsv.stores.base import Store, Transaction

_CAMPAIGN = "SELECT id, problem, seed, version, events, decisions FROM elsv_campaign WHERE name = ?"
_COLUMNS = ", ".join(Row._fields)
_TALLY = ", ".join(field.name for field in fields(Tally))
_IN_ONE_QUERY = 500
Rows = list[tuple[Any, ...]]


class UnknownCampaignError(InvalidInputError):
    """The store has no campaign of that name."""


def find(transaction: Transaction, name: str, query: str = _CAMPAIGN) -> Log | None:
    """Return the log of the campaign of that name, or None."""
    found = transaction.rows(query, (name,))
    return Log(transaction, *found[0]) if found else None


def read(store: Store, transaction: Transaction, name: str, hold: bool = False) -> Log:
    """Return the log of a campaign; `hold`: keep its other writers waiting until the transaction ends."""
    log = find(transaction, name, store.locked(_CAMPAIGN) if hold else _CAMPAIGN)
    if log is None:
        raise unknown(store, transaction, name)
    return log


def unknown(store: Store, transaction: Transaction, name: str) -> UnknownCampaignError:
    """Return the error for a name that no campaign of the store has, with the nearest that one has."""
    names = [known for (known,) in transaction.rows("SELECT name FROM elsv_campaign WHERE version > 0")]
    near = difflib.get_close_matches(name, names, n=1)
    remedy = f"did you mean {near[0]!r}?" if near else "give its problem to begin one"
    return UnknownCampaignError(f"there is no campaign {name!r} in {store.place}; {remedy}")


@contextmanager
def reading(store: Store, name: str) -> Iterator[Log]:
    """Begin to read a campaign's log as it is at one moment."""
    with store.reading() as transaction:
        yield read(store, transaction, name)


@contextmanager
def appending(store: Store, name: str) -> Iterator[Log]:
    """Begin a transaction that holds a campaign, and write at its end how far the log goes."""
    with store.writing() as writing:
        log = read(store, writing, name, hold=True)
        yield log
        log.release()


def create(transaction: Transaction, name: str, at: float, problem: Problem, seed: int | None) -> None:
    """Add a campaign without settings; one that was added meanwhile stays as it is."""
    fixed = secrets.randbits(48) if seed is None else whole("seed", seed, 0)
    transaction.run(
        "INSERT INTO elsv_campaign (name, created, problem, seed, version, events, decisions) "
        "VALUES (?, ?, ?, ?, 0, 0, 0) ON CONFLICT (name) DO NOTHING",
        (new_name(name), at, json.dumps(problem.to_dict()), fixed),
    )
    log = find(transaction, name)
    assert log is not None
    log._count_arms(problem.arms)


def homes(transaction: Transaction, ids: Sequence[str]) -> dict[str, str]:
    """Return the names of the campaigns that these decisions belong to; unknown ones are left out."""
    query = "SELECT d.id, c.name FROM elsv_decision d JOIN elsv_campaign c ON c.id = d.campaign"
    return dict(_listed(transaction, f"{query} WHERE d.id IN ({{}})", ids))


@lru_cache(maxsize=64)
def parsed(text: str) -> Problem:
    """Return the problem that a log keeps as text."""
    try:
        return Problem.from_stored(json.loads(text))
    except (ValueError, TypeError, OSError, RecursionError) as error:
        raise CorruptFileError(
            f"the problem of the campaign cannot be read: {error}; a structure of your own must be "
            "registered first (elsv.structure.register)"
        ) from error


def counts_of(became: str, resting: bool = False, late: bool = False) -> dict[str, int]:
    """Return what one decision adds to the counts of its arm.

    `became`: open, expired, successes, failures or voided; `resting`: it was made while paused; `late`: its
    outcome came after it had expired, and counts.
    """
    return {"decided": 1, became: 1, "late": int(late), "rested": int(resting and became != "voided")}


class Log:
    """A campaign's log: what the campaign is, how far its log goes, and what is appended in a transaction."""

    def __init__(self, transaction: Transaction, number: int, problem: str, seed: int, *reach: int) -> None:
        self._transaction, self.id, self.problem_text, self.seed = transaction, number, problem, seed
        self.version, self.events, self.decisions = reach

    @property
    def moment(self) -> tuple[int, str, int, int, int]:
        """What tells one moment of any log from all others."""
        return self.id, self.problem_text, self.version, self.events, self.decisions

    @property
    def problem(self) -> Problem:
        """The problem that the campaign was begun with, and the arms that were added."""
        return parsed(self.problem_text)

    @property
    def segments(self) -> Segments:
        """The segments of the customers; also where the problem's structure is not registered."""
        values = json.loads(self.problem_text)
        return Segments.from_dict(values, values["names"])

    @property
    def settings(self) -> Settings:
        """The present settings."""
        return self.settings_of(self.version)

    def settings_of(self, version: int) -> Settings:
        """Return a version of the settings."""
        query = "SELECT content FROM elsv_setting WHERE campaign = ? AND version = ?"
        return Settings.from_json(str(self.rows(query, version)[0][0]))

    def problems(self) -> list[str]:
        """Return all versions of the problem as text, the present one last."""
        query = "SELECT problem FROM elsv_arm WHERE campaign = ? ORDER BY event"
        return [*(text for (text,) in self.rows(query)), self.problem_text]

    def tallies(self) -> list[Tally]:
        """Return the counts of every arm."""
        query = f"SELECT {_TALLY} FROM elsv_tally WHERE campaign = ? ORDER BY arm"
        return [Tally(*row) for row in self.rows(query)]

    def used(self) -> int:
        """Return how many of the customers planned for have come."""
        return sum(tally.used for tally in self.tallies())

    def rows(self, query: str, *values: Any) -> Rows:
        """Return what a query finds, whose first value is the campaign's number."""
        return self._transaction.rows(query, (self.id, *values))

    def release(self) -> None:
        """Write how far the log goes now."""
        reached = "UPDATE elsv_campaign SET version = ?, events = ?, decisions = ? WHERE id = ?"
        self._transaction.run(reached, (self.version, self.events, self.decisions, self.id))

    def _run(self, statement: str, *values: Any) -> int:
        return self._transaction.run(statement, (self.id, *values))

    def insert(self, table: str, columns: str, *rows: Sequence[Any], once: str = "") -> bool:
        """Add rows to a table; not one whose column `once` is there already: then it returns False."""
        marks = ", ".join("?" * (2 + columns.count(",")))
        unless = f" ON CONFLICT (campaign, {once}) DO NOTHING" if once else ""
        statement = f"INSERT INTO {table} (campaign, {columns}) VALUES ({marks}){unless}"
        if len(rows) == 1:
            return self._run(statement, *rows[0]) == 1
        self._transaction.many(statement, [(self.id, *row) for row in rows])
        return True

    def _next_event(self) -> int:
        """Return the number of the event that is appended now."""
        self.events += 1
        return self.events

    def _count_arms(self, arms: int) -> None:
        """Add a row of counts for every arm that has none."""
        self.insert("elsv_tally", "arm", *((arm,) for arm in range(arms)), once="arm")

    def _add(self, changes: Mapping[int, Mapping[str, int]]) -> None:
        """Add to the counts of arms, in the order of the arms."""
        for arm, mine in sorted(changes.items()):
            more = {column: count for column, count in mine.items() if count}
            sums = ", ".join(f"{column} = {column} + ?" for column in more)
            if sums:
                statement = f"UPDATE elsv_tally SET {sums} WHERE campaign = ? AND arm = ?"
                self._transaction.run(statement, (*more.values(), self.id, arm))

    def _becomes(self, decision: Row, before: str, after: str, late: bool = False) -> None:
        """Count a decision as something else than before."""
        changes = Counter(counts_of(after, decision.place is None, late))
        changes.subtract(counts_of(before, decision.place is None))
        self._add({decision.arm: changes})

    # The campaign itself.

    def replace_problem(self, problem: Problem) -> None:
        """Put another problem in the place of one that has no decisions yet."""
        self._run("DELETE FROM elsv_tally WHERE campaign = ?")
        self._state(problem)

    def append_arm(self, problem: Problem, at: float, who: str | None) -> None:
        """Add an arm: the next version of the problem. The log keeps the one before."""
        row = problem.arms - 1, self._next_event(), at, who, self.problem_text
        self.insert("elsv_arm", "arm, event, at, who, problem", row)
        self._state(problem)

    def _state(self, problem: Problem) -> None:
        self._count_arms(problem.arms)
        self.problem_text = json.dumps(problem.to_dict())
        stated = "UPDATE elsv_campaign SET problem = ? WHERE id = ?"
        self._transaction.run(stated, (self.problem_text, self.id))

    def append_settings(self, settings: Settings, at: float, who: str | None) -> None:
        """Add a version of the settings."""
        self.version += 1
        row = self.version, self._next_event(), at, settings.to_json(), who
        self.insert("elsv_setting", "version, event, at, content, who", row)

    def append_history(self, source: str, at: float, counts: dict[int, tuple[int, int]]) -> bool:
        """Add outcomes from before the campaign, (won, lost) by arm; False if `source` is there already."""
        if self.rows("SELECT 1 FROM elsv_history WHERE campaign = ? AND source = ? LIMIT 1", source):
            return False
        for arm, (won, lost) in sorted(counts.items()):
            row = source, arm, self._next_event(), at, won, lost
            self.insert("elsv_history", "source, arm, event, at, successes, failures", row)
            self._add({arm: {"past_successes": won, "past_failures": lost}})
        return True

    # Decisions and what becomes of them.

    def append_decisions(self, rows: Sequence[Row]) -> None:
        """Add decisions; they are open now. `rows` carry their numbers and events, the next ones."""
        self.insert("elsv_decision", _COLUMNS, *rows)
        opened = ((r.number, r.arm, r.propensity, r.expires) for r in rows)
        self.insert("elsv_open", "number, arm, propensity, expires", *opened)
        changes: dict[int, Counter[str]] = defaultdict(Counter)
        for row in rows:
            changes[row.arm].update(counts_of("open", row.place is None))
        self._add(changes)
        self.decisions += len(rows)
        self.events += len(rows)

    def append_outcome(self, decision: Row, told: Outcome, at: float, accept_late: bool) -> RewardReceipt:
        """Add what is reported of a decision and count it, or say why it changes nothing.

        What is due must have expired before.
        """
        if told.success is None:
            return self._append_void(decision, at, told.who)
        if told.corrects:
            return self._append_correction(decision, told.success, at, told.who)
        in_time = self._close(decision)
        if not in_time and self._is_void(decision):
            return RewardReceipt(decision.id, records.VOID, None, False)
        counted = in_time or accept_late
        row = decision.number, self.events + 1, at, int(told.success), int(not in_time), int(counted)
        columns = "number, event, at, success, late, counted"
        if not self.insert("elsv_reward", columns, row, once="number"):
            ((known, counts),) = self._reward(decision)
            status = records.DUPLICATE if known == told.success else records.CONFLICT
            return RewardReceipt(decision.id, status, known, counts)
        self.events += 1
        if counted:
            before = "open" if in_time else "expired"
            self._becomes(decision, before, _outcome(told.success), late=not in_time)
        status = records.RECORDED if in_time else records.LATE if counted else records.TOO_LATE
        return RewardReceipt(decision.id, status, told.success, counted)

    def _append_void(self, decision: Row, at: float, who: str | None) -> RewardReceipt:
        """Take a decision back that nobody saw: it is open or expired until now, and gives its place back."""
        if known := self._reward(decision):
            return RewardReceipt(decision.id, records.CONFLICT, *known[0])
        row = decision.number, self.events + 1, at, who
        if not self.insert("elsv_void", "number, event, at, who", row, once="number"):
            return RewardReceipt(decision.id, records.DUPLICATE, None, False)
        self.events += 1
        self._becomes(decision, "open" if self._close(decision) else "expired", "voided")
        return RewardReceipt(decision.id, records.VOIDED, None, False)

    def _append_correction(self, decision: Row, success: bool, at: float, who: str | None) -> RewardReceipt:
        """Replace the outcome of a decision; the correction keeps the one before."""
        known = self._reward(decision)
        if not known:
            status = records.VOID if self._is_void(decision) else records.NO_OUTCOME
            return RewardReceipt(decision.id, status, None, False)
        ((before, counted),) = known
        if before == success:
            return RewardReceipt(decision.id, records.DUPLICATE, before, counted)
        row = self._next_event(), decision.number, at, who, int(before), int(success)
        self.insert("elsv_correction", "event, number, at, who, before, success", row)
        replaced = "UPDATE elsv_reward SET success = ? WHERE campaign = ? AND number = ?"
        self._transaction.run(replaced, (int(success), self.id, decision.number))
        if counted:
            self._becomes(decision, _outcome(before), _outcome(success))
        return RewardReceipt(decision.id, records.CORRECTED, success, counted)

    def _close(self, decision: Row) -> bool:
        """Wait for a decision no longer; return whether it was open."""
        return self._run("DELETE FROM elsv_open WHERE campaign = ? AND number = ?", decision.number) == 1

    def _reward(self, decision: Row) -> list[tuple[bool, bool]]:
        """Return the outcome of a decision and whether it counts; [] without one."""
        query = "SELECT success, counted FROM elsv_reward WHERE campaign = ? AND number = ?"
        return [(bool(success), bool(counted)) for success, counted in self.rows(query, decision.number)]

    def _is_void(self, decision: Row) -> bool:
        return bool(self.rows("SELECT 1 FROM elsv_void WHERE campaign = ? AND number = ?", decision.number))

    def is_due(self, now: float) -> bool:
        """Return whether the window of an open decision has passed."""
        return bool(self.rows("SELECT 1 FROM elsv_open WHERE campaign = ? AND expires <= ? LIMIT 1", now))

    def expire(self, now: float) -> int:
        """Close the open decisions whose window has passed, as failures; return how many."""
        if not self.is_due(now):  # by its index alone; the next query may read all that is open
            return 0
        mine = "FROM elsv_open WHERE campaign = ? AND expires <= ?"
        due = self.rows(f"SELECT number, arm {mine} ORDER BY number", now)
        self._run(f"DELETE {mine}", now)
        self.insert("elsv_expiration", "number, event, at", *((n, self._next_event(), now) for n, _ in due))
        arms = Counter(arm for _, arm in due)
        self._add({arm: {"expired": count, "open": -count} for arm, count in arms.items()})
        return len(due)

    def decisions_where(self, column: str, values: Sequence[Any]) -> list[Row]:
        """Return the decisions whose `column` is one of `values`, by their numbers."""
        query = f"SELECT {_COLUMNS} FROM elsv_decision WHERE campaign = ? AND {column} IN ({{}})"
        rows = (Row(*row) for row in _listed(self._transaction, query, values, self.id))
        return sorted(rows, key=lambda row: row.number)

    def decisions_of_customers(
        self, customers: Sequence[str], arms: Sequence[int], only_open: bool
    ) -> dict[str, Row]:
        """Return each customer's latest decision for one of `arms` that is not void.

        `only_open`: that still awaits its outcome.
        """
        joined, more = "LEFT JOIN elsv_void o", "AND o.number IS NULL"
        if only_open:
            joined, more = "JOIN elsv_open o", ""
        query = (
            f"SELECT MAX(d.number) FROM elsv_decision d {joined} ON o.campaign = d.campaign "
            "AND o.number = d.number WHERE d.campaign = ? AND d.customer IN ({}) "
            f"AND d.arm IN ({', '.join(map(str, arms))}) {more} GROUP BY d.customer"
        )
        numbers = [number for (number,) in _listed(self._transaction, query, customers, self.id)]
        return {str(row.customer): row for row in self.decisions_where("number", numbers)}

    def forget(self, customer: str, at: float, who: str | None) -> int:
        """Remove a customer's name, and the keys that name the customer's requests; return the decisions."""
        theirs = (
            "SELECT q.request FROM elsv_request q JOIN elsv_decision d ON d.campaign = q.campaign "
            "AND d.number = q.number WHERE d.campaign = ? AND d.customer = ?"
        )
        self._run(f"DELETE FROM elsv_request WHERE campaign = ? AND request IN ({theirs})", self.id, customer)
        unnamed = "UPDATE elsv_decision SET customer = NULL WHERE campaign = ? AND customer = ?"
        if count := self._run(unnamed, customer):
            row = self._next_event(), at, who, count
            self.insert("elsv_forgotten", "event, at, who, decisions", row)
        return count

    # Requests by their keys.

    def append_request(self, request: str, answer: Sequence[tuple[Row, bool]]) -> None:
        """Remember what was answered to a request: decisions, and whether each had been made before."""
        rows = ((request, k, row.number, int(not repeated)) for k, (row, repeated) in enumerate(answer))
        self.insert("elsv_request", "request, place, number, made", *rows)

    def answer_to(self, request: str) -> list[Row]:
        """Return what was answered to a request before; empty if it is new."""
        query = "SELECT number FROM elsv_request WHERE campaign = ? AND request = ? ORDER BY place"
        numbers = [number for (number,) in self.rows(query, request)]
        found = {row.number: row for row in self.decisions_where("number", sorted(set(numbers)))}
        return [found[number] for number in numbers]

    def append_unseen(self, request: str, at: float, who: str | None) -> list[RewardReceipt]:
        """Void what was answered to a request that nobody saw, but for what another request got too.

        If there is such a decision the request is forgotten, and the decision is then that of the other one.
        So it becomes void once every request that got it is taken back.
        """
        query = (
            "SELECT q.number FROM elsv_request q WHERE q.campaign = ? AND q.request = ? AND (q.made = 0 OR "
            "EXISTS (SELECT 1 FROM elsv_request o WHERE o.campaign = q.campaign AND o.number = q.number "
            "AND o.request <> q.request))"
        )
        seen = {number for (number,) in self.rows(query, request)}
        found = [
            RewardReceipt(row.id, records.SEEN, None, False)
            if row.number in seen
            else self._append_void(row, at, who)
            for row in self.answer_to(request)
        ]
        if seen:
            mine = "FROM elsv_request WHERE campaign = ? AND request = ?"
            made = [number for (number,) in self.rows(f"SELECT number {mine} AND made = 1", request)]
            self._run(f"DELETE {mine}", request)
            other = "SELECT MIN(request) FROM elsv_request WHERE campaign = ? AND number = ?"
            heirs = "UPDATE elsv_request SET made = 1 WHERE campaign = ? AND number = ? AND request = "
            values = [(self.id, number, self.id, number) for number in made]
            self._transaction.many(f"{heirs} ({other})", values)
        return found


def _outcome(success: bool) -> str:
    return "successes" if success else "failures"


def _listed(transaction: Transaction, query: str, values: Sequence[Any], *first: Any) -> Rows:
    """Return what a query finds whose ``{}`` lists `values`, however many; `first` come before these."""
    found = []
    for k in range(0, len(values), _IN_ONE_QUERY):
        part = values[k : k + _IN_ONE_QUERY]
        found += transaction.rows(query.format(", ".join("?" * len(part))), (*first, *part))
    return found
