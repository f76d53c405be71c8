"""The log in SQL: appending to it, and keeping the counts that follow from it in the same transaction.

All functions work within a transaction of any store. Those that append are called by a writer that holds the
campaign's row (`hold`), so that events have one order; unique keys keep what must be unique in any case.
"""

from __future__ import annotations

import difflib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

from elsv.campaign.records import (
    CONFLICT,
    CORRECTED,
    DUPLICATE,
    LATE,
    NO_OUTCOME,
    RECORDED,
    TOO_LATE,
    VOID,
    VOIDED,
    Outcome,
    RewardReceipt,
    Row,
    Tally,
    weight_of,
)
from elsv.errors import InvalidInputError
from elsv.stores.base import Store, Transaction

_CAMPAIGN = "SELECT id, problem, seed, version, events, decisions FROM elsv_campaign WHERE name = ?"
_COLUMNS = ", ".join(Row._fields)
_TALLY = ", ".join(field.name for field in fields(Tally))
_IN_ONE_QUERY = 500
Changes = dict[int, Counter[str]]  # by arm and column


class UnknownCampaignError(InvalidInputError):
    """The store has no campaign of that name."""


@dataclass
class Head:
    """The campaign's row: what it is, and how far its log goes. Counted on while a transaction appends."""

    id: int
    problem: str
    seed: int
    version: int
    events: int
    decisions: int

    def next_event(self) -> int:
        """Return the number of the event that is appended now."""
        self.events += 1
        return self.events


def find(transaction: Transaction, name: str) -> Head | None:
    """Return the campaign of that name, or None."""
    found = transaction.rows(_CAMPAIGN, (name,))
    return Head(*found[0]) if found else None


def hold(store: Store, transaction: Transaction, name: str) -> Head:
    """Return the campaign and keep other writers of it waiting until the transaction ends."""
    found = transaction.rows(store.locked(_CAMPAIGN), (name,))
    if not found:
        raise unknown(transaction, store, name)
    return Head(*found[0])


def unknown(transaction: Transaction, store: Store, name: str) -> UnknownCampaignError:
    """Return the error for a name that no campaign of the store has, with the nearest that one has."""
    names = [known for (known,) in transaction.rows("SELECT name FROM elsv_campaign WHERE version > 0")]
    near = difflib.get_close_matches(name, names, n=1)
    remedy = f"did you mean {near[0]!r}?" if near else "give its problem to begin one"
    return UnknownCampaignError(f"there is no campaign {name!r} in {store.place}; {remedy}")


def release(transaction: Transaction, head: Head) -> None:
    """Write how far the log goes now."""
    transaction.run(
        "UPDATE elsv_campaign SET version = ?, events = ?, decisions = ? WHERE id = ?",
        (head.version, head.events, head.decisions, head.id),
    )


@contextmanager
def appending(store: Store, name: str) -> Iterator[tuple[Transaction, Head]]:
    """Begin a transaction that holds a campaign, and write at its end how far the log goes."""
    with store.writing() as writing:
        head = hold(store, writing, name)
        yield writing, head
        release(writing, head)


def create(transaction: Transaction, name: str, at: float, problem: str, seed: int, arms: int) -> None:
    """Add a campaign without settings; one that was added meanwhile stays as it is."""
    transaction.run(
        "INSERT INTO elsv_campaign (name, created, problem, seed, version, events, decisions) "
        "VALUES (?, ?, ?, ?, 0, 0, 0) ON CONFLICT (name) DO NOTHING",
        (name, at, problem, seed),
    )
    head = find(transaction, name)
    assert head is not None
    add_arms(transaction, head, arms)


def replace_problem(transaction: Transaction, head: Head, problem: str, arms: int) -> None:
    """Put another problem in the place of one that has no decisions yet."""
    transaction.run("UPDATE elsv_campaign SET problem = ? WHERE id = ?", (problem, head.id))
    transaction.run("DELETE FROM elsv_tally WHERE campaign = ?", (head.id,))
    add_arms(transaction, head, arms)


