"""One store for many threads: commits that they share, several connections, reading apart from writing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
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

    `make` opens one more, and `patience` is how many seconds a thread waits.
    """

    def __init__(self, make: Callable[[], Store], size: int, patience: float) -> None:
        first = make()
        self.place, self.locked, self.another = first.place, first.locked, make
        self._size, self._patience, self._free = size, patience, [first]
        self._room = threading.Semaphore(size)

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """Begin a transaction that may write; on disk when it ends without an error."""
        with self._one() as store, store.writing() as writing:
            yield writing

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Begin a transaction that sees one moment of the store."""
        with self._one() as store, store.reading() as reading:
            yield reading

    def run(self, work: Work[T]) -> T:
        """Return what `work` returns, when it is on disk."""
        with self.writing() as writing:
            return work(writing)

    def close(self) -> None:
        """Close the connections that nobody uses; the next use opens them again."""
        for store in list(self._free):
            store.close()

    @contextmanager
    def _one(self) -> Iterator[Store]:
        if not self._room.acquire(timeout=self._patience):
            raise StoreError(
                f"all {self._size} connections to {self.place} have been in use for "
                f"{self._patience:g} seconds; nothing was recorded by this call: try again, or allow more"
            )
        try:
            try:
                store = self._free.pop()
            except IndexError:
                store = self.another()
            try:
                yield store
            finally:
                self._free.append(store)
        finally:
            self._room.release()


class Apart:
    """A store that reads by one connection and writes by another, which others may share."""

    def __init__(self, reader: Store, writer: Store) -> None:
        self._reader, self._writer = reader, writer
        self.place, self.locked, self.another = writer.place, writer.locked, writer.another
        self.reading, self.writing = reader.reading, writer.writing
        self.close = reader.close
