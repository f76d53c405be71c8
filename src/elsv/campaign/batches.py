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
from dataclasses import dataclass
from typing import TypeVar

from elsv._base.numbers import shown
from elsv.campaign import records
from elsv.campaign.choosing import Chooser
from elsv.campaign.log import Log, appending, read, reading
from elsv.campaign.records import Decision, Outcome, RewardReceipt, Row, Tally, decision_of
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


Answer = list[tuple[Row, bool]]
"""Decisions for one request, and whether each had been made before."""


@dataclass(frozen=True)
class Plan:
    """Answers that are ready to be appended, and the moment of the log that they follow from."""

    moment: tuple[object, ...]
    now: float
    rows: list[Row]  # new decisions
    decisions: list[list[Decision]]  # the answer to each request, as callers get it
    keys: list[tuple[str, Answer]]  # new ones, and what they are answered with


class Batches:
    """Decides for one campaign and records its outcomes.

    `clock` returns seconds since 1970; `own` is a policy of the caller's own, which the store cannot hold.
    """

    def __init__(
        self, store: Store, name: str, clock: Callable[[], float], own: Policy | None = None
    ) -> None:
        self.store, self.name, self._clock, self._own = store, name, clock, own
        self._known: tuple[tuple[object, ...], Chooser] | None = None
        self._current: tuple[tuple[int, int], Settings] | None = None  # of campaign and version
        self._ready: set[tuple[object, ...]] = set()  # problems, policies and offers that kernels are for
        with reading(store, name):
            pass  # it must be there

    def prepare(self) -> None:
        """Choose once without writing, so that nobody waits for a lock while this process compiles."""
        with reading(self.store, self.name) as log:
            tallies = log.tallies()
            chooser, kernels = self.chooser(log, tallies), self._kernels(log)
        if kernels not in self._ready:
            chooser.choose(tallies, chooser.problem.segments.turns[:1] * 2, log.seed)
            self._ready.add(kernels)

    def prepared(self, work: Callable[[], T]) -> T:
        """Return what `work` returns; it is done again if problem or settings had changed before it."""
        if not self._ready:
            self.prepare()
        while True:
            try:
                return work()
            except NotPreparedError:
                self.prepare()

    def _settings(self, log: Log) -> Settings:
        """Return the present settings, which are read once for each version."""
        if self._current is None or self._current[0] != (log.id, log.version):
            self._current = (log.id, log.version), log.settings
        return self._current[1]

    def _kernels(self, log: Log) -> tuple[object, ...]:
        """Return what decides which kernels a decision needs."""
        settings = self._settings(log)
        return log.problem_text, settings.policy, settings.withdrawn

    def plan(self, requests: Sequence[DecisionRequest]) -> Plan:
        """Plan the answers without writing them; open decisions that are due expire first."""
        while True:
            now = self.now()
            with reading(self.store, self.name) as log:
                if not log.is_due(now):
                    plan = self._plan(log, requests, now)
                    self._ready.add(self._kernels(log))
                    return plan
            self.expire(now)

    def append(
        self,
        writing: Transaction,
        requests: Sequence[DecisionRequest],
        plan: Plan | None = None,
        outcomes: Sequence[Outcomes] = (),
    ) -> tuple[list[list[Decision]], list[list[RewardReceipt] | UnknownDecisionError]]:
        """Append the decisions that were asked for, then `outcomes`; each list of them all or none.

        The transaction may do other work too. A `plan` is of the same requests; without one they are planned
        now.
        """
        log = read(self.store, writing, self.name, hold=True)
        if requests and self._ready and self._kernels(log) not in self._ready:
            raise NotPreparedError
        now = self.now() if plan is None else plan.now
        expired = log.expire(now)
        decisions: list[list[Decision]] = []
        if requests:
            if plan is None or plan.moment != log.moment or expired:
                plan = self._plan(log, requests, now)
            log.append_decisions(plan.rows)
            for key, answer in plan.keys:
                log.append_request(key, answer)
            decisions = plan.decisions
        receipts = self._record(log, outcomes, now)
        log.release()
        return decisions, receipts

    def expire(self, now: float) -> int:
        """Count open decisions whose window has passed as failures; return how many."""
        with appending(self.store, self.name) as log:
            return log.expire(now)

    def chooser(self, log: Log, tallies: Sequence[Tally]) -> Chooser:
        """Return how arms are chosen now; made anew when the settings or the history have changed."""
        settings = self._settings(log)
        history = tuple((t.past_successes, t.past_failures) for t in tallies)
        taught = tuple((tallies[arm].successes, tallies[arm].lost) for arm in settings.withdrawn)
        now = log.version, log.problem_text, history, taught
        if self._known is None or self._known[0] != now:
            problem = problem_as_planned(log.problem, settings.horizon, history)
            self._known = now, Chooser.of(problem, settings, tallies, self._own)
        return self._known[1]

    def now(self) -> float:
        """Return the time, in seconds since 1970."""
        return time_by(self._clock)

    def _plan(self, log: Log, requests: Sequence[DecisionRequest], now: float) -> Plan:
        """Return answers to requests, one after the other; nothing is written.

        A sticky customer who has a decision gets it again, also within these requests, unless it was made for
        another segment.
        """
        tallies = log.tallies()
        chooser = self.chooser(log, tallies)
        segments, sticky = chooser.problem.segments, chooser.settings.sticky != NEVER
        asked = [[(name, number_of(segments, r.segment)) for name in r.customers] for r in requests]
        known: dict[Customer, Row | int] = {}  # decisions, or places among the fresh customers
        if sticky:
            known |= _decided_for(log, chooser, [who for customers in asked for who in customers])
        fresh: list[Customer] = []

        def given(who: Customer) -> tuple[Row | int, bool]:
            if who in known:
                return known[who], True
            if sticky and who[0] is not None:
                known[who] = len(fresh)
            fresh.append(who)
            return len(fresh) - 1, False

        told: dict[str, tuple[list[Customer], list[tuple[Row | int, bool]]]] = {}  # by key: asked, answered
        found, new = [], []
        for request, customers in zip(requests, asked, strict=True):
            key = request.key
            if key is not None and key not in told and (before := log.answer_to(key)):
                told[key] = [(row.customer, row.segment) for row in before], [(row, True) for row in before]
            if key is not None and key in told:
                first, answer = told[key]
                _check_same(key, first, customers, segments)
                found.append([(what, True) for what, _ in answer])
                continue
            found.append([given(who) for who in customers])
            if key is not None:
                told[key] = customers, found[-1]
                new.append((key, len(found) - 1))
        rows = _made(log, chooser, tallies, fresh, now)
        answers = [
            [(rows[what] if isinstance(what, int) else what, again) for what, again in answer]
            for answer in found
        ]
        keys = [(key, answers[place]) for key, place in new]
        problem = chooser.problem
        decisions = [[decision_of(row, problem, again) for row, again in answer] for answer in answers]
        return Plan(log.moment, now, rows, decisions, keys)

    def _record(
        self, log: Log, requests: Sequence[Outcomes], now: float
    ) -> list[list[RewardReceipt] | UnknownDecisionError]:
        if not requests:
            return []
        rows = {row.id: row for row in log.decisions_where("id", list({o.id for r in requests for o in r}))}
        late = self._settings(log).accept_late
        found: list[list[RewardReceipt] | UnknownDecisionError] = []
        for outcomes in requests:
            unknown = [told.id for told in outcomes if told.id not in rows]
            if unknown:
                words = f"campaign {self.name!r} has no decision {shown(unknown[0])}; give an id from decide"
                found.append(UnknownDecisionError(words))
            else:
                found.append([log.append_outcome(rows[told.id], told, now, late) for told in outcomes])
        return found


