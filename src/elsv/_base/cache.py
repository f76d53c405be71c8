"""What is kept in memory: `Recent`, a mapping with a bound, and one of them for tables that take long.

Large tables are also kept on disk (`elsv._base.cache_files`). Both have a limit, past which the tables that
were not used for longest are dropped: ``ELSV_CACHE_MEMORY`` (512MB for each process unless set) and
``ELSV_CACHE_DISK`` (1GB; 0 keeps no files). ``elsv cache`` says where the files are and how much they take,
and clears them.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar
from weakref import WeakSet

import numpy as np

from elsv._base.cache_files import memory_limit, read_table, table_path, write_table
from elsv._base.typing import FloatArray
from elsv.errors import InvalidInputError

LARGE = 5_000
"""Tables with more states than this are kept on disk."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
TableKey = tuple[str | int | float | None, ...]
_every: WeakSet[Recent[Any, Any]] = WeakSet()  # of this process


class Recent(Generic[Key, Value]):
    """A mapping that drops what was not used for longest; the last value put always stays.

    Parameters
    ----------
    limit
        Called whenever something is put: the bytes that all values together may take.
    """

    def __init__(self, limit: Callable[[], int]) -> None:
        self._limit = limit
        self._values: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()
        _every.add(self)

    @property
    def bytes(self) -> int:
        """What all values together take."""
        return self._bytes

    def get(self, key: Key) -> Value | None:
        """Return the value, which counts as a use of it, or None."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: Key, value: Value, size: int) -> None:
        """Keep a value of `size` bytes and drop others if need be."""
        limit = self._limit()
        with self._lock:
            self._drop(key)
            self._values[key] = value, size
            self._bytes += size
            while self._bytes > limit and len(self._values) > 1:
                self._drop(next(iter(self._values)))

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._values.clear()
            self._bytes = 0

    def _drop(self, key: Key) -> None:
        if key in self._values:
            self._bytes -= self._values.pop(key)[1]


class TableCache:
    """The tables of one process; `cached_table` uses the one of this process."""

    def __init__(self) -> None:
        self._tables: Recent[TableKey, FloatArray] = Recent(memory_limit)
        self._locks: dict[TableKey, tuple[threading.Lock, int]] = {}  # and how many wait for it or hold it
        self._guard = threading.Lock()

    def get(self, key: TableKey, compute: Callable[[], FloatArray], states: int, keep: bool) -> FloatArray:
        """Return the table from memory, from disk or from `compute`; see `cached_table`."""
        known = self._tables.get((*key, states))
        if known is not None:
            return known
        with self._alone((*key, states)):
            known = self.peek(key, states, keep)
            if known is None:
                known = self.put(key, np.array(compute(), dtype=np.float64), states, keep)
            return known

    def peek(self, key: TableKey, states: int, keep: bool) -> FloatArray | None:
        """Return the table from memory or from disk, or None."""
        known = self._tables.get((*key, states))
        if known is None and keep and states > LARGE:
            name = describe(key)
            path = table_path(name, states)
            known = None if path is None else read_table(path, name, states)
            if known is not None:
                self._remember(key, known)
        return known

    def put(
        self, key: TableKey, table: FloatArray, states: int, keep: bool, later: bool = False
    ) -> FloatArray:
        """Keep a table; return it, read-only. Its file is written now, or `later` in a thread of its own."""
        if table.shape != (states,):
            raise InvalidInputError(
                f"a table of {states} states must be a flat array, got shape {table.shape}"
            )
        if keep and states > LARGE:
            name = describe(key)
            path = table_path(name, states)
            if path is not None and later:  # the thread is no daemon: the process ends when it is done
                threading.Thread(target=write_table, args=(path, name, table), name="elsv-cache").start()
            elif path is not None:
                write_table(path, name, table)
        self._remember(key, table)
        return table

    @property
    def bytes(self) -> int:
        """What the tables in memory take."""
        return self._tables.bytes

    def _remember(self, key: TableKey, table: FloatArray) -> None:
        table.flags.writeable = False
        self._tables.put((*key, len(table)), table, table.nbytes)

    @contextmanager
    def _alone(self, key: TableKey) -> Iterator[None]:
        """Let one thread at a time work on a table."""
        with self._guard:
            lock, users = self._locks.get(key, (threading.Lock(), 0))
            self._locks[key] = lock, users + 1
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, users = self._locks.pop(key)
                if users > 1:
                    self._locks[key] = lock, users - 1


_shared = TableCache()


def cached_table(
    key: TableKey, compute: Callable[[], FloatArray], states: int, keep: bool = True
) -> FloatArray:
    """Return a read-only table, computing it only if it is neither in memory nor on disk.

    Parameters
    ----------
    key
        What the table holds, by which version of the algorithm (``"gittins-4"``), and all that its numbers
        depend on.
    compute
        Returns the table, shape ``[states]``. Two threads never compute the same table at once.
    states
        How many numbers it has.
    keep
        Whether a large table is also kept on disk.
    """
    return _shared.get(key, compute, states, keep)


def known_table(key: TableKey, states: int, keep: bool = True) -> FloatArray | None:
    """Return the table if it is in memory or on disk, else None."""
    return _shared.peek(key, states, keep)


def keep_table(key: TableKey, table: FloatArray) -> None:
    """Keep a table that was computed already, as `cached_table` does; nobody waits for its file."""
    _shared.put(key, table, len(table), True, later=True)


def forget_tables() -> None:
    """Forget all that is kept in memory; files stay."""
    for kept in list(_every):
        kept.clear()


def describe(key: TableKey) -> str:
    """Return a key as one line of text, with its numbers exactly."""
    return json.dumps([float(part).hex() if isinstance(part, int | float) else part for part in key])
