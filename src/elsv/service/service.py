"""`Service`: the campaigns of a store, called from an event loop; every call runs beside it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from elsv.campaign import Campaign, Decision, RewardReceipt, UnknownDecisionError, log
from elsv.campaign.batches import Batches, DecisionRequest, Outcomes
from elsv.campaign.copying import delete
from elsv.campaign.opening import Listed, add, begin_once, campaigns_of, change
from elsv.campaign.records import Outcome, id_of, text_of
from elsv.campaign.settings import Settings, as_kept
from elsv.errors import InvalidInputError
from elsv.problem import Problem
from elsv.report.page import slug
from elsv.service.batching import MOST_DECISIONS, Answers, Lane
from elsv.service.errors import refusal_of
from elsv.service.metrics import Metrics
from elsv.service.settings import MOST_ARMS, ServiceSettings, stores_of
from elsv.service.tokens import TokenFile
from elsv.stores.base import StoreError, Transaction
from elsv.stores.sqlite import file_of
from elsv.warm import warm_decisions

_LOG = logging.getLogger("elsv.service")
T = TypeVar("T")
MOST_LANES = 64  # campaigns with a thread of their own while they are idle
MOST_HOMES = 100_000  # decisions whose campaign is remembered
_FIRST_LOOK = 10.0  # seconds that getting ready waits for a first status


class Service:
    """What routes and pages call; without `tokens` everybody may do everything."""

    def __init__(
        self,
        settings: ServiceSettings,
        tokens: TokenFile | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.settings, self.tokens, self._clock = settings, tokens, clock
        self.metrics = Metrics()
        self.starting = self.ready = False
        self.when_ready: Callable[[], None] = lambda: None
        self._stores = stores_of(settings)
        self._store = self._stores.store
        self._campaigns: dict[str, Campaign] = {}
        self._lanes: OrderedDict[str, Lane] = OrderedDict()
        self._homes: OrderedDict[str, str] = OrderedDict()
        self._unreadable: dict[str, str] = {}  # why campaigns cannot be served
        self._quick = ThreadPoolExecutor(4, "elsv-look")
        self._long = ThreadPoolExecutor(2, "elsv-long")

    @property
    def place(self) -> str:
        """Where the campaigns are kept; without passwords."""
        return self._store.place

    async def listed(self) -> list[Listed]:
        """Return all campaigns, in a line each."""
        found = await self._beside(lambda: campaigns_of(self._store))
        for one in found:
            if one.unreadable is not None:
                self._note_unreadable(one.name, one.unreadable)
        return [replace(one, unreadable=self._unreadable.get(one.name)) for one in found]

    async def look(self, name: str, call: Callable[[Campaign], T], long: bool = False) -> T:
        """Return what `call` finds out about a campaign, or does to it, such as `Campaign.status`.

        Give `long` for what reads the whole log, so that others do not wait for it.
        """
        return await self._beside(lambda: call(self._campaign(name)), long)

    async def begin(
        self, name: str, problem: Problem, seed: int | None = None, who: str | None = None, **given: Any
    ) -> bool:
        """Begin a campaign with the keywords of `Campaign.open`; `who` does it.

        Returns False if it was begun so before; if it was begun in another way, that is an error (409).
        """
        text_of("name of a campaign", name)
        settings = as_kept(given)
        return await self._beside(
            lambda: begin_once(self._store, name, problem, seed, settings, self.now(), who)
        )

    async def set(
        self, name: str, given: dict[str, Any], expected: int | None = None, who: str | None = None
    ) -> tuple[Settings, int]:
        """Change settings as one version; return them and its number. `expected`: the version seen last."""
        return await self.look(
            name, lambda _: change(self._store, name, as_kept(given), self.now(), expected, who)
        )

    async def add(
        self, name: str, arm: str, reward: float, who: str | None = None, **about: Any
    ) -> tuple[int, Problem]:
        """Add an arm with the keywords of `Campaign.add`; return its number, from 0, and the problem."""

        def work(campaign: Campaign) -> tuple[int, Problem]:
            if campaign.problem.arms >= MOST_ARMS:
                rule = f"a campaign must have at most {MOST_ARMS} arms here"
                raise InvalidInputError(f"{rule}, got one more; begin another campaign")
            return add(self._store, name, self.now(), who, arm, reward, **about)

        return await self.look(name, work)

    async def delete(self, name: str, again: str) -> str:
        """Remove a campaign, whose name is given `again`; return the file that its log is in."""
        folder = Path() if self.settings.on_postgres else file_of(self.settings.db).parent
        path = folder / f"{slug(name)}-deleted-{round(self.now())}.db"
        await self._beside(lambda: delete(self._store, name, again, path), long=True)
        self._campaigns.pop(name, None)
        if (lane := self._lanes.pop(name, None)) is not None:
            lane.close()
        self._homes = OrderedDict((ident, home) for ident, home in self._homes.items() if home != name)
        return str(path)

    async def decide(
        self, name: str, customers: Sequence[str | None], key: str | None = None, segment: str | None = None
    ) -> list[Decision]:
        """Return a decision for each customer (None: one who is not known); on disk when this returns.

        `segment` says who has come, where customers are of segments.
        """
        for what, texts in (("key", [key]), ("customer", customers)):
            for text in texts:
                if text is not None:
                    text_of(what, text)
        found: list[Decision] = await (await self._lane(name)).ask(DecisionRequest(customers, key, segment))
        self._homes.update((decision.id, name) for decision in found)
        while len(self._homes) > MOST_HOMES:
            self._homes.popitem(last=False)
        self.metrics.decided(name, found)
        return found

    async def reward(self, outcomes: Sequence[Outcome]) -> list[RewardReceipt]:
        """Record what is reported of decisions, of any campaigns, by their ids; all or none."""
        homes = {told.id: self._homes[told.id] for told in outcomes if told.id in self._homes}
        if unknown := list({id_of(told.id) for told in outcomes if told.id not in homes}):
            homes |= await self._beside(lambda: self._look_up(unknown))
        names = set(homes.values())
        if len(names) == 1:
            lane = await self._lane(names.pop())
            found: list[RewardReceipt] = await lane.ask(outcomes)
        else:
            found = await self._beside(lambda: self._record_apart(outcomes, homes))
        self.metrics.rewarded(found)
        return found

    async def read(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return what a query finds in the store."""

        def work() -> list[tuple[Any, ...]]:
            with self._store.reading() as reading:
                return reading.rows(query, values)

        return await self._beside(work)

    async def write(self, statement: str, values: Sequence[Any] = ()) -> None:
        """Run a statement; on disk when this returns."""
        await self._beside(lambda: self._stores.writer.run(lambda writing: writing.run(statement, values)))

    def now(self) -> float:
        """Return seconds since 1970, by the service's clock."""
        return float(self._clock())

    async def start(self) -> None:
        """Get ready to decide: what new campaigns and those of the store need is compiled or loaded now."""
        self.starting = True
        await self._beside(warm_decisions, long=True)
        listed: list[Listed] = []
        with suppress(StoreError):  # a database that is away now may be back when somebody asks
            listed = await self.listed()
        known = [one.name for one in listed if one.policy and not one.unreadable][:MOST_LANES]
        for name in known:
            try:
                await self._beside(Batches(self._store, name, self._clock).prepare, long=True)
            except InvalidInputError:
                pass  # one that cannot decide any more, such as one whose tables have ended
            except Exception as error:  # it must not keep the others from being served
                self._note_unreadable(name, refusal_of(error).detail)
        for name in known[:1]:  # so that whoever looks first does not wait for what only pages need
            with suppress(Exception):
                look = self.look(name, lambda campaign: campaign.status(patient=False))
                await asyncio.wait_for(look, _FIRST_LOOK)
        self.starting, self.ready = False, True
        self.when_ready()

    async def stop(self) -> None:
        """Finish what is under way and give everything back."""
        self.ready = False
        for lane in self._lanes.values():
            lane.close()
        for pool in (self._long, self._quick):
            await asyncio.to_thread(pool.shutdown, cancel_futures=True)
        self._stores.close()

    def _note_unreadable(self, name: str, why: str) -> None:
        """Remember, and say once in the log, that a campaign cannot be served here."""
        if self._unreadable.get(name) != why:
            self._unreadable[name] = why
            _LOG.warning("campaign %r cannot be served: %s", name, why)

    def _campaign(self, name: str) -> Campaign:
        if name not in self._campaigns:
            if len(self._campaigns) > 10 * MOST_LANES:
                self._campaigns.clear()
            self._campaigns[name] = Campaign.open(self._store, name, clock=self._clock)
        return self._campaigns[name]

    async def _lane(self, name: str) -> Lane:
        lane = self._lanes.get(name)
        if lane is None:
            batches = await self._beside(lambda: Batches(self._stores.of_lane(), name, self._clock))
            most = MOST_DECISIONS if self.settings.together else 1
            lane = Lane(name, partial(self._serve, batches), self.metrics.batched, most)
            lane = self._lanes.setdefault(name, lane)
        self._lanes.move_to_end(name)
        for oldest in list(self._lanes)[: max(0, len(self._lanes) - MOST_LANES)]:
            if self._lanes[oldest].idle:
                self._lanes.pop(oldest).close()
        return lane

    def _serve(self, batches: Batches, asked: list[DecisionRequest], outcomes: list[Outcomes]) -> Answers:
        """Answer requests to a campaign, in the thread of its lane."""

        def work() -> Answers:
            plan = batches.plan(asked) if asked and self._stores.plans_first else None
            return self._stores.writer.run(lambda writing: batches.append(writing, asked, plan, outcomes))

        return batches.prepared(work) if asked else work()

    def _look_up(self, ids: list[str]) -> dict[str, str]:
        with self._store.reading() as reading:
            return log.homes(reading, ids)

    def _record_apart(self, outcomes: Outcomes, homes: dict[str, str]) -> list[RewardReceipt]:
        """Record outcomes of several campaigns in one transaction."""
        parts: dict[str, list[Outcome]] = {name: [] for name in sorted({*homes.values()})}
        for told in outcomes:
            if told.id not in homes:
                raise UnknownDecisionError(f"there is no decision {told.id!r}; give an id from a decision")
            parts[homes[told.id]].append(told)
        batches = {name: Batches(self._store, name, self._clock) for name in parts}

        def work(writing: Transaction) -> list[RewardReceipt]:
            receipts = {}
            for name, part in parts.items():
                _, (found,) = batches[name].append(writing, [], None, [part])
                if isinstance(found, UnknownDecisionError):
                    raise found
                receipts[name] = iter(found)
            return [next(receipts[homes[told.id]]) for told in outcomes]

        return self._stores.writer.run(work)

    async def _beside(self, call: Callable[[], T], long: bool = False) -> T:
        """Return what `call` returns, in a thread beside the event loop."""
        pool = self._long if long else self._quick
        return await asyncio.get_running_loop().run_in_executor(pool, call)
