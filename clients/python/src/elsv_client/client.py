"""`Client` and `AsyncClient`: the calls of `calls`, sent in two ways by the same rules."""

from __future__ import annotations

import asyncio
import functools
import queue
import random
import socket
import ssl
import threading
import time
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypedDict, TypeVar, Unpack, overload
from urllib.parse import urlsplit

import httpx

from elsv_client import __version__, calls
from elsv_client.calls import Call
from elsv_client.care import Care, Flushed, Reply, Work
from elsv_client.errors import InvalidInputError, UnavailableError, error_of
from elsv_client.values import Decision, RewardReceipt

P = ParamSpec("P")
T = TypeVar("T")
_AGAIN = (429, 502, 503, 504)  # not now, perhaps later
_SLOW = 60.0  # seconds, at least, that calls may take which no page waits for


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
        if answer is None and (tried > retries.most or _hopeless(reply)):
            tries = "1 try" if tried == 1 else f"{tried} tries"
            raise UnavailableError(
                f"no answer from the service in {tries}: {reply or type(reply).__name__}; check its "
                "address and that it runs, and repeat the call: with the same key nothing is decided twice"
            )
        pause = retries.pause(tried, _retry_after(answer), chance.random())


def _hopeless(error: object) -> bool:
    """Return whether trying again cannot help: a certificate that is not trusted, a name that nobody has."""
    while isinstance(error, BaseException):
        if isinstance(error, ssl.SSLCertVerificationError | httpx.UnsupportedProtocol):
            return True
        if isinstance(error, socket.gaierror) and error.errno != socket.EAI_AGAIN:
            return True
        error = error.__cause__ or error.__context__
    return False


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


class Options(TypedDict, total=False):
    """How a client behaves."""

    timeout: float
    retries: Retries | None
    ca: str | Path | None
    outbox: str | Path | None
    rest: float


