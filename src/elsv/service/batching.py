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
from typing import Any, NamedTuple

from elsv.campaign import Decision, RewardReceipt
from elsv.campaign.batches import DecisionRequest, Outcomes
from elsv.service.errors import RefusedError
from elsv.stores.base import StoreError

MOST_WAITING = 4096  # requests in a lane; more are refused
MOST_DECISIONS = 2000  # in one batch, about
LINGER = 0.002  # seconds to wait for companions, at most

Answers = tuple[list[list[Decision]], Sequence[list[RewardReceipt] | Exception]]
Serve = Callable[[list[DecisionRequest], list[Outcomes]], Answers]


class _Request(NamedTuple):
    """Decisions or outcomes that are asked for, and who waits for the answer."""

    asked: DecisionRequest | Outcomes
    answer: asyncio.Future[Any]


class Lane:
    """One campaign's requests; all methods are called by the event loop.

    Parameters
    ----------
    serve
        Answers a batch; runs in the lane's thread.
    note
        Called with the number of requests and the seconds of each batch.
    most
        Decisions and outcomes in one batch, about.
    """

    def __init__(
        self, name: str, serve: Serve, note: Callable[[int, float], None], most: int = MOST_DECISIONS
    ) -> None:
        self._serve, self._note, self._most = serve, note, most
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, f"elsv-lane-{name[:40]}")
        self._waiting: list[_Request] = []
        self._expected, self._took = 1, 0.0
        self._busy, self._timer = False, None  # type: tuple[bool, asyncio.TimerHandle | None]
        self.used = time.monotonic()

    @property
    def idle(self) -> bool:
        """Whether nobody waits."""
        return not self._busy and not self._waiting

    async def ask(self, asked: DecisionRequest | Outcomes) -> Any:
        """Return the decisions, or the receipts, that the campaign answers."""
        if len(self._waiting) >= MOST_WAITING:
            raise RefusedError(
                503,
                f"a campaign lets {MOST_WAITING:,} requests wait",
                "one more",
                "try again in a moment",
                headers={"Retry-After": "1"},
            )
        answer: asyncio.Future[Any] = self._loop.create_future()
        self._waiting.append(_Request(asked, answer))
        self._consider()
        return await answer

    def close(self) -> None:
        """Let go of the thread when it has done its work."""
        self._thread.shutdown(wait=False)

    def _consider(self) -> None:
        """Begin with a batch if it is time to."""
        if self._busy or not self._waiting:
            return
        if len(self._waiting) >= min(self._expected, self._most):
            self._begin()
        elif self._timer is None:
            self._timer = self._loop.call_later(min(LINGER, self._took), self._begin)

    def _begin(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._busy or not self._waiting:
            return
        batch: list[_Request] = []
        decisions = 0
        for request in self._waiting:
            decisions += len(request.asked.customers) if isinstance(request.asked, DecisionRequest) else 1
            if batch and decisions > self._most:
                break
            batch.append(request)
        del self._waiting[: len(batch)]
        self._busy, self.used = True, time.monotonic()
        self._thread.submit(self._run, batch)

    def _run(self, batch: list[_Request]) -> None:
        began = time.perf_counter()
        answers = self._answers(batch)
        self._loop.call_soon_threadsafe(self._end, batch, answers, time.perf_counter() - began)

    def _answers(self, batch: list[_Request]) -> list[Any]:
        asked = [r.asked for r in batch if isinstance(r.asked, DecisionRequest)]
        outcomes = [r.asked for r in batch if not isinstance(r.asked, DecisionRequest)]
        try:
            decisions, receipts = self._serve(asked, outcomes)
        except Exception as error:
            if len(batch) == 1 or isinstance(error, StoreError):
                return [error] * len(batch)
            return [answer for request in batch for answer in self._answers([request])]
        made, receipt = iter(decisions), iter(receipts)
        return [next(made) if isinstance(r.asked, DecisionRequest) else next(receipt) for r in batch]

    def _end(self, batch: list[_Request], answers: list[Any], seconds: float) -> None:
        self._busy, self._took = False, seconds
        self._expected = len(batch) + len(self._waiting)
        for request, answer in zip(batch, answers, strict=True):
            if request.answer.done():
                continue  # nobody waits any more
            if isinstance(answer, Exception):
                request.answer.set_exception(answer)
            else:
                request.answer.set_result(answer)
        self._note(len(batch), seconds)
        self._consider()
