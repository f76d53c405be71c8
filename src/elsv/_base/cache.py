"""What is kept for the next time: one cache in memory, one on disk, each with a limit.

Results that take long to make and serve many states go into `memory`, under a key with all that they depend
on. (Results for single states are too many: their functions keep a few themselves.) Large tables are also
kept as files. Past a limit, those not used for longest are dropped: ``ELSV_CACHE_MEMORY`` (512MB for each
process unless set) and ``ELSV_CACHE_DISK`` (1GB; 0 keeps no files). ``elsv cache`` says where the files are
and how much they take, and clears them.

A file is written whole or not at all, carries a checksum and all that it was computed from, and is ignored if
anything about it is wrong: the directory can be deleted, or be read-only, at any time.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast
from weakref import WeakValueDictionary

import numpy as np

from elsv._base.files import remove_abandoned, write_atomically
from elsv._base.typing import FloatArray
from elsv.errors import InvalidInputError

LARGE = 5_000
"""Tables with more states than this are kept on disk."""

F = TypeVar("F", bound=Callable[..., Any])
TableKey = tuple[str | int | float | None, ...]
_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_MAGIC = b"elsv table 1\n"
KINDS = {"tables": "[0-9a-f]" * 32 + ".table", "kernels": "kernels/*/*.nb[ic]"}
"""What is kept as files, and how these are named below `cache_directory`."""
_PLACES = {
    "win32": ("LOCALAPPDATA", "AppData/Local", "elsv/Cache"),
    "darwin": ("", "Library/Caches", "elsv"),
}  # variable that names the user's place for caches, where it is otherwise, and the part of elsv


def memory_limit() -> int:
    """Return how many bytes a process keeps in memory: ``ELSV_CACHE_MEMORY``, such as ``2GB``."""
    return _size("ELSV_CACHE_MEMORY", "512MB")


def disk_limit() -> int:
    """Return how many bytes of tables are kept on disk: ``ELSV_CACHE_DISK``, such as ``500MB``."""
    return _size("ELSV_CACHE_DISK", "1GB")


def _size(variable: str, default: str) -> int:
    text = os.environ.get(variable) or default
    found = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,15})?)\s*([kmgt]?b)?\s*", text.lower())
    if found is None:
        raise InvalidInputError(f"{variable} must be a size such as 500MB or 2GB, got {text!r}")
    return round(float(found[1]) * _UNITS[found[2] or ""])


class Memory:
    """Values by key. Past `memory_limit` those not used for longest are dropped; the latest always stays."""

    def __init__(self) -> None:
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._making: WeakValueDictionary[Hashable, threading.Lock] = WeakValueDictionary()
        self._lock = threading.Lock()
        self.bytes = 0  # of all values together

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable) -> Any:
        """Return the value or None; asking counts as a use."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: Hashable, value: Any, size: int) -> None:
        """Keep a value of `size` bytes and drop others if need be."""
        limit = memory_limit()
        with self._lock:
            self.bytes += size - self._values.pop(key, (None, 0))[1]
            self._values[key] = value, size
            while self.bytes > limit and len(self._values) > 1:
                self.bytes -= self._values.popitem(last=False)[1][1]

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._values.clear()
            self.bytes = 0

    def making(self, key: Hashable) -> threading.Lock:
        """Return the lock to hold while the value of a key is made; all who make it at once share one."""
        with self._lock:
            return self._making.setdefault(key, threading.Lock())


memory = Memory()
"""The one of this process."""


def remembered(function: F) -> F:
    """Keep in `memory` what a function returns, an array or a tuple of arrays, for hashable arguments."""

    @wraps(function)
    def found(*given: Hashable) -> Any:
        value = memory.get((function, *given))
        if value is None:
            value = function(*given)
            arrays = value if isinstance(value, tuple) else (value,)
            memory.put((function, *given), value, sum(array.nbytes for array in arrays))
        return value

    return cast(F, found)


def cached_table(
    key: TableKey, compute: Callable[[], FloatArray], states: int, keep: bool = True
) -> FloatArray:
    """Return a read-only table ``[states]``; it is computed only if it is neither in memory nor on disk.

    The key says what the table holds, by which version of the algorithm (``"gittins-4"``), and all that its
    numbers depend on. Two threads never compute the same table at once. `keep`: a large one is kept on disk.
    """
    known: FloatArray | None = memory.get((*key, states))
    if known is not None:
        return known
    with memory.making((*key, states)):
        known = known_table(key, states, keep)
        if known is None:
            known = np.array(compute(), dtype=np.float64)
            if known.shape != (states,):
                raise InvalidInputError(
                    f"a table of {states} states must be a flat array, got shape {known.shape}"
                )
            if keep and states > LARGE:
                write_table(key, known)
            _remember(key, known)
        return known


