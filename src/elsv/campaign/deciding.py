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
from elsv.stores.base import Transaction

Customer = tuple[str | None, int | None]  # who it is, None: not known; the segment, from 0


def draft(
    transaction: Transaction,
    head: Head,
    chooser: Chooser,
    tallies: Sequence[Tally],
    customers: Sequence[Customer],
    now: float,
) -> tuple[list[Row], list[tuple[Row, bool]]]:
    """Return what is to be appended, and a decision for each customer with whether it had been made before.

    Nothing is written; `head` counts the events. A sticky customer who has an open decision gets it again,
    also within one call, unless it is from a time when the customer was of another segment.
    """
    sticky = chooser.settings.sticky
    answers = _open_of(transaction, head, chooser, customers) if sticky else {}
    taken, fresh = set(answers), []
    for place, who in enumerate(customers):
        if who[0] is not None and sticky:
            if who in taken:
                continue
            taken.add(who)
        fresh.append(place)
    made: dict[int, Row] = {}
    expires = None if chooser.settings.window is None else now + chooser.settings.window
    choices = chooser.choose(tallies, len(fresh), head.seed, [customers[place][1] for place in fresh])
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
        )
    if sticky:
        answers |= {customers[place]: row for place, row in made.items()}
    found = [
        (made[place], False) if place in made else (answers[who], True) for place, who in enumerate(customers)
    ]
    return list(made.values()), found


def _open_of(
    transaction: Transaction, head: Head, chooser: Chooser, customers: Sequence[Customer]
) -> dict[Customer, Row]:
    """Return the open decisions of the customers who are known, as customers of their segments."""
    segments = chooser.problem.segments
    found: dict[Customer, Row] = {}
    for segment in {segment for _, segment in customers}:
        named = [name for name, mine in customers if name is not None and mine == segment]
        offered = None if not segments.stated or segment is None else segments.groups[segment]
        if named:
            rows = log.open_of_customers(transaction, head, named, offered)
            found |= {(name, segment): row for name, row in rows.items()}
    return found


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
