"""Temporary files beside their targets, and what a killed writer left of them.

A writer holds a lock on its temporary file, which the system lets go when the process ends, however it ends.
So a temporary that can be locked is not being written. Where there are no locks, one that has not been
touched for a day counts as abandoned.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import time
from contextlib import suppress
from pathlib import Path
from types import ModuleType

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None

LONG = 86_400.0
"""Seconds after which a temporary that cannot be locked counts as abandoned."""

_NAME = re.compile(r"\.elsv-([0-9a-f]{12})-[0-9a-f]{16}\.tmp")
_FLAGS = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# Some file systems lock for a process and not for an open file: threads know of each other by this.
_mine: set[str] = set()


def mark(target: Path) -> str:
    """Return what the names of all temporaries of one target have in common."""
    return hashlib.sha256(os.fsencode(target.name)).hexdigest()[:12]


def create(target: Path, mode: int) -> tuple[int, Path]:
    """Return a new file beside `target`, open and locked, with the permissions `mode` less the umask."""
    while True:
        path = target.parent / f".elsv-{mark(target)}-{secrets.token_hex(8)}.tmp"
        _mine.add(str(path))
        try:
            handle = os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, mode)
        except BaseException:
            _mine.discard(str(path))
            raise
        # Before the lock another process may have taken the file for abandoned.
        if _lock(handle) is not False and _same_file(handle, path):
            return handle, path
        os.close(handle)
        discard(path)


def discard(path: Path) -> None:
    """Remove a temporary of this process, if it is still there."""
    path.unlink(missing_ok=True)
    _mine.discard(str(path))


def remove_abandoned(directory: Path, target: Path | None = None) -> None:
    """Remove what killed writers left in `directory`, of `target` alone if it is given, without errors."""
    try:
        with os.scandir(directory) as entries:
            found = [entry.name for entry in entries if _NAME.fullmatch(entry.name)]
    except OSError:
        return
    for name in found:
        if target is None or name.startswith(f".elsv-{mark(target)}-"):
            _remove_if_abandoned(directory / name)


def _remove_if_abandoned(path: Path) -> None:
    if str(path) in _mine:
        return
    with suppress(OSError):
        if fcntl is None:
            if _is_old(path):
                path.unlink()
            return
        handle = os.open(path, _FLAGS | getattr(os, "O_NOFOLLOW", 0))
        try:
            free = _lock(handle)
            if free or (free is None and _is_old(path)):
                path.unlink()
        finally:
            os.close(handle)


def _is_old(path: Path) -> bool:
    return time.time() - path.stat().st_mtime > LONG


def _lock(handle: int) -> bool | None:
    """Return whether the file is now locked by us, or None where files cannot be locked."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _same_file(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False
