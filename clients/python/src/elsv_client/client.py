"""`Client` and `AsyncClient`: the same calls, sent in two ways.

`_Calls` describes every call of both, as work that yields steps and gets their replies. A client sends them.
"""

from __future__ import annotations

import asyncio
import functools
import random
import socket
import ssl
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload
from urllib.parse import urlsplit

import httpx

from elsv_client import __version__, calls
from elsv_client.calls import Call
from elsv_client.care import Care, Entry, Flushed, Reply, Step, Work
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


def _hopeless(error: object) -> bool:
    """Return whether trying again cannot help: a certificate that is not trusted, a name that nobody has."""
    while isinstance(error, BaseException):
        if isinstance(error, ssl.SSLCertVerificationError | httpx.UnsupportedProtocol):
            return True
        if isinstance(error, socket.gaierror) and error.errno != socket.EAI_AGAIN:
            return True
        error = error.__cause__ or error.__context__
    return False


def _retry_after(reply: Reply) -> float | None:
    try:
        return max(0.0, float(reply.headers["retry-after"])) if isinstance(reply, httpx.Response) else None
    except (KeyError, ValueError):
        return None


class _Asked(Generic[P, T]):
    """A method that does the work which `describe` returns; its result is awaited in `AsyncClient`."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Work[T]]) -> None:
        self.describe, self.__doc__ = describe, describe.__doc__

    @overload
    def __get__(self, client: None, owner: type[Any]) -> Callable[Concatenate[Any, P], Work[T]]: ...
    @overload
    def __get__(self, client: Client, owner: type[Any]) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type[Any]) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Client | AsyncClient | None, owner: type[Any]) -> Any:
        if client is None:
            return self.describe

        @functools.wraps(self.describe)
        def send(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client._run(self.describe(client, *args, **kwargs))

        return send


def _sent(call: Callable[P, Call[T]]) -> _Asked[P, T]:
    """Return the method that sends a call, again and again if need be."""

    @functools.wraps(call)
    def describe(client: Any, *args: P.args, **kwargs: P.kwargs) -> Work[T]:
        work: Work[T] = client._exchange(call(*args, **kwargs))
        return work

    return _Asked(describe)  # type: ignore[arg-type]  # of what `wraps` returns


class _Calls:
    """The calls of both clients; `_kind` is the one of httpx that sends them."""

    _kind: type[Any]

    create = _sent(calls.create)
    campaigns = _sent(calls.campaigns)
    status = _sent(calls.status)
    change = _sent(calls.change)
    void_request = _sent(calls.void_request)
    rewards = _sent(calls.rewards)
    explain = _sent(calls.explain)
    audit = _sent(calls.audit)
    export = _sent(calls.export)
    report = _sent(calls.report)
    metrics = _sent(calls.metrics)
    ready = _sent(calls.ready)

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
        options = _options(url, token, timeout, ca)
        self._url, self._timeout, self._outbox = url, float(timeout), outbox is not None
        self._retries, self._chance = retries or Retries(), random.Random()
        self._care = Care(outbox, self._timeout, rest)
        self._http = self._kind(**options)

    @_Asked
    def reward(self, decision: str | Decision, success: bool) -> Work[RewardReceipt]:
        """Report an outcome; the receipt says what became of it.

        It counts once: if an answer was lost on the way, the next receipt says that it is a duplicate.
        With an outbox, an outcome that cannot be sent now waits there (``later``).
        """
        mine = calls.id_of(decision)
        entry = {"reward": mine, "success": success}
        return self._reported(mine, lambda: calls.reward(mine, success), entry)

    @_Asked
    def void(self, decision: str | Decision) -> Work[RewardReceipt]:
        """Say that the customer never saw what was decided: it counts neither as success nor as failure."""
        mine = calls.id_of(decision)
        return self._reported(mine, lambda: calls.void(mine), {"void": None, "decision": mine})

    @_Asked
    def flush(self) -> Work[Flushed]:
        """Send what waits in the outbox, and void what was decided too late to be shown.

        Call it every minute or so. It stops when the service does not answer; nothing is lost.
        """
        return self._care.flush()

    def _reported(
        self, mine: str, call: Callable[[], Call[RewardReceipt]], entry: Entry
    ) -> Work[RewardReceipt]:
        if mine == "":  # of a fallback
            return RewardReceipt("", "nothing", bool(entry.get("success")), False)
        if self._outbox:
            return (yield from self._care.report(call(), mine, entry))
        return (yield from self._exchange(call()))

    def _decided(
        self,
        name: str,
        customer: str | None,
        fallback: str | None,
        count: int | None,
        segment: str | None,
        key: str | None,
    ) -> Work[Decision | list[Decision]]:
        if fallback is not None:
            return (yield from self._care.decide(name, customer, fallback, segment))
        call = calls.decide(name, customer, count=count, segment=segment, key=key)
        made = yield from self._exchange(call)
        return made[0] if count is None else made

    def _exchange(self, call: Call[T]) -> Work[T]:
        """Send a call, again if it got no answer or is to come later; return its result."""
        retries, tried, pause = self._retries, 0, 0.0
        seconds = self._timeout if call.waited else max(self._timeout, _SLOW)
        while True:
            reply = yield Step(call, seconds, pause)
            tried += 1
            if isinstance(reply, httpx.Response):
                later = reply.status_code in _AGAIN
                if reply.status_code < 300 or (later and call.unanswered is not None):
                    return call.read(reply)
                if not later or tried > retries.most:
                    raise error_of(reply.status_code, reply.content)
            elif call.unanswered is not None:
                return call.unanswered
            elif tried > retries.most or _hopeless(reply):
                tries = "1 try" if tried == 1 else f"{tried} tries"
                raise UnavailableError(
                    f"no answer from the service in {tries}: {reply or type(reply).__name__}; check its "
                    "address and that it runs, and repeat the call: with the same key nothing is decided "
                    "twice"
                )
            pause = retries.pause(tried, _retry_after(reply), self._chance.random())

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

    _kind = httpx.Client
    _http: httpx.Client

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
        return self._run(self._decided(name, customer, fallback, count, segment, key))

    def _run(self, work: Work[T]) -> T:
        try:
            step = next(work)
            while True:
                time.sleep(step.pause)
                step = work.send(self._within(step) if step.within else self._reply(step))
        except StopIteration as end:
            result: T = end.value
            return result

    def _reply(self, step: Step) -> Reply:
        try:
            return self._http.request(**_request(step.call), timeout=step.seconds)
        except httpx.TransportError as error:
            return error

    def _within(self, step: Step) -> Reply:
        """Ask in a thread: httpx counts the time of each read anew, and looks names up without end."""
        answer: Future[Reply] = Future()

        def ask() -> None:
            try:
                answer.set_result(self._reply(step))
            except BaseException as error:  # goes to the caller
                answer.set_exception(error)

        threading.Thread(target=ask, daemon=True, name="elsv-client").start()
        try:
            return answer.result(step.seconds)
        except TimeoutError:
            return _too_late(step)


class AsyncClient(_Calls):
    """A connection to a decision service whose calls are awaited; the same calls as those of `Client`.

    Examples
    --------
    ::

        async with AsyncClient("http://127.0.0.1:8763", token) as client:
            decision = await client.decide("spring", "c-17")
    """

    _kind = httpx.AsyncClient
    _http: httpx.AsyncClient

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
        return await self._run(self._decided(name, customer, fallback, count, segment, key))

    async def _run(self, work: Work[T]) -> T:
        try:
            step = next(work)
            while True:
                if step.pause:
                    await asyncio.sleep(step.pause)
                try:
                    reply = await asyncio.wait_for(self._reply(step), step.seconds if step.within else None)
                except TimeoutError:
                    reply = _too_late(step)
                step = work.send(reply)
        except StopIteration as end:
            result: T = end.value
            return result

    async def _reply(self, step: Step) -> Reply:
        try:
            return await self._http.request(**_request(step.call), timeout=step.seconds)
        except httpx.TransportError as error:
            return error


def _too_late(step: Step) -> httpx.ReadTimeout:
    return httpx.ReadTimeout(f"no answer in {step.seconds:g} s")


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
