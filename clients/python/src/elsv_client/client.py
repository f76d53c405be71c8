"""`Client` and `AsyncClient`: the calls of `calls`, sent in two ways by the same rules."""

from __future__ import annotations

import asyncio
import functools
import random
import time
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeVar, overload
from urllib.parse import urlsplit

import httpx

from elsv_client import __version__, calls
from elsv_client.calls import Call
from elsv_client.errors import InvalidInputError, UnavailableError, error_of
from elsv_client.values import Decision

P = ParamSpec("P")
T = TypeVar("T")
_AGAIN = (429, 502, 503, 504)  # not now, perhaps later


@dataclass(frozen=True)
class Retries:
    """How often, and after how long, a call is sent again.

    Parameters
    ----------
    most
        So many times after the first; 0: never.
    first, longest
        Seconds before the first retry, and the most; doubled in between.
    patience
        The client waits for the service's own ``Retry-After`` if that is longer, but not longer than this.
    """

    most: int = 8
    first: float = 0.1
    longest: float = 5.0
    patience: float = 60.0

    def __post_init__(self) -> None:
        if isinstance(self.most, bool) or not isinstance(self.most, int) or self.most < 0:
            raise InvalidInputError(f"most must be a whole number, 0 or more, got {self.most!r}")
        for name in ("first", "longest", "patience"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not value >= 0:
                raise InvalidInputError(f"{name} must be seconds, 0 or more, got {value!r}")

    def pause(self, tried: int, asked: float | None, share: float) -> float:
        """Return how long to wait after so many tries; `share`, from 0 to 1, keeps clients apart."""
        own = min(self.longest, self.first * 2.0 ** min(tried - 1, 60)) * (0.5 + 0.5 * share)
        return own if asked is None else max(own, min(asked, self.patience))


Reply = httpx.Response | httpx.TransportError


def _exchange(call: Call[T], retries: Retries, chance: random.Random) -> Generator[float, Reply, T]:
    """Give the seconds to wait before each request; take the reply; return the result.

    There is no input or output here, so that both clients share it.
    """
    tried, pause = 0, 0.0
    while True:
        reply = yield pause
        tried += 1
        answer = reply if isinstance(reply, httpx.Response) else None
        if answer is not None and (answer.status_code < 300 or (call.once and answer.status_code in _AGAIN)):
            return call.read(answer)
        if answer is not None and (answer.status_code not in _AGAIN or tried > retries.most):
            raise error_of(answer.status_code, answer.content)
        if answer is None and call.once and call.unanswered is not None:
            return call.unanswered()
        if answer is None and tried > retries.most:
            raise UnavailableError(
                f"no answer from the service in {tried} tries: {reply or type(reply).__name__}; check its "
                "address and that it runs, and repeat the call: with the same key nothing is decided twice"
            )
        pause = retries.pause(tried, _retry_after(answer), chance.random())


def _retry_after(answer: httpx.Response | None) -> float | None:
    try:
        return None if answer is None else max(0.0, float(answer.headers.get("retry-after", "")))
    except ValueError:
        return None


class _Asked(Generic[P, T]):
    """A method that sends the call which `describe` returns; its result is awaited in `AsyncClient`."""

    def __init__(self, describe: Callable[P, Call[T]]) -> None:
        self.describe, self.__doc__ = describe, describe.__doc__

    @overload
    def __get__(self, client: None, owner: type[Any]) -> Callable[P, Call[T]]: ...
    @overload
    def __get__(self, client: Client, owner: type[Any]) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type[Any]) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Client | AsyncClient | None, owner: type[Any]) -> Any:
        if client is None:
            return self.describe

        @functools.wraps(self.describe)
        def send(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client._do(self.describe(*args, **kwargs))

        return send


class _Calls:
    """The calls of both clients."""

    create = _Asked(calls.create)
    campaigns = _Asked(calls.campaigns)
    status = _Asked(calls.status)
    change = _Asked(calls.change)
    reward = _Asked(calls.reward)
    rewards = _Asked(calls.rewards)
    explain = _Asked(calls.explain)
    audit = _Asked(calls.audit)
    export = _Asked(calls.export)
    report = _Asked(calls.report)
    metrics = _Asked(calls.metrics)
    ready = _Asked(calls.ready)

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = 30.0, retries: Retries | None = None
    ) -> None:
        self._options = _options(url, token, timeout)
        self._url, self._retries, self._chance = url, retries or Retries(), random.Random()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._url!r})"


