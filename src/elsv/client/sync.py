"""`Client`: ask a service, and wait for the answer."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, Unpack, overload

from elsv.campaign import Audit, Decision, RewardReceipt, Settings, Status
from elsv.campaign.opening import Listed
from elsv.client import calls, transport
from elsv.client.calls import Answer, Call, ChangedSettings, NewSettings
from elsv.client.exchange import Lost, Retries, Wait, exchange
from elsv.live import Explanation
from elsv.problem import Problem

T = TypeVar("T")
_ONCE = Retries(0)


class Client:
    """A connection to a decision service; use it from one thread or from several.

    Parameters
    ----------
    url
        Where the service is, such as ``http://127.0.0.1:8763``.
    token
        That ``elsv token new`` printed; None where the service needs none.
    timeout
        Seconds to wait for each answer.
    retries
        How often a call is sent again that got no answer, or one that says to try later.

    Examples
    --------
    ::

        with Client("http://127.0.0.1:8763", token) as client:
            client.create("spring", Problem(rewards=[0.8, 0.9, 1.0], horizon=300), window="7 days")
            decision = client.decide("spring", "c-17")
            client.reward(decision, success=True)
            print(client.status("spring"))
    """

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = 30.0, retries: Retries | None = None
    ) -> None:
        httpx = transport.httpx_module()
        self._http = httpx.Client(**transport.options(url, token, timeout))
        self._lost, self._chance = httpx.TransportError, random.Random()
        self._retries, self._url = retries or Retries(), url

    def __repr__(self) -> str:
        return f"Client({self._url!r})"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; the client cannot be used afterwards."""
        self._http.close()

    def create(
        self, name: str, problem: Problem | Mapping[str, Any], **settings: Unpack[NewSettings]
    ) -> bool:
        """Begin a campaign; return whether it is new. Again, in the same way, changes nothing.

        Begun before in another way it is a `ConflictError`: use `change`, or another name.
        """
        return self._do(calls.create(name, problem, settings))

    def campaigns(self) -> list[Listed]:
        """Return all campaigns, in a line each."""
        return self._do(calls.campaigns())

    def status(self, name: str) -> Status:
        """Return how a campaign stands; ``print`` it for a table and three sentences."""
        return self._do(calls.status(name))

    def change(self, name: str, **settings: Unpack[ChangedSettings]) -> Settings:
        """Change settings and return all of them; what is not given stays as it is."""
        return self._do(calls.change(name, settings))

    @overload
    def decide(
        self, name: str, customer: str | None = None, *, segment: str | None = None, key: str | None = None
    ) -> Decision: ...

    @overload
    def decide(
        self, name: str, *, count: int, segment: str | None = None, key: str | None = None
    ) -> list[Decision]: ...

    def decide(
        self,
        name: str,
        customer: str | None = None,
        *,
        count: int | None = None,
        segment: str | None = None,
        key: str | None = None,
    ) -> Decision | list[Decision]:
        """Return the arm for a customer, or for `count` customers who are not known (up to 1,000).

        Parameters
        ----------
        name
            Of the campaign.
        customer
            Any text that tells customers apart; one who has an open decision gets it again.
        count
            So many decisions, as a list.
        segment
            Of the customer, where the campaign has segments.
        key
            The same key gets the same decisions, whenever it is sent. Default: a new one for each call, by
            which the client's own retries decide once.
        """
        if count is None:
            return self._do(calls.decide_one(name, customer, segment, key))
        return self._do(calls.decide_many(name, customer, count, segment, key))

    def reward(self, decision: str | Decision, success: bool) -> RewardReceipt:
        """Report an outcome; the receipt says what became of it.

        If an answer was lost on the way, the retry's receipt says that it is a duplicate: it counts once.
        """
        return self._do(calls.reward(decision, success))

    def rewards(self, outcomes: Iterable[tuple[str | Decision, bool]]) -> list[RewardReceipt]:
        """Report many outcomes, of any campaigns, all or none."""
        return self._do(calls.rewards(outcomes))

    def explain(self, name: str, segment: str | None = None) -> Explanation:
        """Return what the next customer, of `segment` where there are some, would get, and why."""
        return self._do(calls.explain(name, segment))

    def audit(self, name: str) -> Audit:
        """Replay the campaign's whole log and compare every count with what is stored."""
        return self._do(calls.audit(name))

    def export(self, name: str, path: str | Path) -> Path:
        """Write all decisions with their outcomes to a Parquet file."""
        return self._do(calls.file_of(name, "export.parquet", path))

    def report(self, name: str, path: str | Path) -> Path:
        """Write the campaign's page to an HTML file."""
        return self._do(calls.file_of(name, "report.html", path))

    def metrics(self) -> str:
        """Return the service's figures, as Prometheus reads them."""
        return self._do(calls.metrics())

    def ready(self) -> bool:
        """Return whether the service is ready to decide, without waiting until it is."""
        return self._do(calls.ready(), _ONCE)

    def _do(self, call: Call[T], retries: Retries | None = None) -> T:
        work = exchange(call, retries or self._retries, self._chance)
        step = next(work)
        while True:
            reply: Answer | Lost | None = None
            if isinstance(step, Wait):
                time.sleep(step.seconds)
            else:
                try:
                    reply = transport.answer(self._http.request(**transport.request(step.call)))
                except self._lost as error:
                    reply = transport.lost(error)
            try:
                step = work.send(reply)
            except StopIteration as end:
                result: T = end.value
                return result
