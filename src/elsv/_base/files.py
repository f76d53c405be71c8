"""Files are written whole or not at all, and never over what a command reads.

**Writing.** A file is written to a temporary name beside its target, brought to the disk and renamed. A link
stays and its target is written; an existing file keeps its mode and owner, a new one follows the umask; what
is no regular file (a device, a pipe) is written to as it is.

**Inputs.** Inside `inputs` no file that the command reads can be written, by whatever name.

**Temporaries.** A writer holds a lock on its temporary file, which the system lets go when the process ends,
however it ends. So a temporary that can be locked is not being written. Where there are no locks, one that
has not been touched for a day counts as abandoned.

**Outputs.** ``elsv-files.json`` in a directory names a run and every file and folder that it made: only those
are ever overwritten or removed. A file is named before it is written, so that a run that was killed leaves
nothing behind that the next one does not know.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

from elsv.errors import ElsvError, InvalidInputError

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None

MANIFEST = "elsv-files.json"
LONG = 86_400.0
"""Seconds after which a temporary that cannot be locked counts as abandoned."""

_FORMAT, _VERSION = "elsv-files", 1
_SHOWN = 3
_NO_SPACE = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
_BESIDE = ("", "-wal", "-shm", "-journal")  # what SQLite keeps beside a database belongs to it
_NAME = re.compile(r"\.elsv-([0-9a-f]{12})-[0-9a-f]{16}\.tmp")
_FLAGS = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# Some file systems lock for a process and not for an open file: threads know of each other by this.
_mine: set[str] = set()
_inputs: list[str] | None = None  # of the command that runs


@contextmanager
def inputs(paths: Iterable[str | Path]) -> Iterator[None]:
    """Refuse to write to these files, and to those that `note_input` names meanwhile."""
    global _inputs
    before, _inputs = _inputs, [str(path) for path in paths]
    try:
        yield
    finally:
        _inputs = before


def note_input(path: str | Path) -> None:
    """Note that a command reads this file, named in one of its inputs."""
    if _inputs is not None:
        _inputs.append(str(path))


def _is_input(target: Path) -> bool:
    for given in _inputs or ():
        for end in _BESIDE:
            path = os.path.realpath(given) + end
            with suppress(OSError):
                if path == str(target) or os.path.samefile(path, target):
                    return True
    return False


def write_atomically(path: str | Path, write: Callable[[BinaryIO], object]) -> None:
    """Call `write` on a temporary file in the target's directory, then rename it to `path`."""
    with _replacing(path) as (stream, _):
        write(stream)


def make_atomically(path: str | Path, make: Callable[[Path], None], mode: int = 0o666) -> None:
    """Call `make` with the path of an empty temporary file beside the target, then rename it to `path`.

    For what writes files by their names; a new file has the permissions `mode` less the umask.
    """
    with _replacing(path, mode) as (_, temporary):
        make(temporary)


def check_writable(path: str | Path) -> None:
    """Raise `InvalidInputError` if a file could not be written to `path` now; leaves nothing behind."""
    with _unwritable(path):
        target, before = _look(path)
        if before is not None and not stat.S_ISREG(before.st_mode):
            return
        directory = next(parent for parent in target.parents if os.path.lexists(parent))
        handle, temporary = _create(directory / target.name, 0o600)
        os.close(handle)
        _discard(temporary)


def unreadable(what: object, error: OSError, remedy: str) -> InvalidInputError:
    """Return the error to raise for a file that cannot be read."""
    return InvalidInputError(f"cannot read {what}: {error.strerror or error}; {remedy}")


def write_text(path: str | Path, text: str) -> None:
    """Write UTF-8 text atomically."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | Path, content: bytes | memoryview) -> None:
    """Write bytes atomically."""
    write_atomically(path, lambda stream: stream.write(content))


@contextmanager
def _unwritable(path: str | Path) -> Iterator[None]:
    """Turn the system's errors into one that says what to do."""
    try:
        yield
    except ElsvError:  # one of a store is an OSError too, and says more
        raise
    except OSError as error:
        full = error.errno in _NO_SPACE
        remedy = "free some space, or choose another path" if full else "choose a path where you may write"
        raise InvalidInputError(f"cannot write {path}: {error.strerror or error}; {remedy}") from error


def _look(path: str | Path) -> tuple[Path, os.stat_result | None]:
    """Return where `path` leads to and what is there; `OSError` where nothing can be written."""
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "a name must not contain a null byte")
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if _is_input(target):
        raise InvalidInputError(f"cannot write {path}: it is an input of this command; choose another path")
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
def _replacing(path: str | Path, mode: int = 0o666) -> Iterator[tuple[BinaryIO, Path]]:
    """Yield a stream and its path; it takes the place of `path` at the end, if there was no error."""
    with _unwritable(path):
        target, before = _look(path)
        if before is not None and not stat.S_ISREG(before.st_mode):
            with open(target, "wb") as stream:
                yield stream, target
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(target.parent, target)
        handle, temporary = _create(target, mode if before is None else before.st_mode & 0o600)
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
            _discard(temporary)
        _sync_directory(target.parent)


def _take_after(path: Path, before: os.stat_result) -> None:
    """Give a file the mode of the one that it replaces, and its owner as far as that is allowed."""
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
    with suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _mark(target: Path) -> str:
    """Return what the names of all temporaries of one target have in common."""
    return hashlib.sha256(os.fsencode(target.name)).hexdigest()[:12]


