"""Requests for decisions and outcomes of one campaign, many of them in one transaction.

Requests that wait together are decided one after the other, as if they had come alone. Where a database has
one writer (SQLite), a server plans them on a moment of the log before anything is locked: a `Plan`. It is
appended as it is if the log has not gone on meanwhile. Otherwise the requests are planned anew inside the
transaction.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from elsv._base.numbers import shown
from elsv.campaign import log
from elsv.campaign.choosing import Chooser
from elsv.campaign.log import Head
from elsv.campaign.opening import problem_of, settings_of
from elsv.campaign.records import (
    CONFLICT,
    NO_OUTCOME,
    REFUSED,
    VOID,
    Decision,
    Outcome,
    RewardReceipt,
    Row,
    Tally,
    decision_of,
)
from elsv.campaign.settings import NEVER, OPEN, Settings, problem_as_planned
from elsv.errors import InvalidInputError
from elsv.policies import Policy
from elsv.segments import Segments, number_of
from elsv.stores.base import Store, Transaction

Outcomes = Sequence[Outcome]
T = TypeVar("T")
Customer = tuple[str | None, int | None]  # name, None: not known; number of the segment, from 0


class UnknownDecisionError(InvalidInputError):
    """An outcome was reported for a decision that the campaign does not have."""


class NotPreparedError(Exception):
    """Problem, policy or offer have changed since this process prepared to decide; nothing was written."""


class RefusedReportError(InvalidInputError):
    """A void or a correction contradicts the log; nothing was changed."""


class KeyReusedError(InvalidInputError):
    """A key that has been answered came again with another request."""


@dataclass(frozen=True)
class DecisionRequest:
    """Customers to decide for (None: not known), and the key under which the request is answered once."""

    customers: Sequence[str | None]
    key: str | None = None
    segment: str | int | None = None  # of all these customers, by name or number from 1


@dataclass(frozen=True)
class Plan:
    """Answers that are ready to be appended, and the moment of the log that they follow from."""

    before: Head
    after: Head
    now: float
    rows: list[Row]  # new decisions
    answers: list[list[tuple[Row, bool]]]  # to each request; whether a decision had been made before
    keys: list[tuple[str, list[tuple[Row, bool]]]]  # new ones, and what they are answered with

    @property
    def decisions(self) -> list[list[Decision]]:
        """The answers as callers get them."""
        problem = problem_of(self.before)
        return [[decision_of(row, problem, repeated) for row, repeated in answer] for answer in self.answers]


class Batches:
    """Decides for one campaign and records its outcomes.

    Parameters
    ----------
    store, name
        Where the campaign is kept, and under which name.
    clock
        Returns seconds since 1970.
    own
        A policy of the caller's own, which the store cannot hold.
    """

    def __init__(
        self, store: Store, name: str, clock: Callable[[], float], own: Policy | None = None
    ) -> None:
        self.store, self.name, self._clock, self._own = store, name, clock, own
        self._known: tuple[tuple[object, ...], Chooser] | None = None
        self._ready: tuple[object, ...] | None = None  # version, problem, policy, arms withdrawn
        with store.reading() as reading:
            self.head(reading)

    def prepare(self) -> None:
        """Choose once without writing, so that nobody waits for a lock while this process compiles."""
        if self._ready is None:
            self._prepare()

    def _prepare(self) -> None:
        with self.store.reading() as reading:
            head = self.head(reading)
            tallies = log.tallies(reading, head)
            chooser = self.chooser(reading, head, tallies)
        chooser.choose(tallies, chooser.problem.segments.turns[:1] * 2, head.seed)
        self._ready = _kernels_of(head, chooser.settings)

    def _is_prepared(self, writing: Transaction, head: Head) -> bool:
        """Return whether this process has decided by the present policy, problem and arms on offer."""
        if self._ready is None or self._ready[:2] == (head.version, head.problem):
            return True
        now = _kernels_of(head, settings_of(writing, head))
        if now[1:] == self._ready[1:]:
            self._ready = now
            return True
        return False

    def prepared(self, work: Callable[[], T]) -> T:
        """Return what `work` returns; it is done again if problem or settings had changed before it."""
        self.prepare()
        while True:
            try:
                return work()
            except NotPreparedError:
                self._prepare()

    def plan(self, requests: Sequence[DecisionRequest]) -> Plan:
        """Plan the answers without writing them; open decisions that are due expire first."""
        self.prepare()
        while True:
            now = self.now()
            with self.store.reading() as reading:
                head = self.head(reading)
                if not log.is_due(reading, head, now):
                    found = self._plan(reading, head, requests, now)
                    assert self._known is not None
                    self._ready = _kernels_of(head, self._known[1].settings)
                    return found
            self.expire(now)

    def append(
        self,
        writing: Transaction,
        requests: Sequence[DecisionRequest],
        plan: Plan | None = None,
        outcomes: Sequence[Outcomes] = (),
    ) -> tuple[list[list[Decision]], list[list[RewardReceipt] | UnknownDecisionError]]:
        """Append the decisions that were asked for, then `outcomes`; each list of them all or none.

        Parameters
        ----------
        writing
            A transaction, which may do other work too.
        plan
            Of the same requests; without one they are planned now.
        """
        head = log.hold(self.store, writing, self.name)
        if requests and not self._is_prepared(writing, head):
            raise NotPreparedError
        now = self.now() if plan is None else plan.now
        expired = log.expire(writing, head, now)
        decisions: list[list[Decision]] = []
        if requests:
            if plan is None or plan.before != head or expired:
                plan = self._plan(writing, head, requests, now)
            head = replace(plan.after)
            log.append_decisions(writing, head, plan.rows)
            for key, answer in plan.keys:
                log.append_request(writing, head, key, answer)
            decisions = plan.decisions
        receipts = self._record(writing, head, outcomes, now)
        log.release(writing, head)
        return decisions, receipts

    def expire(self, now: float) -> int:
        """Count open decisions whose window has passed as failures; return how many."""
        with log.appending(self.store, self.name) as (writing, head):
            return log.expire(writing, head, now)

    def head(self, transaction: Transaction) -> Head:
        """Return the campaign's row."""
        found = log.find(transaction, self.name)
        if found is None:
            raise log.unknown(transaction, self.store, self.name)
        return found

    def chooser(self, transaction: Transaction, head: Head, tallies: Sequence[Tally]) -> Chooser:
        """Return how arms are chosen now; made anew when the settings or the history have changed."""
        history = tuple((t.past_successes, t.past_failures) for t in tallies)
        settings = None if self._known is None else self._known[1].settings
        if self._known is None or self._known[0][0] != head.version:
            settings = settings_of(transaction, head)
        assert settings is not None
        taught = tuple((tallies[arm].successes, tallies[arm].lost) for arm in settings.withdrawn)
        known = head.version, head.problem, history, taught
        if self._known is None or self._known[0] != known:
            problem = problem_as_planned(problem_of(head), settings.horizon, history)
            self._known = known, Chooser.of(problem, settings, tallies, self._own)
        return self._known[1]

    def now(self) -> float:
        """Return the time, in seconds since 1970."""
        return time_by(self._clock)

    def _plan(
        self, transaction: Transaction, head: Head, requests: Sequence[DecisionRequest], now: float
    ) -> Plan:
        before, head = replace(head), replace(head)
        tallies = log.tallies(transaction, head)
        chooser = self.chooser(transaction, head, tallies)
        segments = chooser.problem.segments
        customers = [
            [(customer, number_of(segments, request.segment)) for customer in request.customers]
            for request in requests
        ]
        answered = {r.key: log.answer_to(transaction, head, r.key) for r in requests if r.key is not None}
        fresh: list[int] = []  # requests whose key is new, or that have none
        seen: set[str | None] = {key for key, rows in answered.items() if rows}
        for place, request in enumerate(requests):
            if request.key is None or request.key not in seen:
                fresh.append(place)
                seen.add(request.key)
        asked = [customer for place in fresh for customer in customers[place]]
        rows, found = _decide(transaction, head, chooser, tallies, asked, now)
        decided, keys = iter(found), []
        answers: list[list[tuple[Row, bool]]] = [[] for _ in requests]
        for place in fresh:
            answers[place] = [next(decided) for _ in customers[place]]
            key = requests[place].key
            if key is not None:
                answered[key] = [row for row, _ in answers[place]]
                keys.append((key, answers[place]))
        for place, request in enumerate(requests):
            if request.key is not None and not answers[place]:
                _check_same(request.key, answered[request.key], customers[place], segments)
                answers[place] = [(row, True) for row in answered[request.key]]
        return Plan(before, head, now, rows, answers, keys)

    def _record(
        self, writing: Transaction, head: Head, requests: Sequence[Outcomes], now: float
    ) -> list[list[RewardReceipt] | UnknownDecisionError]:
        if not requests:
            return []
        ids = list({told.id for outcomes in requests for told in outcomes})
        rows = {row.id: row for row in log.decisions_where(writing, head, "id", ids)}
        late = settings_of(writing, head).accept_late
        found: list[list[RewardReceipt] | UnknownDecisionError] = []
        for outcomes in requests:
            unknown = [told.id for told in outcomes if told.id not in rows]
            if unknown:
                words = f"campaign {self.name!r} has no decision {shown(unknown[0])}; give an id from decide"
                found.append(UnknownDecisionError(words))
            else:
                append = partial(log.append_outcome, writing, head, at=now, accept_late=late)
                found.append([append(rows[told.id], told) for told in outcomes])
        return found


