"""One store for many threads: commits that they share, several connections, reading apart from writing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from queue import Empty, LifoQueue
from typing import Any, TypeVar

from elsv.stores.base import Store, StoreError, Transaction

T = TypeVar("T")
Work = Callable[[Transaction], T]


def run_together(store: Store, works: Sequence[Work[Any]]) -> list[Any]:
    """Run `works` in one transaction and return what each returns, or the error it ends with.

    One that fails is undone alone. If the store itself fails, nothing is recorded and the error is raised.
    """
    found: list[Any] = []
    with store.writing() as writing:
        for work in works:
            writing.run("SAVEPOINT elsv_part")
            try:
                found.append(work(writing))
            except Exception as error:
                try:
                    writing.run("ROLLBACK TO SAVEPOINT elsv_part")
                except Exception:  # the store has given up the whole transaction, as on a full disk
                    raise error from None
                found.append(error)
            writing.run("RELEASE SAVEPOINT elsv_part")
    return found


class SharedCommits:
    """Commits that threads share: the first to come commits for all who come meanwhile.

    `most`: the most pieces of work in one transaction.
    """

    def __init__(self, store: Store, most: int = 256) -> None:
        self._store, self._most = store, most
        self._waiting: list[tuple[Work[Any], Future[Any]]] = []
        self._guard, self._committing = threading.Lock(), threading.Lock()

    def run(self, work: Work[T]) -> T:
        """Return what `work` returns, when it is on disk."""
        mine: Future[T] = Future()
        with self._guard:
            self._waiting.append((work, mine))
        while not mine.done():
            with self._committing:
                if not mine.done():
                    self._commit()
        return mine.result()

    def _commit(self) -> None:
        with self._guard:
            pieces, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
        try:
            found = run_together(self._store, [work for work, _ in pieces])
        except Exception as error:
            found = [error] * len(pieces)
        for (_, future), result in zip(pieces, found, strict=True):
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)


class Pool:
    """As many connections as are needed at once, `size` at most; a thread that finds none free waits.

    `make` opens one more, `patience` is how many seconds a thread waits, and `writer` is what to write by
    instead, which others may share.
    """

    def __init__(
        self, make: Callable[[], Store], size: int, patience: float, writer: Store | None = None
    ) -> None:
        first = make()
        self.place, self.locked, self.another = first.place, first.locked, make
        self._size, self._patience, self._writer = size, patience, writer
        self._free: LifoQueue[Store | None] = LifoQueue()  # None: one that was not opened yet
        for store in (*[None] * (size - 1), first):
            self._free.put(store)

    def writing(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction that may write; on disk when it ends without an error."""
        return self._begun(write=True) if self._writer is None else self._writer.writing()

    def reading(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction that sees one moment of the store."""
        return self._begun(write=False)

    def run(self, work: Work[T]) -> T:
        """Return what `work` returns, when it is on disk."""
        with self.writing() as writing:
            return work(writing)

    def close(self) -> None:
        """Close the connections that nobody uses; the next use opens them again."""
        for store in filter(None, list(self._free.queue)):
            store.close()

    @contextmanager
    def _begun(self, write: bool) -> Iterator[Transaction]:
        try:
            store = self._free.get(timeout=self._patience)
        except Empty:
            raise StoreError(
                f"all {self._size} connections to {self.place} have been in use for "
                f"{self._patience:g} seconds; nothing was recorded by this call: try again, or allow more"
            ) from None
        try:
            store = store or self.another()
            with store.writing() if write else store.reading() as transaction:
                yield transaction
        finally:
            self._free.put(store)
