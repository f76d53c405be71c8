"""Tables that take long to compute: kept for the process, and the large ones on disk.

A table is known by its kind and its parameters, and a table of more states begins with the one of fewer (the
numbering of `elsv._base.triangle`), so the largest one in memory serves every smaller request. Large tables
are also kept as files (`elsv._base.cache_files`).

Both have a limit, past which the tables that were not used for longest are dropped: ``ELSV_CACHE_MEMORY``
(512MB for each process unless set) and ``ELSV_CACHE_DISK`` (1GB; 0 keeps no files). ``elsv cache`` says where
the files are and how much they take, and clears them.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache

import numpy as np

from elsv._base.cache_files import memory_limit, read_table, table_path, write_table
from elsv._base.recent import Recent
from elsv._base.typing import FloatArray
from elsv.errors import InvalidInputError

LARGE = 100_000
"""Tables with more states than this are kept on disk."""

Parameters = Mapping[str, float | int | str]


class TableCache:
    """The tables of one process; `cached_table` uses the one of this process."""

    def __init__(self) -> None:
        self._tables: Recent[str, FloatArray] = Recent(memory_limit)
        self._largest: dict[str, int] = {}
        self._locks: dict[str, tuple[threading.Lock, int]] = {}  # and how many wait for it or hold it
        self._guard = threading.Lock()

    def get(
        self, kind: str, parameters: Parameters, compute: Callable[[], FloatArray], states: int
    ) -> FloatArray:
        """Return the table from memory, from disk or from `compute`; see `cached_table`."""
        key = describe(kind, parameters)
        with self._alone(key):
            known = self._tables.get(key)
            if known is not None and len(known) >= states:
                return known[:states]
            table = self._load_or_compute(key, compute, states)
            self._tables.put(key, table, table.nbytes)
            if states > LARGE:
                self._largest[key] = max(states, self._largest.get(key, 0))
            return table

    def peek(self, kind: str, parameters: Parameters) -> FloatArray | None:
        """Return the largest table in memory, or None; never computes or reads a file."""
        return self._tables.get(describe(kind, parameters))

    def largest(self, kind: str, parameters: Parameters) -> int:
        """Return the size of the largest table above `LARGE` that was asked for, even if it was dropped."""
        return self._largest.get(describe(kind, parameters), 0)

    def clear(self) -> None:
        """Forget the tables in memory; files stay."""
        self._tables.clear()
        self._largest.clear()

    @property
    def bytes(self) -> int:
        """What the tables in memory take."""
        return self._tables.bytes

    @contextmanager
    def _alone(self, key: str) -> Iterator[None]:
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

    @staticmethod
    def _load_or_compute(key: str, compute: Callable[[], FloatArray], states: int) -> FloatArray:
        path = table_path(key, states) if states > LARGE else None
        table = None if path is None else read_table(path, key, states)
        if table is None:
            table = np.array(compute(), dtype=np.float64)
            if table.shape != (states,):
                raise InvalidInputError(
                    f"a table of {states} states must be a flat array, got shape {table.shape}"
                )
            if path is not None:
                write_table(path, key, table)
        table.flags.writeable = False
        return table


_shared = TableCache()


def cached_table(
    kind: str, parameters: Parameters, compute: Callable[[], FloatArray], states: int
) -> FloatArray:
    """Return a read-only table of `states` numbers, computing it only if it is neither in memory nor on disk.

    Parameters
    ----------
    kind
        What the table holds and by which version of the algorithm, such as ``"gittins-1"``.
    parameters
        All that its numbers depend on, except how many there are.
    compute
        Returns the table, shape ``[states]``. Two threads never compute the same table at once.
    states
        How many numbers are wanted; a larger table of the same kind and parameters is cut to this size.
    """
    return _shared.get(kind, parameters, compute, states)


def known_table(kind: str, parameters: Parameters) -> FloatArray | None:
    """Return the largest table of this kind and these parameters in memory, or None."""
    return _shared.peek(kind, parameters)


def largest_size(kind: str, parameters: Parameters) -> int:
    """Return the size of the largest such table above `LARGE` that was asked for, even if it was dropped."""
    return _shared.largest(kind, parameters)


def forget_tables() -> None:
    """Forget every table in memory; files stay."""
    _shared.clear()


def describe(kind: str, parameters: Parameters) -> str:
    """Return kind and parameters as one line of text, numbers exactly, whatever their order."""
    return _describe(kind, tuple(parameters.items()))


@lru_cache(maxsize=4096)
def _describe(kind: str, items: tuple[tuple[str, float | int | str], ...]) -> str:
    values = {name: value if isinstance(value, str) else float(value).hex() for name, value in items}
    return json.dumps([kind, values], sort_keys=True)
