"""Many callers of one campaign served in one transaction, planned before it or inside it.

Requests that wait together are decided one after the other, as if they had come alone. Where a database has
one writer (SQLite), they are planned on a moment of the log before anything is locked: a `Draft`. It is
appended as it is if the log has not gone on meanwhile, and made anew inside the transaction otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from elsv._base.numbers import shown
from elsv.campaign import deciding, log
from elsv.campaign.desk import Desk
from elsv.campaign.log import Head
from elsv.campaign.opening import problem_of, settings_of
from elsv.campaign.records import Decision, RewardReceipt, Row, told
from elsv.errors import InvalidInputError
from elsv.segments import Segments, number_of
from elsv.stores.base import Transaction

Outcomes = Sequence[tuple[str, bool]]  # ids of decisions, and whether they were successes


class UnknownDecisionError(InvalidInputError):
    """An outcome was reported for a decision that the campaign does not have."""


class KeyReusedError(InvalidInputError):
    """A key that has been answered came again with another request."""


@dataclass(frozen=True)
class Asked:
    """A request for decisions: for whom (None: not known), and the key under which it is answered once."""

    customers: Sequence[str | None]
    key: str | None = None
    segment: str | int | None = None  # who has come, by name or number from 1


@dataclass(frozen=True)
class Draft:
    """Answers that are ready to be appended, and the moment of the log that they follow from."""

    before: Head
    after: Head
    now: float
    rows: list[Row]  # new decisions
    answers: list[list[tuple[Row, bool]]]  # to each request; whether a decision had been made before
    requests: list[tuple[str, list[Row]]]  # new keys

    @property
    def decisions(self) -> list[list[Decision]]:
        """The answers as callers get them."""
        problem = problem_of(self.before)
        segments = () if not problem.segments.stated else problem.segments.names
        return [
            [told(row, problem.names, segments, repeated) for row, repeated in answer]
            for answer in self.answers
        ]


class Batches(Desk):
    """A campaign with many callers at once."""

    def draft(self, asked: Sequence[Asked]) -> Draft | None:
        """Plan the answers without writing; None if open decisions have to expire first."""
        self.get_ready()
        now = self._now()
        with self._store.reading() as reading:
            head = self._head(reading)
            return None if log.is_due(reading, head, now) else self._draft(reading, head, asked, now)

    def settle(
        self,
        writing: Transaction,
        asked: Sequence[Asked],
        draft: Draft | None = None,
        outcomes: Sequence[Outcomes] = (),
    ) -> tuple[list[list[Decision]], list[list[RewardReceipt] | UnknownDecisionError]]:
        """Append the decisions that were asked for, then `outcomes`, each of its requests all or none.

        Parameters
        ----------
        writing
            A transaction, which may do other work too.
        draft
            Of the same requests; without one they are planned now.
        """
        head = log.hold(self._store, writing, self.name)
        now = self._now() if draft is None else draft.now
        fits = draft is not None and draft.before == head
        fits = not log.expire(writing, head, now) and fits
        decisions: list[list[Decision]] = []
        if asked:
            if draft is None or not fits:
                draft = self._draft(writing, head, asked, now)
            head = draft.after.copy()
            log.append_decisions(writing, head, draft.rows)
            for key, rows in draft.requests:
                log.append_request(writing, head, key, rows)
            decisions = draft.decisions
        receipts = self._record(writing, head, outcomes, now)
        log.release(writing, head)
        return decisions, receipts

    def _draft(self, transaction: Transaction, head: Head, asked: Sequence[Asked], now: float) -> Draft:
        before, head = head.copy(), head.copy()
        tallies = log.tallies(transaction, head)
        known = {one.key: log.answer_to(transaction, head, one.key) for one in asked if one.key is not None}
        first = {one.key: place for place, one in reversed(list(enumerate(asked)))}
        fresh = [
            place
            for place, one in enumerate(asked)
            if one.key is None or (not known[one.key] and first[one.key] == place)
        ]
        segments = problem_of(head).segments
        customers = [
            (customer, number_of(segments, asked[place].segment))
            for place in fresh
            for customer in asked[place].customers
        ]
        chooser = self._chooser(transaction, head, tallies)
        rows, found = deciding.draft(transaction, head, chooser, tallies, customers, now)
        answers: list[list[tuple[Row, bool]]] = [[] for _ in asked]
        requests, given = [], iter(found)
        for place in fresh:
            answers[place] = [next(given) for _ in asked[place].customers]
            key = asked[place].key
            if key is not None:
                known[key] = [row for row, _ in answers[place]]
                requests.append((key, known[key]))
        for place, one in enumerate(asked):
            if not answers[place] and one.key is not None:
                _check_same(one, number_of(segments, one.segment), known[one.key], segments)
                answers[place] = [(row, True) for row in known[one.key]]
        return Draft(before, head, now, rows, answers, requests)

    def _record(
        self, writing: Transaction, head: Head, requests: Sequence[Outcomes], now: float
    ) -> list[list[RewardReceipt] | UnknownDecisionError]:
        if not requests:
            return []
        ids = list({given for outcomes in requests for given, _ in outcomes})
        rows = {row.id: row for row in log.decisions_where(writing, head, "id", ids)}
        accept = settings_of(writing, head).accept_late
        found: list[list[RewardReceipt] | UnknownDecisionError] = []
        for outcomes in requests:
            unknown = [given for given, _ in outcomes if given not in rows]
            if unknown:
                found.append(
                    UnknownDecisionError(
                        f"campaign {self.name!r} has no decision {shown(unknown[0])}; give an id from decide"
                    )
                )
                continue
            found.append(
                [deciding.reward(writing, head, rows[g], success, now, accept) for g, success in outcomes]
            )
        return found


def _check_same(
    asked: Asked, segment: int | None, answered: Sequence[Row], segments: Segments | None
) -> None:
    """Raise if a request differs from the one that its key has answered."""
    before = [(row.customer, row.segment) for row in answered]
    now = [(customer, segment) for customer in asked.customers]
    if before == now:
        return
    first, second = f"{len(before):,} customers", f"{len(now):,}"
    if len(before) == len(now):
        pairs = next(pair for pair in zip(before, now, strict=True) if pair[0] != pair[1])
        first, second = (_who(customer, number, segments) for customer, number in pairs)
    raise KeyReusedError(
        f"a key belongs to one request, and {shown(asked.key)} was used for {first}, got {second}; give each "
        "visit a key of its own"
    )


def _who(customer: str | None, segment: int | None, segments: Segments | None) -> str:
    who = "a customer without a name" if customer is None else f"customer {shown(customer)}"
    return who if segments is None or segment is None else f"{who} of segment {segments.names[segment]}"