def known_table(key: TableKey, states: int, keep: bool = True) -> FloatArray | None:
    """Return the table from memory or from disk, else None; a damaged file counts as none."""
    known: FloatArray | None = memory.get((*key, states))
    if known is not None or not keep or states <= LARGE:
        return known
    path, beginning = _file_of(key, states)
    if path is None:
        return None
    try:
        content = path.read_bytes()
    except OSError:
        return None
    body = content[-8 * states :]
    if content[: -8 * states] != beginning + _checksum(body):
        return None
    with suppress(OSError):
        os.utime(path)  # the time of last use, by which files are dropped
    known = np.frombuffer(body, dtype="<f8").astype(np.float64)
    _remember(key, known)
    return known


def keep_table(key: TableKey, table: FloatArray) -> None:
    """Keep a table that was computed already, as `cached_table` does; nobody waits for its file."""
    if len(table) > LARGE:  # the thread is no daemon: the process ends when it is done
        threading.Thread(target=write_table, args=(key, table), name="elsv-cache").start()
    _remember(key, table)


def _remember(key: TableKey, table: FloatArray) -> None:
    table.flags.writeable = False
    memory.put((*key, len(table)), table, table.nbytes)


def cache_directory() -> Path | None:
    """Return where files are kept: ``ELSV_CACHE_DIR`` if set, else the platform's place for caches.

    None where the user has no home directory.
    """
    if chosen := os.environ.get("ELSV_CACHE_DIR"):
        return Path(chosen)
    variable, place, name = _PLACES.get(sys.platform, ("XDG_CACHE_HOME", ".cache", "elsv"))
    chosen = os.environ.get(variable)
    try:
        return (Path(chosen) if chosen else Path.home() / place) / name
    except RuntimeError:
        return None


def _file_of(key: TableKey, states: int) -> tuple[Path | None, bytes]:
    """Return where the file of a table is, and how it begins: with the exact key."""
    about = json.dumps([float(part).hex() if isinstance(part, int | float) else part for part in key])
    name = hashlib.sha256(f"{about} {states}".encode()).hexdigest()[:32]
    directory = cache_directory()
    return directory and directory / f"{name}.table", _MAGIC + about.encode() + b"\n"


def _checksum(body: bytes | memoryview) -> bytes:
    return hashlib.sha256(body).hexdigest().encode() + b"\n"


def write_table(key: TableKey, table: FloatArray) -> None:
    """Keep the table as a file if the directory and the limit allow it; drop others if need be."""
    (path, beginning), limit = _file_of(key, len(table)), disk_limit()
    body = table.astype("<f8", copy=False).data.cast("B")
    header = beginning + _checksum(body)
    if path is None or len(header) + len(body) > limit:
        return
    try:
        write_atomically(path, lambda stream: stream.writelines((header, body)))
    except (InvalidInputError, OSError):
        return
    remove_abandoned(path.parent)
    found = sorted(kept_files("tables"))
    total = sum(file.bytes for file in found)
    for oldest in found:
        if total <= limit:
            return
        total -= oldest.bytes if _remove(oldest) else 0


class KeptFile(NamedTuple):
    """A file of the cache."""

    used: float  # when it was used last
    bytes: int
    path: Path


def kept_files(kind: str) -> list[KeptFile]:
    """Return the files of one of `KINDS`."""
    directory, found = cache_directory(), []
    with suppress(OSError):
        for path in () if directory is None else list(directory.glob(KINDS[kind])):
            with suppress(OSError):
                about = path.stat()
                found.append(KeptFile(about.st_mtime, about.st_size, path))
    return found


def clear_files() -> list[KeptFile]:
    """Remove every file that elsv keeps in its cache directory, and nothing else; return them."""
    directory = cache_directory()
    if directory is None:
        return []
    remove_abandoned(directory)
    removed = [file for kind in KINDS for file in kept_files(kind) if _remove(file)]
    for folder in (*directory.glob("kernels/*"), directory / "kernels"):
        with suppress(OSError):
            folder.rmdir()  # if it is empty now
    return removed


def _remove(file: KeptFile) -> bool:
    try:
        file.path.unlink()
    except OSError:
        return False
    return True
