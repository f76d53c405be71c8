"""Decisions for pages that must not wait: a fallback, an outbox, and a rest for a service that is not there.

`Care` says what to send and what to make of the reply, as generators: they yield a `Step` and get its reply.
So both clients share them. The outbox is a folder with one small file for each thing that the service does
not know yet; the clients in other languages write the same files.
"""

from __future__ import annotations

import json
import logging
import os
import time
import uuid
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import httpx

from elsv_client import calls
from elsv_client.calls import Call
from elsv_client.errors import InvalidInputError, NotAllowedError, ServiceError, UnavailableError, error_of
from elsv_client.values import Decision, RewardReceipt

T = TypeVar("T")
Reply = httpx.Response | httpx.TransportError
Entry = dict[str, Any]

_FAILURES = 3  # in a row; then the service is left alone
_SHARE = 0.9  # of the time for the service; the rest to remember what was lost
_BATCH = 500  # outcomes in one request of `flush`
_DOUBT = 60.0  # seconds in which a request that got no answer may still be decided
_UNDECIDED = (408, 429, 503)  # the service says that it did nothing
_log = logging.getLogger("elsv_client")


class Step(NamedTuple):
    """A request of some work, which gets its reply; the clients send it, each in its way."""

    call: Call[Any]
    seconds: float  # for each part of it: to connect, to write, to read
    pause: float = 0.0  # seconds to wait before it
    within: bool = False  # whether all of it must end in these seconds


Work = Generator[Step, Reply, T]


@dataclass(frozen=True)
class Flushed:
    """What became of the outbox."""

    sent: int = 0
    left: int = 0
    refused: int = 0  # moved to the folder ``refused``, for a person to look at


class Outbox:
    """What the service does not know yet: a folder with a file for each, or memory without a folder."""

    def __init__(self, folder: str | Path | None) -> None:
        self.folder = None if folder is None else Path(folder)
        self._kept: dict[str, Entry] = {}

    def add(self, entry: Entry, quick: bool = False) -> None:
        """Keep an entry, as a whole file or not at all; `quick`: without waiting for the disk."""
        name = f"{time.time():017.6f}-{uuid.uuid4().hex[:12]}.json"
        if self.folder is None:
            self._kept[name] = entry
            return
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o770)
        temporary = self.folder / f".new-{uuid.uuid4().hex}"
        try:
            with temporary.open("x") as file:
                json.dump(entry, file)
                if not quick:
                    file.flush()
                    os.fsync(file.fileno())
            temporary.rename(self.folder / name)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise

    def entries(self) -> dict[str, Entry | None]:
        """Return the entries by name, the oldest first; None for one that cannot be read."""
        if self.folder is None:
            return dict(self._kept)
        found: dict[str, Entry | None] = {}
        for path in sorted(self.folder.glob("[!.]*.json")):
            with suppress(FileNotFoundError):  # somebody else has sent it meanwhile
                try:
                    entry = json.loads(path.read_text())
                except ValueError:
                    entry = None
                known = isinstance(entry, dict) and (isinstance(entry.get("reward"), str) or "void" in entry)
                found[path.name] = entry if known else None
        return found

    def remove(self, name: str) -> None:
        """Forget an entry that the service knows."""
        self._kept.pop(name, None)
        if self.folder is not None:
            (self.folder / name).unlink(missing_ok=True)

    def put_aside(self, name: str, why: object) -> None:
        """Move an entry that the service will never take to the folder ``refused``."""
        self._kept.pop(name, None)
        if self.folder is not None:
            (self.folder / "refused").mkdir(exist_ok=True, mode=0o770)
            with suppress(FileNotFoundError):
                (self.folder / name).rename(self.folder / "refused" / name)
        _log.error("flush: %s; see %s in the outbox's folder `refused`", why, name)


