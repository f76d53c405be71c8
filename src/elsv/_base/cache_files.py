"""The cache on disk: where it is, what is in it, and how much of it there may be.

A file is written whole or not at all, carries a checksum and all that it was computed from, and is ignored if
anything about it is wrong: the cache can be deleted, or be read-only, at any time.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

import numpy as np

from elsv._base.files import remove_abandoned, write_atomically
from elsv._base.typing import FloatArray
from elsv.errors import InvalidInputError

MEMORY_VARIABLE, DISK_VARIABLE = "ELSV_CACHE_MEMORY", "ELSV_CACHE_DISK"
_MEMORY, _DISK = "512MB", "1GB"
_UNITS = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_MAGIC = b"elsv table 1\n"
_TABLE_NAME = re.compile(r"[0-9a-f]{32}\.table")


def memory_limit() -> int:
    """Return how many bytes of tables a process keeps: ``ELSV_CACHE_MEMORY``, such as ``2GB``."""
    return _size(MEMORY_VARIABLE, os.environ.get(MEMORY_VARIABLE) or _MEMORY)


def disk_limit() -> int:
    """Return how many bytes of files are kept: ``ELSV_CACHE_DISK``, such as ``500MB``."""
    return _size(DISK_VARIABLE, os.environ.get(DISK_VARIABLE) or _DISK)


@lru_cache(maxsize=64)
def _size(variable: str, text: str) -> int:
    found = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,15})?)\s*([kmgt]?b)?\s*", text.lower())
    if found is None:
        raise InvalidInputError(f"{variable} must be a size such as 500MB or 2GB, got {text!r}")
    unit = found[2] if found[2] not in (None, "b") else ""
    return round(float(found[1]) * _UNITS[unit])


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
    """Return the file of a table, or None where the user has no home directory."""
    name = hashlib.sha256(f"{key} {states}".encode()).hexdigest()[:32]
    directory = directory_or_none()
    return None if directory is None else directory / f"{name}.table"


def kernel_directory() -> Path | None:
    """Return where compiled kernels go if numba has no place of its own, or None without a home directory."""
    directory = directory_or_none()
    return None if directory is None else directory / "kernels"


def _header(key: str, body: bytes | memoryview) -> bytes:
    digest = hashlib.sha256(body).hexdigest()
    return _MAGIC + key.encode() + b"\n" + digest.encode() + b"\n"


def read_table(path: Path, key: str, states: int) -> FloatArray | None:
    """Return the table in the file, or None if it is missing, damaged or about something else."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    with suppress(OSError):
        os.utime(path)  # the time of last use, by which files are dropped
    body = content[-8 * states :]
    if len(body) != 8 * states or content[: -8 * states] != _header(key, body):
        return None
    return np.frombuffer(body, dtype="<f8").astype(np.float64)


def write_table(path: Path, key: str, table: FloatArray) -> None:
    """Keep the table if the directory and the limit allow it; drop others if need be."""
    body = table.astype("<f8", copy=False).data.cast("B")
    header, limit = _header(key, body), disk_limit()
    if len(header) + len(body) > limit:
        return

    def write(stream: BinaryIO) -> None:
        stream.write(header)
        stream.write(body)

    try:
        write_atomically(path, write)
    except (InvalidInputError, OSError):
        return
    remove_abandoned(path.parent)
    _drop_files(path.parent, limit)


@dataclass(frozen=True)
class Files:
    """Some files of the cache."""

    count: int
    bytes: int


def table_files() -> Files:
    """Return how many tables there are on disk, and what they take."""
    found = _found(_tables_in(directory_or_none()))
    return Files(len(found), sum(size for _, size, _ in found))


def kernel_files() -> Files:
    """Return how many files of compiled kernels there are in `kernel_directory`, and what they take."""
    found = _found(_kernels_in(kernel_directory()))
    return Files(len(found), sum(size for _, size, _ in found))


def clear_files() -> Files:
    """Remove every file that elsv keeps in its cache directory, and nothing else; return what there was."""
    directory, kernels = directory_or_none(), kernel_directory()
    if directory is not None:
        remove_abandoned(directory)
    removed = [entry for entry in _found(_tables_in(directory) + _kernels_in(kernels)) if _remove(entry[2])]
    for folder in () if kernels is None else (*kernels.glob("*"), kernels):
        with suppress(OSError):
            folder.rmdir()  # if it is empty now
    return Files(len(removed), sum(size for _, size, _ in removed))


def _drop_files(directory: Path, limit: int) -> None:
    """Remove the tables that were not used for longest until the rest take at most `limit` bytes."""
    found = sorted(_found(_tables_in(directory)))
    total = sum(size for _, size, _ in found)
    for _, size, path in found:
        if total <= limit:
            return
        if _remove(path):
            total -= size


def directory_or_none() -> Path | None:
    """Return where files are kept, or None where the user has no home directory."""
    try:
        return cache_directory()
    except RuntimeError:  # no home directory
        return None


def _tables_in(directory: Path | None) -> list[Path]:
    try:
        return [] if directory is None else [p for p in directory.iterdir() if _TABLE_NAME.fullmatch(p.name)]
    except OSError:
        return []


def _kernels_in(directory: Path | None) -> list[Path]:
    try:
        return [] if directory is None else [*directory.glob("*/*.nbi"), *directory.glob("*/*.nbc")]
    except OSError:
        return []


def _found(paths: list[Path]) -> list[tuple[float, int, Path]]:
    """Return time of last use, size and path of the files that are there."""
    found = []
    for path in paths:
        with suppress(OSError):
            about = path.stat()
            found.append((about.st_mtime, about.st_size, path))
    return found


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True
