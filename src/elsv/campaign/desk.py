"""What the calls of a campaign share: its row, how arms are chosen now, and changes of its settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from elsv.campaign import log
from elsv.campaign.choosing import Chooser
from elsv.campaign.log import Head
from elsv.campaign.opening import problem_of, settings_of
from elsv.campaign.records import Tally
from elsv.campaign.settings import problem_as_planned
from elsv.errors import InvalidInputError
from elsv.policies import Policy, make_policy
from elsv.stores.base import Store, StoreError, Transaction


class Desk:
    """A campaign of a store, seen by one process.

    Parameters
    ----------
    store, name
        Where it is kept, and under which name.
    clock
        Returns seconds since 1970.
    own
        A policy of the caller's own, which the store cannot hold.
    """

    def __init__(self, store: Store, name: str, clock: Callable[[], float], own: Policy | None) -> None:
        self._store, self.name, self._clock, self._own = store, name, clock, own
        self._known: tuple[object, Chooser] | None = None
        self._ready = False

    def expire(self) -> int:
        """Count open decisions whose window has passed as failures; every other call does so too."""
        with self._store.writing() as writing:
            head = log.hold(self._store, writing, self.name)
            count = log.expire(writing, head, self._now())
            if count:
                log.release(writing, head)
        return count

    def end(self) -> None:
        """Let the customers so far be the last that are planned for: all others get the best arm by now.

        `extend` goes on with the campaign.
        """
        with self._store.reading() as reading:
            head = self._head(reading)
            settings = settings_of(reading, head)
        if settings.horizon is None:
            raise InvalidInputError("a campaign with a discount has no last customer; pause it instead")
        if not head.decisions:
            raise InvalidInputError("a campaign without customers cannot end; pause it instead")
        self._change(horizon=min(settings.horizon, head.decisions), paused=False)

    def allocation(
        self, after: int, size: int, most: int = 100_000
    ) -> tuple[int, int, list[tuple[int, int, int]]]:
        """Return who got which arm, for pictures: counts by parts of `size` customers.

        Of the customers after number `after`, `most` at most: how many there are in all, up to which one was
        counted, and (part, arm, customers).
        """
        with self._store.reading() as reading:
            head = self._head(reading)
            until = min(head.decisions, after + most)
            return head.decisions, until, log.allocation(reading, head, after, until, size)

    def _change(self, **changes: Any) -> None:
        with self._store.writing() as writing:
            head = log.hold(self._store, writing, self.name)
            before = settings_of(writing, head)
            after = before.changed(problem_of(head), **changes)
            if after != before:
                log.append_settings(writing, head, self._now(), after.to_json())
            log.release(writing, head)

    def _head(self, transaction: Transaction) -> Head:
        head = log.find(transaction, self.name)
        if head is None:
            raise log.UnknownCampaignError(
                f"there is no campaign {self.name!r} in {self._store.place} any more"
            )
        return head

    def _moment(self) -> tuple[Chooser, list[Tally], Head]:
        """Return how things stand, with what is due expired if the store can be written."""
        with self._store.reading() as reading:
            due = log.is_due(reading, self._head(reading), self._now())
        if due:
            with suppress(StoreError):  # a read-only copy can still be looked at
                self.expire()
        with self._store.reading() as reading:
            head = self._head(reading)
            tallies = log.tallies(reading, head)
            return self._chooser(reading, head, tallies), tallies, head

    def _chooser(self, transaction: Transaction, head: Head, tallies: Sequence[Tally]) -> Chooser:
        """Return how arms are chosen now; made anew when the settings or the history have changed."""
        history = tuple((t.past_successes, t.past_failures) for t in tallies)
        known = head.version, head.problem, history
        if self._known is None or self._known[0] != known:
            settings = settings_of(transaction, head)
            problem = problem_as_planned(problem_of(head), settings.horizon, history)
            if settings.policy is None and self._own is None:
                raise InvalidInputError(
                    "the campaign is run by a policy of your own; pass it: Campaign.open(…, policy=…)"
                )
            policy = make_policy(settings.policy if self._own is None else self._own, problem)  # type: ignore[arg-type]
            self._known = known, Chooser(problem, policy, settings)
        return self._known[1]

    def get_ready(self) -> None:
        """Choose once without writing, so that nobody waits while this process compiles."""
        if not self._ready:
            with self._store.reading() as reading:
                head = self._head(reading)
                tallies = log.tallies(reading, head)
                chooser = self._chooser(reading, head, tallies)
            chooser.choose(tallies, 2, head.seed, None if not chooser.problem.segments.stated else 0)
            self._ready = True

    def _now(self) -> float:
        now = float(self._clock())
        if not math.isfinite(now):
            raise InvalidInputError(f"clock must return seconds since 1970, got {now}")
        return now