def check_taken(receipt: RewardReceipt) -> RewardReceipt:
    """Return the receipt of a void or a correction, or raise if it contradicts the log."""
    if receipt.status not in records.REFUSED:
        return receipt
    known = "a success" if receipt.success else "a failure"
    why = {
        records.CONFLICT: f"a decision whose outcome is known was seen: {receipt.id} is {known}; correct the "
        "outcome instead (correct)",
        records.VOID: f"a void decision has no outcome: {receipt.id} was voided; leave it",
        records.NO_OUTCOME: f"only an outcome can be corrected: {receipt.id} has none; report it (reward)",
    }
    raise RefusedReportError(why[receipt.status])


def time_by(clock: Callable[[], float]) -> float:
    """Return the time by a clock, in seconds since 1970."""
    now = float(clock())
    if not math.isfinite(now):
        raise InvalidInputError(f"clock must return seconds since 1970, got {now}")
    return now


def _made(
    log: Log, chooser: Chooser, tallies: Sequence[Tally], customers: Sequence[Customer], now: float
) -> list[Row]:
    """Return a new decision for each customer."""
    window, first = chooser.settings.window, 1 + sum(t.used for t in tallies)
    choices = chooser.choose(tallies, [segment for _, segment in customers], log.seed)
    return [
        Row(
            number=log.decisions + 1 + k,
            event=log.events + 1 + k,
            id=uuid.uuid4().hex,
            arm=choice.arm,
            propensity=choice.propensity,
            propensities=choice.in_text(),
            reason=choice.reason,
            at=now,
            expires=None if window is None else now + window,
            customer=name,
            version=log.version,
            segment=segment,
            place=None if choice.reason == "paused" else first + k,
        )
        for k, ((name, segment), choice) in enumerate(zip(customers, choices, strict=True))
    ]


def _decided_for(log: Log, chooser: Chooser, customers: Sequence[Customer]) -> dict[Customer, Row]:
    """Return the decisions that customers who are known keep, as customers of their segments."""
    found: dict[Customer, Row] = {}
    for segment in {segment for _, segment in customers}:
        named = [name for name, mine in customers if name is not None and mine == segment]
        if named:
            offered, only_open = chooser.offered_to(segment), chooser.settings.sticky == OPEN
            rows = log.decisions_of_customers(named, offered, only_open)
            found |= {(name, segment): row for name, row in rows.items()}
    return found


def _check_same(key: str, before: list[Customer], asked: list[Customer], segments: Segments) -> None:
    """Raise if a request differs from the one that its key has answered."""
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
