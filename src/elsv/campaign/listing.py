"""The campaigns of a store, without computing anything."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from elsv.campaign import log
from elsv.campaign.opening import problem_of, settings_of
from elsv.campaign.records import as_time
from elsv.campaign.status import phase_of
from elsv.errors import ElsvError
from elsv.stores.base import Store, Transaction


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
        return [_listed(reading, name, created) for name, created in names]


def _listed(reading: Transaction, name: str, created: float) -> Listed:
    head = log.find(reading, name)
    assert head is not None
    settings = settings_of(reading, head)
    unreadable = None
    try:
        arms = problem_of(head).arms
    except ElsvError as error:  # the others are listed all the same
        arms, unreadable = len(json.loads(head.problem)["rewards"]), str(error)
    left = None if settings.horizon is None else max(0, settings.horizon - head.decisions)
    return Listed(
        name=name,
        created=as_time(created).isoformat(timespec="seconds"),
        phase=phase_of(settings.paused, head.decisions, left),
        policy=settings.policy,
        arms=arms,
        decided=head.decisions,
        customers=settings.horizon,
        version=head.version,
        unreadable=unreadable,
    )