def add_arms(transaction: Transaction, head: Head, arms: int) -> None:
    """Add a row of counts for every arm that has none."""
    transaction.many(
        "INSERT INTO elsv_tally (campaign, arm) VALUES (?, ?) ON CONFLICT (campaign, arm) DO NOTHING",
        [(head.id, arm) for arm in range(arms)],
    )


def append_arm(
    transaction: Transaction, head: Head, problem: str, arm: int, at: float, who: str | None
) -> None:
    """Add an arm: the next version of the problem. The log keeps the one before."""
    transaction.run(
        "INSERT INTO elsv_arm (campaign, arm, event, at, who, problem) VALUES (?, ?, ?, ?, ?, ?)",
        (head.id, arm, head.next_event(), at, who, head.problem),
    )
    transaction.run("UPDATE elsv_campaign SET problem = ? WHERE id = ?", (problem, head.id))
    head.problem = problem
    add_arms(transaction, head, arm + 1)


def problems(transaction: Transaction, head: Head) -> list[str]:
    """Return all versions of the problem as text, the present one last."""
    query = "SELECT problem FROM elsv_arm WHERE campaign = ? ORDER BY event"
    return [*(text for (text,) in transaction.rows(query, (head.id,))), head.problem]


def append_settings(
    transaction: Transaction, head: Head, at: float, content: str, who: str | None = None
) -> None:
    """Add a version of the settings."""
    head.version += 1
    transaction.run(
        "INSERT INTO elsv_setting (campaign, version, event, at, content, who) VALUES (?, ?, ?, ?, ?, ?)",
        (head.id, head.version, head.next_event(), at, content, who),
    )


def settings(transaction: Transaction, head: Head, version: int | None = None) -> str:
    """Return the present settings as text, or those of an earlier version."""
    query = "SELECT content FROM elsv_setting WHERE campaign = ? AND version = ?"
    return str(transaction.rows(query, (head.id, head.version if version is None else version))[0][0])


def tallies(transaction: Transaction, head: Head) -> list[Tally]:
    """Return the counts of every arm."""
    query = f"SELECT {_TALLY} FROM elsv_tally WHERE campaign = ? ORDER BY arm"
    return [Tally(*row) for row in transaction.rows(query, (head.id,))]


def used(transaction: Transaction, head: Head) -> int:
    """Return how many of the customers planned for have come."""
    return sum(tally.used for tally in tallies(transaction, head))


def add(transaction: Transaction, head: Head, changes: Mapping[int, Mapping[str, int]]) -> None:
    """Add to the counts of arms, in the order of the arms."""
    for arm, mine in sorted(changes.items()):
        sums = ", ".join(f"{column} = {column} + ?" for column in mine)
        transaction.run(
            f"UPDATE elsv_tally SET {sums} WHERE campaign = ? AND arm = ?", (*mine.values(), head.id, arm)
        )


def append_decisions(transaction: Transaction, head: Head, rows: Sequence[Row]) -> None:
    """Add decisions; they are open now. `rows` carry their numbers and events."""
    marks = ", ".join("?" * (1 + len(Row._fields)))
    transaction.many(
        f"INSERT INTO elsv_decision (campaign, {_COLUMNS}) VALUES ({marks})",
        [(head.id, *row) for row in rows],
    )
    transaction.many(
        "INSERT INTO elsv_open (campaign, number, arm, propensity, expires) VALUES (?, ?, ?, ?, ?)",
        [(head.id, r.number, r.arm, r.propensity, r.expires) for r in rows],
    )
    changes: Changes = defaultdict(Counter)
    for row in rows:
        changes[row.arm].update(decided=1, open=1, rested=int(row.place is None))
        for arm in without_support(row.propensities):
            changes[arm]["unsupported"] += 1
    add(transaction, head, changes)
    head.decisions += len(rows)


def without_support(propensities: str) -> list[int]:
    """Return the arms that could not have been chosen; nothing stands for one that was not on offer."""
    return [arm for arm, text in enumerate(propensities.split(",")) if text and float(text) == 0.0]


