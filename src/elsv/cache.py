"""Tables that are dear to compute: once per process, and the large ones once per machine.

A table is known by its kind and its parameters, and a table of more states begins with the one of fewer (the
numbering of `elsv.triangle`), so the largest one in memory serves every smaller request. Large tables are
also kept as files under the user's cache directory. A file is written whole or not at all, carries a checksum
and all that it was computed from, and is ignored if anything about it is wrong: the cache can be deleted, or
be read-only, at any time.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np

from elsv._files import write_bytes
from elsv._typing import FloatArray
from elsv.errors import InvalidInputError

LARGE = 100_000
"""Tables with more states than this are kept on disk."""

_MAGIC = b"elsv table 1\n"
Parameters = Mapping[str, float | int | str]


class TableCache:
    """The tables of one process; `cached_table` uses the one that everybody shares."""

    def __init__(self) -> None:
        self._tables: dict[str, FloatArray] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    def get(
        self, kind: str, parameters: Parameters, compute: Callable[[], FloatArray], states: int
    ) -> FloatArray:
        """Return the table from memory, from disk or from `compute`; see `cached_table`."""
        key = describe(kind, parameters)
        with self._guard:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            known = self.peek(kind, parameters)
            if known is not None and len(known) >= states:
                return known[:states]
            table = self._load_or_compute(key, compute, states)
            self._tables[key] = table
            return table

    def peek(self, kind: str, parameters: Parameters) -> FloatArray | None:
        """Return the largest table in memory, or None; never computes or reads a file."""
        return self._tables.get(describe(kind, parameters))

    def clear(self) -> None:
        """Forget the tables in memory; files stay."""
        self._tables.clear()

    @staticmethod
    def _load_or_compute(key: str, compute: Callable[[], FloatArray], states: int) -> FloatArray:
        path = table_path(key, states) if states > LARGE else None
        table = None if path is None else _read(path, key, states)
        if table is None:
            table = np.array(compute(), dtype=np.float64)
            if table.shape != (states,):
                raise InvalidInputError(
                    f"a table of {states} states must be a flat array, got shape {table.shape}"
                )
            if path is not None:
                _write(path, key, table)
        table.flags.writeable = False
        return table


_shared = TableCache()


def cached_table(
    kind: str, parameters: Parameters, compute: Callable[[], FloatArray], states: int
) -> FloatArray:
    """Return a read-only table of `states` numbers, computing it only if it is nowhere to be found.

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


def cache_directory() -> Path:
    """Return where files are kept: ``ELSV_CACHE_DIR`` if set, else the platform's place for caches."""
    if chosen := os.environ.get("ELSV_CACHE_DIR"):
        return Path(chosen)
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "elsv" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "elsv"
    chosen = os.environ.get("XDG_CACHE_HOME")
    return (Path(chosen) if chosen else Path.home() / ".cache") / "elsv"


def table_path(key: str, states: int) -> Path | None:
    """Return the file of a table, or None where the user has no cache directory."""
    name = hashlib.sha256(f"{key} {states}".encode()).hexdigest()[:32]
    try:
        return cache_directory() / f"{name}.table"
    except RuntimeError:  # no home directory
        return None


def _header(key: str, body: bytes) -> bytes:
    digest = hashlib.sha256(body).hexdigest()
    return _MAGIC + key.encode() + b"\n" + digest.encode() + b"\n"


def _read(path: Path, key: str, states: int) -> FloatArray | None:
    """Return the table in the file, or None if it is missing, damaged or about something else."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    body = content[-8 * states :]
    if len(body) != 8 * states or content[: -8 * states] != _header(key, body):
        return None
    return np.frombuffer(body, dtype="<f8").astype(np.float64)


def _write(path: Path, key: str, table: FloatArray) -> None:
    """Keep the table if the directory allows it."""
    body = table.astype("<f8").tobytes()
    try:
        write_bytes(path, _header(key, body) + body)
    except (InvalidInputError, OSError):
        return