def _kernels_of(head: Head, settings: Settings) -> tuple[object, ...]:
    """Return what decides which kernels a decision needs, after the version of the settings."""
    return head.version, head.problem, settings.policy, settings.withdrawn


def check_taken(receipt: RewardReceipt) -> RewardReceipt:
    """Return the receipt of a void or a correction, or raise if it contradicts the log."""
    if receipt.status not in REFUSED:
        return receipt
    known = "a success" if receipt.success else "a failure"
    why = {
        CONFLICT: f"a decision whose outcome is known was seen: {receipt.id} is {known}; correct the outcome "
        "instead (correct)",
        VOID: f"a void decision has no outcome: {receipt.id} was voided; leave it",
        NO_OUTCOME: f"only an outcome can be corrected: {receipt.id} has none; report it (reward)",
    }
    raise RefusedReportError(why[receipt.status])


def time_by(clock: Callable[[], float]) -> float:
    """Return the time by a clock, in seconds since 1970."""
    now = float(clock())
    if not math.isfinite(now):
        raise InvalidInputError(f"clock must return seconds since 1970, got {now}")
    return now


def _decide(
    transaction: Transaction,
    head: Head,
    chooser: Chooser,
    tallies: Sequence[Tally],
    customers: Sequence[Customer],
    now: float,
) -> tuple[list[Row], list[tuple[Row, bool]]]:
    """Return the decisions to append, and one for each customer with whether it had been made before.

    Nothing is written; `head` counts the events. A sticky customer who has a decision gets it again, also
    within one call, unless it was made for another segment.
    """
    sticky, first = chooser.settings.sticky != NEVER, 1 + sum(t.used for t in tallies)
    answers = _decided_for(transaction, head, chooser, customers) if sticky else {}
    taken, fresh = set(answers), []
    for place, who in enumerate(customers):
        if who[0] is not None and sticky:
            if who in taken:
                continue
            taken.add(who)
        fresh.append(place)
    made: dict[int, Row] = {}
    expires = None if chooser.settings.window is None else now + chooser.settings.window
    choices = chooser.choose(tallies, [customers[place][1] for place in fresh], head.seed)
    for place, choice in zip(fresh, choices, strict=True):
        made[place] = Row(
            number=head.decisions + 1 + len(made),
            event=head.next_event(),
            id=uuid.uuid4().hex,
            arm=choice.arm,
            propensity=choice.propensity,
            propensities=choice.in_text(),
            reason=choice.reason,
            at=now,
            expires=expires,
            customer=customers[place][0],
            version=head.version,
            segment=customers[place][1],
            place=None if choice.reason == "paused" else first + len(made),
        )
    if sticky:
        answers |= {customers[place]: row for place, row in made.items()}
    found = [
        (made[place], False) if place in made else (answers[who], True) for place, who in enumerate(customers)
    ]
    return list(made.values()), found