def append_outcome(
    transaction: Transaction, head: Head, decision: Row, told: Outcome, at: float, accept_late: bool
) -> RewardReceipt:
    """Add what is reported of a decision and count it, or say why it changes nothing.

    What is due must have expired before.
    """
    if told.success is None:
        return _append_void(transaction, head, decision, at, told.who)
    if told.corrects:
        return _append_correction(transaction, head, decision, told.success, at, told.who)
    return _append_reward(transaction, head, decision, told.success, at, accept_late)


def _append_reward(
    transaction: Transaction, head: Head, decision: Row, success: bool, at: float, accept_late: bool
) -> RewardReceipt:
    mine = (head.id, decision.number)
    in_time = transaction.run("DELETE FROM elsv_open WHERE campaign = ? AND number = ?", mine) == 1
    if not in_time and _is_void(transaction, mine):
        return RewardReceipt(decision.id, VOID, None, False)
    counted = in_time or accept_late
    added = transaction.run(
        "INSERT INTO elsv_reward (campaign, number, event, at, success, late, counted) "
        "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (campaign, number) DO NOTHING",
        (*mine, head.events + 1, at, int(success), int(not in_time), int(counted)),
    )
    if not added:
        ((before, counts),) = _reward(transaction, mine)
        return RewardReceipt(decision.id, DUPLICATE if before == success else CONFLICT, before, counts)
    head.next_event()
    if counted:
        weight, square = weight_of(decision.propensity)
        taken_back = int(not in_time and success)  # a late success was counted as a failure before
        as_failure = int(in_time and not success) - taken_back
        changes = {
            "open": -int(in_time),
            "expired": -int(not in_time),
            "late": int(not in_time),
            "successes": int(success),
            "failures": int(not success),
            "won_weight": weight * success,
            "won_squares": square * success,
            "lost_weight": weight * as_failure,
            "lost_squares": square * as_failure,
        }
        add(transaction, head, {decision.arm: changes})
    status = RECORDED if in_time else LATE if counted else TOO_LATE
    return RewardReceipt(decision.id, status, success, counted)


def _append_void(
    transaction: Transaction, head: Head, decision: Row, at: float, who: str | None
) -> RewardReceipt:
    """Take a decision back that nobody saw: it is open or expired until now, and gives its place back."""
    mine = (head.id, decision.number)
    if known := _reward(transaction, mine):
        return RewardReceipt(decision.id, CONFLICT, *known[0])
    added = transaction.run(
        "INSERT INTO elsv_void (campaign, number, event, at, who) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (campaign, number) DO NOTHING",
        (*mine, head.events + 1, at, who),
    )
    if not added:
        return RewardReceipt(decision.id, DUPLICATE, None, False)
    head.next_event()
    was_open = transaction.run("DELETE FROM elsv_open WHERE campaign = ? AND number = ?", mine) == 1
    changes = {"voided": 1, "rested": -int(decision.place is None), "open": -int(was_open)}
    if not was_open:
        weight, square = weight_of(decision.propensity)
        changes |= {"expired": -1, "lost_weight": -weight, "lost_squares": -square}
    add(transaction, head, {decision.arm: changes})
    return RewardReceipt(decision.id, VOIDED, None, False)


def _append_correction(
    transaction: Transaction, head: Head, decision: Row, success: bool, at: float, who: str | None
) -> RewardReceipt:
    """Replace the outcome of a decision; the correction keeps the one before."""
    mine = (head.id, decision.number)
    known = _reward(transaction, mine)
    if not known:
        status = VOID if _is_void(transaction, mine) else NO_OUTCOME
        return RewardReceipt(decision.id, status, None, False)
    ((before, counted),) = known
    if before == success:
        return RewardReceipt(decision.id, DUPLICATE, before, counted)
    transaction.run(
        "INSERT INTO elsv_correction (campaign, event, number, at, who, before, success) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (head.id, head.next_event(), decision.number, at, who, int(before), int(success)),
    )
    transaction.run(
        "UPDATE elsv_reward SET success = ? WHERE campaign = ? AND number = ?", (int(success), *mine)
    )
    if counted:
        (weight, square), more = weight_of(decision.propensity), 1 if success else -1
        changes = {"successes": more, "failures": -more, "won_weight": more * weight}
        changes |= {"won_squares": more * square, "lost_weight": -more * weight}
        add(transaction, head, {decision.arm: changes | {"lost_squares": -more * square}})
    return RewardReceipt(decision.id, CORRECTED, success, counted)


