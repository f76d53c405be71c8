"""Files are written whole or not at all: to a temporary name beside the target, then renamed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from elsv.errors import InvalidInputError


def write_atomically(path: str | Path, write: Callable[[BinaryIO], None]) -> None:
    """Call `write` on a temporary file in the target's directory, then rename it to `path`."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise _unwritable(target, error) from error
    try:
        with os.fdopen(handle, "wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise _unwritable(target, error) from error
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def unreadable(what: object, error: OSError, remedy: str) -> InvalidInputError:
    """Return the error to raise for a file that cannot be read."""
    return InvalidInputError(f"cannot read {what}: {error.strerror or error}; {remedy}")


def _unwritable(target: Path, error: OSError) -> InvalidInputError:
    reason = error.strerror or error
    return InvalidInputError(f"cannot write {target}: {reason}; choose a path where you may write")


def write_text(path: str | Path, text: str) -> None:
    """Write UTF-8 text atomically."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write bytes atomically."""

    def write(stream: BinaryIO) -> None:
        stream.write(content)

    write_atomically(path, write)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