class _Calls:
    """The calls of both clients."""

    create = _Asked(calls.create)
    campaigns = _Asked(calls.campaigns)
    status = _Asked(calls.status)
    change = _Asked(calls.change)
    void_request = _Asked(calls.void_request)
    rewards = _Asked(calls.rewards)
    explain = _Asked(calls.explain)
    audit = _Asked(calls.audit)
    export = _Asked(calls.export)
    report = _Asked(calls.report)
    metrics = _Asked(calls.metrics)
    ready = _Asked(calls.ready)

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 2.0,
        retries: Retries | None = None,
        ca: str | Path | None = None,
        outbox: str | Path | None = None,
        rest: float = 5.0,
    ) -> None:
        self._options = _options(url, token, timeout, ca)
        self._url, self._retries, self._chance = url, retries or Retries(), random.Random()
        self._care, self._outbox = Care(outbox, float(timeout), rest), outbox is not None
        self._timeout = float(timeout)

    def _seconds(self, call: Call[Any]) -> float:
        return self._timeout if call.waited else max(self._timeout, _SLOW)

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
        Seconds to wait for each answer. Calls that no page waits for, such as `create` and `export`, have a
        minute.
    retries
        How often a call is sent again that got no answer, or one that says to try later.
    ca
        A file of certificates to trust, for https with a certificate of one's own.
    outbox
        A folder for outcomes that could not be sent. With it `reward` and `void` try once and then leave
        them there, with the status ``later``, for `flush`.
    rest
        Seconds for which a service that failed three times in a row is not asked: `decide` returns the
        fallback at once, and outcomes go into the outbox.

    Examples
    --------
    ::

        with Client("http://127.0.0.1:8763", token) as client:
            client.create("spring", Problem(rewards=[0.8, 0.9, 1.0], horizon=300), window="7 days")
            decision = client.decide("spring", "c-17")
            client.reward(decision, success=True)
            print(client.status("spring"))
    """

    def __init__(self, url: str, token: str | None = None, **options: Unpack[Options]) -> None:
        super().__init__(url, token, **options)
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
        self, name: str, customer: str | None, fallback: str, *, segment: str | None = None
    ) -> Decision: ...
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
        fallback: str | None = None,
        *,
        count: int | None = None,
        segment: str | None = None,
        key: str | None = None,
    ) -> Decision | list[Decision]:
        """Return the arm for a customer, or for `count` customers who are not known (up to 1,000).

        Parameters
        ----------
        name
            The campaign.
        customer
            Any text that tells customers apart. A customer who comes back keeps the arm.
        fallback
            The arm's name to show if no answer comes in time. With it, `decide` never raises and takes no
            longer than the client's `timeout`, connection included. A fallback has no id. If its request was
            decided all the same, `flush` voids that decision.
        count
            How many decisions to make; they come as a list.
        segment
            The customer's segment, where the campaign has segments.
        key
            The same key gets the same decisions, whenever it is sent. Default: a new key for each call, so
            that the client's own retries decide once.
        """
        if fallback is not None:
            return self._careful(self._care.decide(name, customer, fallback, segment))
        made = self._do(calls.decide(name, customer, count=count, segment=segment, key=key))
        return made[0] if count is None else made

    def reward(self, decision: str | Decision, success: bool) -> RewardReceipt:
        """Report an outcome; the receipt says what became of it.

        It counts once: if an answer was lost on the way, the next receipt says that it is a duplicate.
        With an outbox, an outcome that cannot be sent now waits there (``later``).
        """
        if self._outbox or calls.id_of(decision) == "":
            return self._careful(self._care.reward(decision, success))
        return self._do(calls.reward(decision, success))

    def void(self, decision: str | Decision) -> RewardReceipt:
        """Say that the customer never saw what was decided: it counts neither as success nor as failure."""
        if self._outbox or calls.id_of(decision) == "":
            return self._careful(self._care.void(decision))
        return self._do(calls.void(decision))

    def flush(self) -> Flushed:
        """Send what waits in the outbox, and void what was decided too late to be shown.

        Call it every minute or so. It stops when the service does not answer; nothing is lost.
        """
        return self._careful(self._care.flush())

    def _do(self, call: Call[T]) -> T:
        work = _exchange(call, self._retries, self._chance)
        pause = next(work)
        while True:
            time.sleep(pause)
            try:
                pause = work.send(self._reply(call, self._seconds(call)))
            except StopIteration as end:
                result: T = end.value
                return result

    def _reply(self, call: Call[Any], seconds: float) -> Reply:
        try:
            return self._http.request(**_request(call), timeout=seconds)
        except httpx.TransportError as error:
            return error

    def _careful(self, work: Work[T]) -> T:
        try:
            step = next(work)
            while True:
                step = work.send(self._within(*step))
        except StopIteration as end:
            result: T = end.value
            return result

    def _within(self, call: Call[Any], seconds: float) -> Reply:
        """Ask in a thread: httpx counts the time of each read anew, and looks names up without end."""
        answers: queue.SimpleQueue[Reply | BaseException] = queue.SimpleQueue()

        def ask() -> None:
            try:
                answers.put(self._reply(call, seconds))
            except BaseException as error:  # goes to the caller
                answers.put(error)

        threading.Thread(target=ask, daemon=True, name="elsv-client").start()
        try:
            reply = answers.get(timeout=seconds)
        except queue.Empty:
            return httpx.ReadTimeout(f"no answer in {seconds:g} s")
        if isinstance(reply, httpx.Response | httpx.TransportError):
            return reply
        raise reply


class AsyncClient(_Calls):
    """A connection to a decision service whose calls are awaited; the same calls as those of `Client`.

    Examples
    --------
    ::

        async with AsyncClient("http://127.0.0.1:8763", token) as client:
            decision = await client.decide("spring", "c-17")
    """

    def __init__(self, url: str, token: str | None = None, **options: Unpack[Options]) -> None:
        super().__init__(url, token, **options)
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
        self, name: str, customer: str | None, fallback: str, *, segment: str | None = None
    ) -> Decision: ...
    @overload
    async def decide(
        self, name: str, customer: str | None = None, *, segment: str | None = None, key: str | None = None
    ) -> Decision: ...
    @overload
    async def decide(
        self, name: str, *, count: int, segment: str | None = None, key: str | None = None
    ) -> list[Decision]: ...
    async def decide(
        self,
        name: str,
        customer: str | None = None,
        fallback: str | None = None,
        *,
        count: int | None = None,
        segment: str | None = None,
        key: str | None = None,
    ) -> Decision | list[Decision]:
        """Return the arm for a customer, or for `count` customers; see `Client.decide`."""
        if fallback is not None:
            return await self._careful(self._care.decide(name, customer, fallback, segment))
        made = await self._do(calls.decide(name, customer, count=count, segment=segment, key=key))
        return made[0] if count is None else made

    async def reward(self, decision: str | Decision, success: bool) -> RewardReceipt:
        """Report an outcome; the receipt says what became of it.

        It counts once: if an answer was lost on the way, the next receipt says that it is a duplicate.
        With an outbox, an outcome that cannot be sent now waits there (``later``).
        """
        if self._outbox or calls.id_of(decision) == "":
            return await self._careful(self._care.reward(decision, success))
        return await self._do(calls.reward(decision, success))

    async def void(self, decision: str | Decision) -> RewardReceipt:
        """Say that the customer never saw what was decided: it counts neither as success nor as failure."""
        if self._outbox or calls.id_of(decision) == "":
            return await self._careful(self._care.void(decision))
        return await self._do(calls.void(decision))

    async def flush(self) -> Flushed:
        """Send what waits in the outbox, and void what was decided too late to be shown.

        Call it every minute or so. It stops when the service does not answer; nothing is lost.
        """
        return await self._careful(self._care.flush())

    async def _do(self, call: Call[T]) -> T:
        work = _exchange(call, self._retries, self._chance)
        pause = next(work)
        while True:
            if pause:
                await asyncio.sleep(pause)
            try:
                pause = work.send(await self._reply(call, self._seconds(call)))
            except StopIteration as end:
                result: T = end.value
                return result

    async def _reply(self, call: Call[Any], seconds: float) -> Reply:
        try:
            return await self._http.request(**_request(call), timeout=seconds)
        except httpx.TransportError as error:
            return error

    async def _careful(self, work: Work[T]) -> T:
        try:
            call, seconds = next(work)
            while True:
                try:
                    reply = await asyncio.wait_for(self._reply(call, seconds), seconds)
                except TimeoutError:
                    reply = httpx.ReadTimeout(f"no answer in {seconds:g} s")
                call, seconds = work.send(reply)
        except StopIteration as end:
            result: T = end.value
            return result


def _options(url: str, token: str | None, timeout: float, ca: str | Path | None) -> dict[str, Any]:
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
    options = {"base_url": url, "timeout": float(timeout), "headers": headers, "follow_redirects": False}
    if ca is not None:
        try:
            options["verify"] = ssl.create_default_context(cafile=str(ca))
        except OSError as error:
            raise InvalidInputError(f"ca must be a file of certificates in PEM, got {ca}: {error}") from error
    return options


def _request(call: Call[Any]) -> dict[str, Any]:
    return {"method": call.method, "url": call.path, "content": call.body, "headers": dict(call.headers)}