def _reward(transaction: Transaction, decision: tuple[int, int]) -> list[tuple[bool, bool]]:
    """Return the outcome of a decision and whether it counts; [] without one."""
    query = "SELECT success, counted FROM elsv_reward WHERE campaign = ? AND number = ?"
    return [(bool(success), bool(counted)) for success, counted in transaction.rows(query, decision)]


def _is_void(transaction: Transaction, decision: tuple[int, int]) -> bool:
    return bool(transaction.rows("SELECT 1 FROM elsv_void WHERE campaign = ? AND number = ?", decision))


def is_due(transaction: Transaction, head: Head, now: float) -> bool:
    """Return whether the window of an open decision has passed."""
    query = "SELECT 1 FROM elsv_open WHERE campaign = ? AND expires <= ? LIMIT 1"
    return bool(transaction.rows(query, (head.id, now)))


def expire(transaction: Transaction, head: Head, now: float) -> int:
    """Close the open decisions whose window has passed, as failures; return how many."""
    if not is_due(transaction, head, now):  # by its index alone; the next query may read all that is open
        return 0
    query = (
        "SELECT number, arm, propensity FROM elsv_open WHERE campaign = ? AND expires <= ? ORDER BY number"
    )
    due = transaction.rows(query, (head.id, now))
    transaction.run("DELETE FROM elsv_open WHERE campaign = ? AND expires <= ?", (head.id, now))
    transaction.many(
        "INSERT INTO elsv_expiration (campaign, number, event, at) VALUES (?, ?, ?, ?)",
        [(head.id, number, head.next_event(), now) for number, *_ in due],
    )
    changes: Changes = defaultdict(Counter)
    for _, arm, propensity in due:
        weight, square = weight_of(propensity)
        changes[arm].update(open=-1, expired=1, lost_weight=weight, lost_squares=square)
    add(transaction, head, changes)
    return len(due)


def append_history(
    transaction: Transaction, head: Head, source: str, at: float, counts: dict[int, tuple[int, int]]
) -> bool:
    """Add outcomes from before the campaign, (successes, failures) by arm; False if `source` is there."""
    query = "SELECT 1 FROM elsv_history WHERE campaign = ? AND source = ? LIMIT 1"
    if transaction.rows(query, (head.id, source)):
        return False
    for arm, (successes, failures) in sorted(counts.items()):
        transaction.run(
            "INSERT INTO elsv_history (campaign, source, arm, event, at, successes, failures) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (head.id, source, arm, head.next_event(), at, successes, failures),
        )
        add(transaction, head, {arm: {"past_successes": successes, "past_failures": failures}})
    return True


def forget(transaction: Transaction, head: Head, customer: str, at: float, who: str | None) -> int:
    """Remove the name of a customer, and the keys that name the customer's requests; return the decisions."""
    mine = (head.id, customer)
    transaction.run(
        "DELETE FROM elsv_request WHERE campaign = ? AND request IN (SELECT q.request FROM elsv_request q "
        "JOIN elsv_decision d ON d.campaign = q.campaign AND d.number = q.number "
        "WHERE d.campaign = ? AND d.customer = ?)",
        (head.id, *mine),
    )
    count = transaction.run(
        "UPDATE elsv_decision SET customer = NULL WHERE campaign = ? AND customer = ?", mine
    )
    if count:
        transaction.run(
            "INSERT INTO elsv_forgotten (campaign, event, at, who, decisions) VALUES (?, ?, ?, ?, ?)",
            (head.id, head.next_event(), at, who, count),
        )
    return count


def decisions_where(transaction: Transaction, head: Head, column: str, values: Sequence[Any]) -> list[Row]:
    """Return the decisions whose `column` is one of `values`, by their numbers."""
    query = f"SELECT {_COLUMNS} FROM elsv_decision WHERE campaign = ? AND {column} IN ({{}})"
    found = (Row(*row) for row in _listed(transaction, query, values, head.id))
    return sorted(found, key=lambda row: row.number)


