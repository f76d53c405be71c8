"""Lanes: the requests of one campaign wait in one lane, and those that wait together are served together.

A lane serves one batch at a time, in a thread of its own: a campaign that plans for long holds up nobody
else, and a policy finds the tables that it keeps for its thread. What arrives meanwhile is the next batch. As
long as clients come back as quickly as they are answered, a lane waits a moment for as many as there were
before: otherwise the first of them would go alone, and all others would wait for it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from elsv.campaign import Decision, RewardReceipt
from elsv.campaign.batches import DecisionRequest, Outcomes
from elsv.service.errors import RefusedError
from elsv.stores.base import StoreError

MOST_WAITING = 4096  # requests in a lane; more are refused
MOST_DECISIONS = 2000  # in one batch, about
LINGER = 0.002  # seconds to wait for companions, at most

Answers = tuple[list[list[Decision]], Sequence[list[RewardReceipt] | Exception]]
Serve = Callable[[list[DecisionRequest], list[Outcomes]], Answers]
Request = DecisionRequest | Outcomes
Waiting = tuple[Request, asyncio.Future[Any]]  # what is asked for, and who waits for the answer


class Lane:
    """One campaign's requests; all methods are called by the event loop.

    `serve` answers a batch of about `most` decisions and outcomes, in the lane's thread; `note` is told how
    many requests it had and its seconds.
    """

    def __init__(
        self, name: str, serve: Serve, note: Callable[[int, float], None], most: int = MOST_DECISIONS
    ) -> None:
        self._serve, self._note, self._most = serve, note, most
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, f"elsv-lane-{name[:40]}")
        self._waiting: list[Waiting] = []
        self._expected, self._took, self._busy, self._closing = 1, 0.0, False, False
        self._timer: asyncio.TimerHandle | None = None

    @property
    def idle(self) -> bool:
        """Whether nobody waits."""
        return not self._busy and not self._waiting

    async def ask(self, asked: Request) -> Any:
        """Return the decisions, or the receipts, that the campaign answers."""
        if len(self._waiting) >= MOST_WAITING:
            rule, remedy = f"a campaign lets {MOST_WAITING:,} requests wait", "try again in a moment"
            raise RefusedError(503, rule, "one more", remedy, headers={"Retry-After": "1"})
        answer: asyncio.Future[Any] = self._loop.create_future()
        self._waiting.append((asked, answer))
        self._consider()
        return await answer

    def close(self) -> None:
        """Let go of the thread when all who wait have their answers."""
        self._closing = True
        self._consider()

    def _consider(self) -> None:
        """Begin with a batch if it is time to."""
        if self.idle and self._closing:
            self._thread.shutdown(wait=False)
        if self.idle or self._busy:
            return
        if len(self._waiting) >= min(self._expected, self._most):
            self._begin()
        elif self._timer is None:
            self._timer = self._loop.call_later(min(LINGER, self._took), self._begin)

    def _begin(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        size = decisions = 0
        for asked, _ in self._waiting:
            decisions += len(asked.customers) if isinstance(asked, DecisionRequest) else 1
            if size and decisions > self._most:
                break
            size += 1
        batch, self._waiting = self._waiting[:size], self._waiting[size:]
        self._busy = True
        self._thread.submit(self._run, batch)

    def _run(self, batch: list[Waiting]) -> None:
        began = time.perf_counter()
        answers = self._answers([asked for asked, _ in batch])
        self._loop.call_soon_threadsafe(self._end, batch, answers, time.perf_counter() - began)

    def _answers(self, batch: list[Request]) -> list[Any]:
        decisions = [one for one in batch if isinstance(one, DecisionRequest)]
        outcomes = [one for one in batch if not isinstance(one, DecisionRequest)]
        try:
            made, receipts = map(iter, self._serve(decisions, outcomes))
        except Exception as error:
            if len(batch) == 1 or isinstance(error, StoreError):
                return [error] * len(batch)
            return [answer for one in batch for answer in self._answers([one])]
        return [next(made if isinstance(one, DecisionRequest) else receipts) for one in batch]

    def _end(self, batch: list[Waiting], answers: list[Any], seconds: float) -> None:
        self._busy, self._took = False, seconds
        self._expected = len(batch) + len(self._waiting)
        for (_, waiting), answer in zip(batch, answers, strict=True):
            if waiting.done():
                continue  # nobody waits any more
            if isinstance(answer, Exception):
                waiting.set_exception(answer)
            else:
                waiting.set_result(answer)
        self._note(len(batch), seconds)
        self._consider()