class Care:
    """What both clients do so that a page never waits and nothing is lost.

    Parameters
    ----------
    outbox
        A folder; None: memory.
    seconds
        That a page may wait.
    rest
        Seconds for which a service is left alone that failed three times in a row.
    """

    def __init__(self, outbox: str | Path | None, seconds: float, rest: float) -> None:
        if isinstance(rest, bool) or not isinstance(rest, int | float) or not rest >= 0:
            raise InvalidInputError(f"rest must be seconds, 0 or more, got {rest!r}")
        self.outbox, self._seconds, self._rest = Outbox(outbox), seconds, float(rest)
        self._failures, self._until = 0, 0.0

    def decide(self, name: str, customer: str | None, fallback: str, segment: str | None) -> Work[Decision]:
        """Return a decision, or the fallback; never raise."""
        key, unknown = uuid.uuid4().hex, False
        try:
            call = calls.decide(name, customer, segment=segment, key=key)
            self._check_rest()
            reply = yield Step(call, _SHARE * self._seconds, within=True)
            unknown = _may_have_decided(reply)
            made = self._result(call, reply)[0]
        except Exception as error:
            if unknown:
                self._keep({"void": key, "campaign": name, "at": int(time.time())})
            if not isinstance(error, _RestingError):
                _log.warning("decide: %s", error)
            shown = Decision("", 0, -1, fallback, 0.0, "fallback", datetime.now(UTC), None, customer)
            return replace(shown, segment=segment, why=str(error))
        return made

    def report(self, call: Call[RewardReceipt], mine: str, entry: Entry) -> Work[RewardReceipt]:
        """Report an outcome or a void; what cannot be sent now waits in the outbox (``later``)."""
        try:
            self._check_rest()
            reply = yield Step(call, _SHARE * self._seconds, within=True)
            return self._result(call, reply)
        except ServiceError as error:
            if not _passes(error):
                raise
            self.outbox.add(entry)
            if not isinstance(error, _RestingError):
                _log.warning("%s waits in the outbox: %s", call.path, error)
            return RewardReceipt(mine, "later", bool(entry.get("success")), False)

    def flush(self) -> Work[Flushed]:
        """Send what waits in the outbox; stop at the first request that gets no answer."""
        done = {"sent": 0, "refused": 0}
        try:
            yield from self._flush(done)
        except ServiceError as error:
            _log.warning("flush: %s", error)
        return Flushed(left=len(self.outbox.entries()), **done)

    def _flush(self, done: dict[str, int]) -> Work[None]:
        rewards: list[tuple[str, Entry]] = []
        voids: list[tuple[str, Entry]] = []
        for name, entry in self.outbox.entries().items():
            if entry is None:
                self.outbox.put_aside(name, "it cannot be read")
                done["refused"] += 1
            else:
                (rewards if "reward" in entry else voids).append((name, entry))
        todo = [rewards[first : first + _BATCH] for first in range(0, len(rewards), _BATCH)]
        while todo:
            batch = todo.pop(0)
            sent = calls.rewards((entry["reward"], bool(entry["success"])) for _, entry in batch)
            told = yield from self._taken(sent)
            if isinstance(told, ServiceError) and len(batch) > 1:  # all or none: find the one that is refused
                todo = [[one] for one in batch] + todo
                continue
            self._settle([name for name, _ in batch], told, done)
        for name, entry in voids:
            if entry["void"] is None:
                told = yield from self._taken(calls.void(entry["decision"]))
            else:
                told = yield from self._taken(calls.void_request(entry["campaign"], entry["void"]))
                if told == [] and time.time() - entry["at"] < _DOUBT:
                    continue  # the service does not know the request yet: it may still be on its way
            self._settle([name], told, done)

    def _settle(self, names: list[str], told: object, done: dict[str, int]) -> None:
        refused = isinstance(told, ServiceError)
        for name in names:
            if refused:
                self.outbox.put_aside(name, told)
            else:
                self.outbox.remove(name)
        done["refused" if refused else "sent"] += len(names)

    def _taken(self, call: Call[Any]) -> Work[Any]:
        """Send a call of the outbox; return its result, or the error if it will never be taken."""
        reply = yield Step(call, 10.0, within=True)
        try:
            return self._result(call, reply)
        except ServiceError as error:
            if _passes(error):
                raise
            return error

    def _keep(self, entry: Entry) -> None:
        try:
            self.outbox.add(entry, quick=True)
        except OSError as error:
            _log.error("the outbox cannot be written, so %s is lost: %s", entry, error)

    def _check_rest(self) -> None:
        if self._failures >= _FAILURES:
            if time.monotonic() < self._until:
                raise _RestingError(
                    f"the service did not answer {self._failures} times; it is left alone for a while"
                )
            self._until = time.monotonic() + self._rest  # this one tries; the others wait on

    def _result(self, call: Call[T], reply: Reply) -> T:
        """Return what a reply says, or raise; count failures in a row."""
        if isinstance(reply, httpx.Response) and reply.status_code < 300:
            found = call.read(reply)
            self._failures = 0
            return found
        status = reply.status_code if isinstance(reply, httpx.Response) else None
        if status is None or status >= 500 or status in _UNDECIDED:
            self._failures += 1
            self._until = time.monotonic() + self._rest
        if isinstance(reply, httpx.Response):
            raise error_of(reply.status_code, reply.content)
        raise UnavailableError(f"no answer from the service: {reply or type(reply).__name__}")


class _RestingError(UnavailableError):
    """The service is being left alone."""


def _may_have_decided(reply: Reply) -> bool:
    """Return whether the service may have made a decision that nobody will show."""
    if isinstance(reply, httpx.Response):
        return reply.status_code < 400 or (reply.status_code >= 500 and reply.status_code not in _UNDECIDED)
    return not isinstance(reply, httpx.ConnectError | httpx.ConnectTimeout | httpx.UnsupportedProtocol)


def _passes(error: ServiceError) -> bool:
    """Return whether an error may pass, or is mended by another token."""
    if isinstance(error, UnavailableError | NotAllowedError):
        return True
    return error.status is None or error.status >= 500
