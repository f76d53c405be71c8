"""Files are written whole or not at all: to a temporary name beside the target, then renamed.

A link stays and its target is written; an existing file keeps its mode and owner, a new one follows the
umask; what is no regular file (a device, a pipe) is written to as it is.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from elsv._base import temporaries
from elsv.errors import ElsvError, InvalidInputError

_NO_SPACE = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))


def write_atomically(path: str | Path, write: Callable[[BinaryIO], None]) -> None:
    """Call `write` on a temporary file in the target's directory, then rename it to `path`."""
    with _unwritable(path):
        target, before = _look(path)
        if before is not None and not stat.S_ISREG(before.st_mode):
            with open(target, "wb") as stream:
                write(stream)
            return
        with _replacing(target, before) as (stream, _):
            write(stream)


def make_atomically(path: str | Path, make: Callable[[Path], None], mode: int = 0o666) -> None:
    """Call `make` with the path of an empty temporary file beside the target, then rename it to `path`.

    For what writes files by their names; a new file has the permissions `mode` less the umask.
    """
    with _unwritable(path):
        target, before = _look(path)
        with _replacing(target, before, mode) as (_, temporary):
            make(temporary)


def check_writable(path: str | Path) -> None:
    """Raise `InvalidInputError` if a file could not be written to `path` now; leaves nothing behind."""
    with _unwritable(path):
        target, before = _look(path)
        if before is not None and not stat.S_ISREG(before.st_mode):
            return
        directory = next(parent for parent in target.parents if os.path.lexists(parent))
        handle, temporary = temporaries.create(directory / target.name, 0o600)
        os.close(handle)
        temporaries.discard(temporary)


def unreadable(what: object, error: OSError, remedy: str) -> InvalidInputError:
    """Return the error to raise for a file that cannot be read."""
    return InvalidInputError(f"cannot read {what}: {error.strerror or error}; {remedy}")


def write_text(path: str | Path, text: str) -> None:
    """Write UTF-8 text atomically."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write bytes atomically."""

    def write(stream: BinaryIO) -> None:
        stream.write(content)

    write_atomically(path, write)


@contextmanager
def _unwritable(path: str | Path) -> Iterator[None]:
    """Turn the system's errors into one that says what to do."""
    try:
        yield
    except ElsvError:
        raise
    except OSError as error:
        reason = error.strerror or error
        remedy = "choose a path where you may write"
        if error.errno in _NO_SPACE:
            remedy = "free some space, or choose another path"
        raise InvalidInputError(f"cannot write {path}: {reason}; {remedy}") from error


def _look(path: str | Path) -> tuple[Path, os.stat_result | None]:
    """Return where `path` leads to and what is there; an `OSError` if it is nothing to write to."""
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "a name must not contain a null byte")
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    try:
        before = os.stat(target)
    except FileNotFoundError:
        return target, None
    if stat.S_ISDIR(before.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return target, before


@contextmanager
def _replacing(
    target: Path, before: os.stat_result | None, mode: int = 0o666
) -> Iterator[tuple[BinaryIO, Path]]:
    """Give a stream, and its path, that takes the place of `target` at the end, if there was no error."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporaries.remove_abandoned(target.parent, target)
    handle, temporary = temporaries.create(target, mode if before is None else before.st_mode & 0o600)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream, temporary
            stream.flush()
            os.fsync(stream.fileno())
            if before is not None:
                _take_after(temporary, before)
            if os.name == "nt":
                stream.close()  # an open file cannot be renamed there
            os.replace(temporary, target)  # still locked, so that nobody takes it for abandoned
    finally:
        temporaries.discard(temporary)
    _sync_directory(target.parent)


def _take_after(path: Path, before: os.stat_result) -> None:
    """Give a file the owner, as far as that is allowed, and the mode of the one that it replaces."""
    mode = stat.S_IMODE(before.st_mode)
    if hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(path, before.st_uid, -1)
        try:
            os.chown(path, -1, before.st_gid)
        except OSError:
            mode &= ~stat.S_IRWXG  # what one group may do is not for another
    os.chmod(path, mode)


def _sync_directory(directory: Path) -> None:
    """Make a new name last through a power failure, where the system can."""
    if os.name == "nt":
        return
    with suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
