"""`Service`: the campaigns of a store, called from an event loop; every call runs beside it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from elsv.campaign import Campaign, Decision, RewardReceipt
from elsv.campaign.listing import Listed, campaigns_of
from elsv.campaign.opening import open_store
from elsv.campaign.store import Store
from elsv.problem import Problem
from elsv.service.roles import Tokens
from elsv.service.settings import ServiceSettings

T = TypeVar("T")


class Service:
    """What routes and pages call.

    Parameters
    ----------
    settings
        What the server was started with.
    tokens
        Who may do what; None: everybody may do everything.
    clock
        Returns seconds since 1970.
    """

    def __init__(
        self,
        settings: ServiceSettings,
        tokens: Tokens | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.settings, self.tokens, self._clock = settings, tokens, clock
        self.ready = False
        self._store: Store = open_store(settings.db)
        self._writers = ThreadPoolExecutor(1, "elsv-writer")
        self._readers = ThreadPoolExecutor(4, "elsv-reader")

    async def listed(self) -> list[Listed]:
        """Return all campaigns, in a line each."""
        return await self._in(self._readers, lambda: campaigns_of(self._store))

    async def look(self, name: str, call: Callable[[Campaign], T]) -> T:
        """Return what `call` finds out about a campaign; it must not write.

        Examples: ``await service.look(name, Campaign.status)``, ``…, lambda c: c.settings)``.
        """
        return await self._in(self._readers, lambda: call(self._open(name)))

    async def change(self, name: str, call: Callable[[Campaign], T]) -> T:
        """Return what `call` does to a campaign: settings, imports; on disk when this returns."""
        return await self._in(self._writers, lambda: call(self._open(name)))

    async def begin(self, name: str, problem: Problem, seed: int | None = None, **given: Any) -> bool:
        """Begin a campaign with the keywords of `Campaign.open`.

        Returns False if it was begun so before; if it was begun in another way, that is an error (409).
        """
        raise NotImplementedError

    async def decide(
        self, name: str, customers: Sequence[str | None], key: str | None = None
    ) -> list[Decision]:
        """Return a decision for each customer (None: one who is not known); on disk when this returns."""
        raise NotImplementedError

    async def reward(self, outcomes: Sequence[tuple[str, bool]]) -> list[RewardReceipt]:
        """Record outcomes by the ids of their decisions, of any campaigns, all or none."""
        raise NotImplementedError

    async def start(self) -> None:
        """Get ready to decide."""
        self.ready = True

    async def stop(self) -> None:
        """Finish what is under way and give everything back."""
        self.ready = False
        self._writers.shutdown()
        self._readers.shutdown()
        self._store.close()

    def _open(self, name: str) -> Campaign:
        return Campaign.open(self._store, name, clock=self._clock)

    @staticmethod
    async def _in(pool: ThreadPoolExecutor, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(pool, call)
