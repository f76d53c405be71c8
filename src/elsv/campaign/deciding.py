"""Decisions and outcomes within one transaction of a writer."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from elsv.campaign import log
from elsv.campaign.choosing import Chooser
from elsv.campaign.log import Head
from elsv.campaign.records import (
    CONFLICT,
    DUPLICATE,
    LATE,
    RECORDED,
    TOO_LATE,
    RewardReceipt,
    Row,
    Tally,
)
from elsv.campaign.store import Transaction


def decide(
    writing: Transaction,
    head: Head,
    chooser: Chooser,
    tallies: Sequence[Tally],
    customers: Sequence[str | None],
    now: float,
    segment: int | None = None,
) -> list[tuple[Row, bool]]:
    """Return a decision for each customer, and whether it had been made before.

    A sticky customer who has an open decision gets it again, also within one call, unless it is from a time
    when the customer was of another `segment`.
    """
    sticky, segments = chooser.settings.sticky, chooser.problem.segments
    named = [customer for customer in customers if customer is not None]
    offered = None if segments is None or segment is None else segments.groups[segment]
    answers = dict(log.open_of_customers(writing, head, named, offered)) if sticky and named else {}
    taken, fresh = set(answers), []
    for place, customer in enumerate(customers):
        if customer is not None and sticky:
            if customer in taken:
                continue
            taken.add(customer)
        fresh.append(place)
    made: dict[int, Row] = {}
    expires = None if chooser.settings.window is None else now + chooser.settings.window
    choices = chooser.choose(tallies, len(fresh), head.seed, segment)
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
            customer=customers[place],
            version=head.version,
            segment=segment,
        )
    log.append_decisions(writing, head, list(made.values()))
    answers |= {row.customer: row for row in made.values() if row.customer is not None and sticky}
    return [
        (made[place], False) if place in made else (answers[str(customer)], True)
        for place, customer in enumerate(customers)
    ]


def reward(
    writing: Transaction, head: Head, decision: Row, success: bool, now: float, accept_late: bool
) -> RewardReceipt:
    """Record an outcome, or say why it changes nothing. What is due must have been expired before."""
    added = log.append_reward(writing, head, decision, success, now, accept_late)
    if added is not None:
        late, counted = added
        return RewardReceipt(
            decision.id, RECORDED if not late else LATE if counted else TOO_LATE, success, counted
        )
    before, counted = log.reward_of(writing, head, decision.number)
    return RewardReceipt(decision.id, DUPLICATE if before == success else CONFLICT, before, counted)