def _create(target: Path, mode: int) -> tuple[int, Path]:
    """Return a new file beside `target`, open and locked, with the permissions `mode` less the umask."""
    while True:
        path = target.parent / f".elsv-{_mark(target)}-{secrets.token_hex(8)}.tmp"
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
        _discard(path)


def _discard(path: Path) -> None:
    """Remove a temporary of this process, if it is still there."""
    path.unlink(missing_ok=True)
    _mine.discard(str(path))


def remove_abandoned(directory: Path, target: Path | None = None) -> None:
    """Remove what killed writers left in `directory`, or of `target` alone; errors are ignored."""
    try:
        with os.scandir(directory) as entries:
            found = [entry.name for entry in entries if _NAME.fullmatch(entry.name)]
    except OSError:
        return
    for name in found:
        if target is None or name.startswith(f".elsv-{_mark(target)}-"):
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


@dataclass
class Outputs:
    """The files of one run in one directory; names are relative to it, with ``/`` between their parts."""

    directory: Path
    run: str  # the fingerprint of what is run; empty in a directory without a run
    files: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)  # that did not exist before

    @classmethod
    def read(cls, directory: str | Path) -> Outputs:
        """Return the files of an earlier run; none if there was none."""
        place = Path(directory)
        if place.exists() and not place.is_dir():
            raise InvalidInputError(f"results go to a directory, got the file {place}; name another one")
        try:
            content = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
            if (content["format"], content["version"]) != (_FORMAT, _VERSION):
                raise ValueError("another format")
            found = cls(place, str(content["run"]), set(content["files"]), set(content["folders"]))
            if not all(map(_is_inside, found.files | found.folders)):
                raise ValueError("a name that leads out of the directory")
        except FileNotFoundError:
            return cls(place, "")
        except OSError as error:
            raise unreadable(place / MANIFEST, error, "give another directory") from error
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(
                f"{place / MANIFEST} is not a list of files written by elsv: {error}; "
                "give another directory, or move its content away"
            ) from error
        found.files = {name for name in found.files if found._is_there(name)}
        found.folders = {name for name in found.folders if found._is_there(name)}
        return found

    def check(self, planned: Iterable[str]) -> None:
        """Raise `InvalidInputError` if something that elsv did not write is in the way of these files."""
        planned = sorted(planned)
        foreign = [name for name in planned if name not in self.files and self._is_there(name)]
        foreign += [
            folder
            for folder in _folders_of(planned)
            if self._is_there(folder) and not (self.directory / folder).is_dir()
        ]
        if foreign:
            more = f" and {len(foreign) - _SHOWN} more" if len(foreign) > _SHOWN else ""
            raise InvalidInputError(
                f"{self.directory} holds files that this elsv did not write there: "
                f"{', '.join(foreign[:_SHOWN])}{more}; give another directory, or move them away"
            )

    def begin(self, run: str, overwrite: bool = False) -> None:
        """Make the directory that of `run`; files of another run may go only with `overwrite`.

        Its files stay until they are removed or overwritten.
        """
        if self.files and self.run != run and not overwrite:
            raise InvalidInputError(
                f"{self.directory} holds another run (settings, policies or version differ); "
                "give another directory, or replace it with --overwrite (overwrite=True)"
            )
        self.run = run
        self._write()

    def path(self, name: str) -> Path:
        """Return where to write a file; from now on it is a file of the run."""
        self.claim([name])
        return self.directory / name

    def claim(self, names: Iterable[str]) -> None:
        """Note, before they are written, that these files and their folders are the run's."""
        new = set(names) - self.files
        if new:
            self.check(new)
            self.files |= new
            self.folders |= {folder for folder in _folders_of(new) if not self._is_there(folder)}
            self._write()

    def remove(self, which: Callable[[str], bool] = lambda name: True) -> None:
        """Remove the run's files for whose names `which` is true, and folders that are empty then."""
        for name in sorted(filter(which, self.files)):
            try:
                (self.directory / name).unlink(missing_ok=True)
            except OSError as error:
                reason = error.strerror or error
                raise InvalidInputError(f"cannot remove {self.directory / name}: {reason}") from error
            self.files.discard(name)
        for folder in sorted(self.folders, reverse=True):
            if folder not in _folders_of(self.files):
                with suppress(OSError):  # it is not empty
                    (self.directory / folder).rmdir()
                    self.folders.discard(folder)
        self._write()

    def _is_there(self, name: str) -> bool:
        return os.path.lexists(self.directory / name)

    def _write(self) -> None:
        content = {
            "format": _FORMAT,
            "version": _VERSION,
            "run": self.run,
            "files": sorted(self.files),
            "folders": sorted(self.folders),
        }
        write_text(self.directory / MANIFEST, json.dumps(content, indent=1) + "\n")


def _folders_of(names: Iterable[str]) -> list[str]:
    return sorted({parent.as_posix() for name in names for parent in Path(name).parents} - {"."})


def _is_inside(name: object) -> bool:
    if not isinstance(name, str) or not name or "\0" in name:
        return False
    return not Path(name).is_absolute() and ".." not in Path(name).parts
