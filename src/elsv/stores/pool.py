"""Several connections to one store, and a store that reads by some and writes by another."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from elsv.stores.base import Store, StoreError, Transaction


class Pool:
    """As many connections as are needed at once, up to a number; whoever finds none free waits.

    Parameters
    ----------
    make
        Opens one more.
    size
        How many there may be.
    patience
        Seconds to wait for one that is free.
    """

    def __init__(self, make: Callable[[], Store], size: int, patience: float) -> None:
        self._make, self._size, self._patience = make, size, patience
        self._free: queue.LifoQueue[Store] = queue.LifoQueue()
        self._guard, self._made = threading.Lock(), 1
        first = make()
        self.place, self.locked, self.another = first.place, first.locked, make
        self._free.put(first)

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

    def close(self) -> None:
        """Close the connections that nobody uses; the next use opens them again."""
        free = []
        while not self._free.empty():
            free.append(self._free.get_nowait())
        for store in free:
            store.close()
            self._free.put(store)

    @contextmanager
    def _one(self) -> Iterator[Store]:
        store = self._take()
        try:
            yield store
        finally:
            self._free.put(store)

    def _take(self) -> Store:
        try:
            return self._free.get_nowait()
        except queue.Empty:
            pass
        with self._guard:
            more = self._made < self._size
            self._made += more
        if more:
            try:
                return self._make()
            except BaseException:
                with self._guard:
                    self._made -= 1
                raise
        try:
            return self._free.get(timeout=self._patience)
        except queue.Empty:
            raise StoreError(
                f"all {self._size} connections to {self.place} have been in use for "
                f"{self._patience:g} seconds; nothing was recorded by this call: try again, or allow more"
            ) from None


class Apart:
    """A store that reads by one connection and writes by another, which others may share."""

    def __init__(self, reader: Store, writer: Store) -> None:
        self._reader, self._writer = reader, writer
        self.place, self.locked, self.another = writer.place, writer.locked, writer.another
        self.reading, self.writing = reader.reading, writer.writing

    def close(self) -> None:
        """Close the connection that reads."""
        self._reader.close()