def homes(transaction: Transaction, ids: Sequence[str]) -> dict[str, str]:
    """Return the names of the campaigns that these decisions belong to; unknown ones are left out."""
    query = "SELECT d.id, c.name FROM elsv_decision d JOIN elsv_campaign c ON c.id = d.campaign"
    return dict(_listed(transaction, f"{query} WHERE d.id IN ({{}})", ids))


def decisions_of_customers(
    transaction: Transaction,
    head: Head,
    customers: Sequence[str],
    arms: Sequence[int],
    only_open: bool = False,
) -> dict[str, Row]:
    """Return the latest decision of each customer who has one of some `arms` that is not void.

    Only of those whose outcome is awaited, if `only_open`.
    """
    joined, more = "LEFT JOIN elsv_void o", "AND o.number IS NULL"
    if only_open:
        joined, more = "JOIN elsv_open o", ""
    query = (
        f"SELECT MAX(d.number) FROM elsv_decision d {joined} ON o.campaign = d.campaign "
        "AND o.number = d.number WHERE d.campaign = ? AND d.customer IN ({}) "
        f"AND d.arm IN ({', '.join(map(str, arms))}) {more} GROUP BY d.customer"
    )
    numbers = [number for (number,) in _listed(transaction, query, customers, head.id)]
    return {str(row.customer): row for row in decisions_where(transaction, head, "number", numbers)}


def append_request(
    transaction: Transaction, head: Head, request: str, answer: Sequence[tuple[Row, bool]]
) -> None:
    """Remember what was answered to a request: decisions, and whether each had been made before."""
    transaction.many(
        "INSERT INTO elsv_request (campaign, request, place, number, made) VALUES (?, ?, ?, ?, ?)",
        [
            (head.id, request, place, row.number, int(not repeated))
            for place, (row, repeated) in enumerate(answer)
        ],
    )


def seen_by_others(transaction: Transaction, head: Head, request: str) -> set[int]:
    """Return the decisions that a request was answered with and that it did not make, or not it alone got."""
    query = (
        "SELECT q.number FROM elsv_request q WHERE q.campaign = ? AND q.request = ? AND (q.made = 0 OR "
        "EXISTS (SELECT 1 FROM elsv_request o WHERE o.campaign = q.campaign AND o.number = q.number "
        "AND o.request <> q.request))"
    )
    return {number for (number,) in transaction.rows(query, (head.id, request))}


def disown(transaction: Transaction, head: Head, request: str) -> None:
    """Forget a request whose answer nobody saw; another one that got the same decision made it then.

    So that a decision is void when none of the requests that got it was seen.
    """
    rows = transaction.rows(
        "SELECT number, made FROM elsv_request WHERE campaign = ? AND request = ?", (head.id, request)
    )
    transaction.run("DELETE FROM elsv_request WHERE campaign = ? AND request = ?", (head.id, request))
    for number, made in rows:
        if made:
            transaction.run(
                "UPDATE elsv_request SET made = 1 WHERE campaign = ? AND number = ? AND request = "
                "(SELECT MIN(request) FROM elsv_request WHERE campaign = ? AND number = ?)",
                (head.id, number, head.id, number),
            )


def answer_to(transaction: Transaction, head: Head, request: str) -> list[Row]:
    """Return what was answered to a request before; empty if it is new."""
    query = "SELECT number FROM elsv_request WHERE campaign = ? AND request = ? ORDER BY place"
    numbers = [number for (number,) in transaction.rows(query, (head.id, request))]
    found = {row.number: row for row in decisions_where(transaction, head, "number", sorted(set(numbers)))}
    return [found[number] for number in numbers]


def _listed(
    transaction: Transaction, query: str, values: Sequence[Any], *first: Any
) -> list[tuple[Any, ...]]:
    """Return what a query finds whose ``{}`` lists `values`, however many; `first` come before these."""
    found = []
    for k in range(0, len(values), _IN_ONE_QUERY):
        part = values[k : k + _IN_ONE_QUERY]
        found += transaction.rows(query.format(", ".join("?" * len(part))), (*first, *part))
    return found