class Client(_Calls):
    """A connection to a decision service; use it from one thread or from several.

    Parameters
    ----------
    url
        Where the service is, such as ``http://127.0.0.1:8763``.
    token
        What ``elsv token new`` printed; None where the service needs none.
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
        super().__init__(url, token, timeout=timeout, retries=retries)
        self._http = httpx.Client(**self._options)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; the client cannot be used afterwards."""
        self._http.close()

    @overload
    def decide(
        self, name: str, customer: str | None = None, *, segment: str | None = None, key: str | None = None
    ) -> Decision: ...
    @overload
    def decide(
        self, name: str, *, count: int, segment: str | None = None, key: str | None = None
    ) -> list[Decision]: ...
    @functools.wraps(calls.decide)
    def decide(self, *args: Any, **kwargs: Any) -> Any:  # noqa: D102
        made = self._do(calls.decide(*args, **kwargs))
        return made[0] if kwargs.get("count") is None else made

    def _do(self, call: Call[T]) -> T:
        work = _exchange(call, self._retries, self._chance)
        pause = next(work)
        while True:
            time.sleep(pause)
            try:
                reply: Reply = self._http.request(**_request(call))
            except httpx.TransportError as error:
                reply = error
            try:
                pause = work.send(reply)
            except StopIteration as end:
                result: T = end.value
                return result


class AsyncClient(_Calls):
    """A connection to a decision service whose calls are awaited; the same calls as those of `Client`.

    Examples
    --------
    ::

        async with AsyncClient("http://127.0.0.1:8763", token) as client:
            decision = await client.decide("spring", "c-17")
    """

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = 30.0, retries: Retries | None = None
    ) -> None:
        super().__init__(url, token, timeout=timeout, retries=retries)
        self._http = httpx.AsyncClient(**self._options)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections; the client cannot be used afterwards."""
        await self._http.aclose()

    @overload
    async def decide(
        self, name: str, customer: str | None = None, *, segment: str | None = None, key: str | None = None
    ) -> Decision: ...
    @overload
    async def decide(
        self, name: str, *, count: int, segment: str | None = None, key: str | None = None
    ) -> list[Decision]: ...
    @functools.wraps(calls.decide)
    async def decide(self, *args: Any, **kwargs: Any) -> Any:  # noqa: D102
        made = await self._do(calls.decide(*args, **kwargs))
        return made[0] if kwargs.get("count") is None else made

    async def _do(self, call: Call[T]) -> T:
        work = _exchange(call, self._retries, self._chance)
        pause = next(work)
        while True:
            if pause:
                await asyncio.sleep(pause)
            try:
                reply: Reply = await self._http.request(**_request(call))
            except httpx.TransportError as error:
                reply = error
            try:
                pause = work.send(reply)
            except StopIteration as end:
                result: T = end.value
                return result


def _options(url: str, token: str | None, timeout: float) -> dict[str, Any]:
    """Return what either of httpx's clients is made with."""
    parts = urlsplit(url) if isinstance(url, str) else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInputError(
            f"url must be the address of a service, such as http://127.0.0.1:8763, got {url!r}"
        )
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise InvalidInputError(f"timeout must be seconds, more than 0, got {timeout!r}")
    headers = {"user-agent": f"elsv-client/{__version__}", "accept": "application/json, */*"}
    if token is not None:
        if not isinstance(token, str) or not token.isascii() or not token.isprintable() or not token.strip():
            raise InvalidInputError("token must be the text that `elsv token new` printed")
        headers["authorization"] = f"Bearer {token.strip()}"
    return {"base_url": url, "timeout": float(timeout), "headers": headers, "follow_redirects": False}


def _request(call: Call[Any]) -> dict[str, Any]:
    return {"method": call.method, "url": call.path, "content": call.body, "headers": dict(call.headers)}
