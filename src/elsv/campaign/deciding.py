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


def draft(
    transaction: Transaction,
    head: Head,
    chooser: Chooser,
    tallies: Sequence[Tally],
    customers: Sequence[str | None],
    now: float,
) -> tuple[list[Row], list[tuple[Row, bool]]]:
    """Return what is to be appended, and a decision for each customer with whether it had been made before.

    Nothing is written; `head` counts the events. A sticky customer who has an open decision gets it again,
    also within one call.
    """
    sticky = chooser.settings.sticky
    named = [customer for customer in customers if customer is not None]
    answers = dict(log.open_of_customers(transaction, head, named)) if sticky and named else {}
    taken, fresh = set(answers), []
    for place, customer in enumerate(customers):
        if customer is not None and sticky:
            if customer in taken:
                continue
            taken.add(customer)
        fresh.append(place)
    made: dict[int, Row] = {}
    expires = None if chooser.settings.window is None else now + chooser.settings.window
    for place, choice in zip(fresh, chooser.choose(tallies, len(fresh), head.seed), strict=True):
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
        )
    answers |= {row.customer: row for row in made.values() if row.customer is not None and sticky}
    found = [
        (made[place], False) if place in made else (answers[str(customer)], True)
        for place, customer in enumerate(customers)
    ]
    return list(made.values()), found


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