def _decided_for(
    transaction: Transaction, head: Head, chooser: Chooser, customers: Sequence[Customer]
) -> dict[Customer, Row]:
    """Return the decisions that customers who are known keep, as customers of their segments."""
    found: dict[Customer, Row] = {}
    only_open = chooser.settings.sticky == OPEN
    for segment in {segment for _, segment in customers}:
        named = [name for name, mine in customers if name is not None and mine == segment]
        if named:
            offered = chooser.offered_to(segment)
            rows = log.decisions_of_customers(transaction, head, named, offered, only_open)
            found |= {(name, segment): row for name, row in rows.items()}
    return found


def _check_same(key: str, answered: Sequence[Row], asked: Sequence[Customer], segments: Segments) -> None:
    """Raise if a request differs from the one that its key has answered."""
    before = [(row.customer, row.segment) for row in answered]
    if before == asked:
        return
    first, second = f"{len(before):,} customers", f"{len(asked):,}"
    if len(before) == len(asked):
        pair = next(pair for pair in zip(before, asked, strict=True) if pair[0] != pair[1])
        first, second = (_in_words(customer, segments) for customer in pair)
    raise KeyReusedError(
        f"a key belongs to one request, and {shown(key)} was used for {first}, got {second}; give each visit "
        "a key of its own"
    )


def _in_words(customer: Customer, segments: Segments) -> str:
    name, segment = customer
    who = "a customer without a name" if name is None else f"customer {shown(name)}"
    return who if segment is None else f"{who} of segment {segments.names[segment]}"
