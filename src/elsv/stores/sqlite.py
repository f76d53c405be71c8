"""The embedded store: one SQLite file, every write on disk, safe for several processes on one machine.

Write-ahead log, ``synchronous = FULL``, and ``BEGIN IMMEDIATE`` for everything that writes, so that writers
queue up and a transaction never has to be taken back because of another.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, cast
from weakref import WeakSet

from elsv._base.files import note_input
from elsv.errors import CorruptFileError, ElsvError, InvalidInputError
from elsv.stores.base import PATIENCE, OneConnection, StoreError, Transaction, migrate, needs_migration

_REMEDIES = {
    "SQLITE_FULL": "free some space and try again",
    "SQLITE_READONLY": "give yourself the right to write the file and its directory",
    "SQLITE_BUSY": f"another process has been writing for {PATIENCE:.0f} seconds; try again",
    "SQLITE_CANTOPEN": "choose a path in a directory that exists and that you may write",
}
_LOCK = threading.Lock()


class SqliteStore(OneConnection):
    """One file; `create`: whether to make it if it is not there."""

    _error = sqlite3.Error

    def __init__(self, path: Path, create: bool = True) -> None:
        self._path, self.place = path, str(path)
        self._identity: tuple[int, int] | None = None  # of the file that was opened
        self._ahead: tuple[int, int] | None = None  # of its write-ahead log
        self._stays = True  # whether what was opened shows what others write
        if not create and not path.exists():
            raise InvalidInputError(f"there is no campaign file {path}; make one with `elsv campaign new`")
        if path.is_dir():
            raise InvalidInputError(f"{path} is a directory; give the path of a file, such as shop.db")
        super().__init__()

    def another(self) -> SqliteStore:
        """Open one more connection to the same file."""
        if not self._path.exists():
            self._refuse(None, True)
        return SqliteStore(self._path, create=False)

    def close(self) -> None:
        """Close the connection; the next use opens it again."""
        super().close()
        if _which(ahead_of(self._path)) != self._ahead:
            self._ahead = None  # folded into the file, as after any other end of its last connection

    def locked(self, query: str) -> str:
        """Return the query as it is: a transaction that writes is alone already."""
        return query

    @contextmanager
    def _begun(self, write: bool) -> Iterator[Transaction]:
        connection = self._open()
        with _whole(connection, "BEGIN IMMEDIATE" if write else "BEGIN"):
            yield Transaction(connection)
        if not (write or self._stays):
            self.close()  # whoever may write it may have done so by the next time

    def _open(self) -> sqlite3.Connection:
        found, opened = _which(self._path), self._is_open
        if opened and found == self._identity:
            return cast(sqlite3.Connection, self._connection)
        if self._identity is None and found is not None:
            self._follow_others(found)
        if self._identity is not None and found != self._identity:
            self._refuse(found, opened)
        self._stays = self._writable
        how: dict[str, Any] = {"timeout": PATIENCE, "isolation_level": None, "cached_statements": 256}
        connection: sqlite3.Connection = sqlite3.connect(
            self._address(), **how, check_same_thread=False, uri=True
        )
        try:
            if self._stays:
                connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA cache_size = -65536")
            if needs_migration(applied(connection)):
                with _whole(connection, "BEGIN IMMEDIATE"):
                    migrate(Transaction(connection), self.place)
            identity = _which(self._path)
            if found not in (None, identity):
                self._refuse(identity, True)
        except BaseException:
            connection.close()
            raise
        self._connection, self._process, self._identity = connection, os.getpid(), identity
        self._ahead = _which(ahead_of(self._path))
        with _LOCK:
            _STORES.add(self)
        return connection

    def _follow_others(self, found: tuple[int, int]) -> None:
        """Take over what another store of this process knows: which file stood here before `found`."""
        ahead = ahead_of(self._path)
        with _LOCK:
            others = [one for one in _STORES if one._ahead is not None and ahead_of(one._path) == ahead]
        for other in others:
            if other._identity != found:
                self._identity, self._ahead = other._identity, other._ahead

    def _refuse(self, found: tuple[int, int] | None, opened: bool) -> None:
        """Raise if the file that was opened is gone, or if another one stands in its place.

        The write-ahead log of the first file must not be read with the second: its pages would hide or
        damage it. Without that log the next call may open the second file.
        """
        self.close()
        nothing = "nothing was recorded by this call"
        if found is None:
            raise StoreError(
                f"{self.place} is gone; {nothing}: put it back, or restore it from a backup, and try again"
            )
        if self._ahead is not None and _which(ahead_of(self._path)) == self._ahead:
            log = ahead_of(self._path)
            raise StoreError(
                f"{self.place} was replaced while it was in use, and {log.name} is still that of the file "
                f"before; {nothing}: stop what uses the file, move {log.name} and {self._path.name}-shm "
                "away, and start again"
            )
        if opened:
            raise StoreError(
                f"{self.place} was replaced by another file while it was in use; {nothing}: try again to go "
                "on with the new file"
            )

    @property
    def _writable(self) -> bool:
        folder = self._path.absolute().parent
        return os.access(folder, os.W_OK) and (not self._path.exists() or os.access(self._path, os.W_OK))

    def _address(self) -> str:
        """Return where to connect to; a file that may only be read is not asked for its write-ahead log."""
        address, ahead = self._path.absolute().as_uri(), ahead_of(self._path)
        if self._writable or not self._path.exists():
            return address
        return address + ("?mode=ro" if ahead.exists() and ahead.stat().st_size else "?immutable=1")

    def _readable_error(self, error: sqlite3.Error) -> ElsvError:
        return readable_error(self.place, error)


_STORES: WeakSet[SqliteStore] = WeakSet()  # those that this process has opened


@contextmanager
def _whole(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    """Begin a transaction; it is committed, or taken back if an error ends it."""
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        raise


def file_of(place: str | Path) -> Path:
    """Return the path of a store, which may be written ``sqlite:///shop.db``; no command writes over it."""
    path = Path(str(place).removeprefix("sqlite:///"))
    note_input(path)
    return path


def ahead_of(path: Path) -> Path:
    """Return where the write-ahead log of a file is; SQLite keeps it beside the file that a link leads to."""
    return Path(f"{os.path.realpath(path)}-wal")


def retire(path: Path) -> None:
    """Prepare a file to be replaced: fold its write-ahead log into it, and leave nothing beside it.

    A file that somebody has open is refused. A file that is no readable database stays as it is, and its
    companions are removed.
    """
    try:
        if path.exists():
            with closing(sqlite3.connect(path.absolute().as_uri() + "?mode=rw", uri=True, timeout=1)) as old:
                old.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise StoreError(
                f"{path} is in use by another process, so that it cannot be replaced; nothing was changed: "
                "stop what uses it, or choose another path"
            ) from error
    for end in ("-wal", "-shm", "-journal"):
        Path(f"{os.path.realpath(path)}{end}").unlink(missing_ok=True)


def _which(path: Path) -> tuple[int, int] | None:
    """Return which file is there now; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def applied(connection: sqlite3.Connection) -> list[int]:
    """Return the numbers of the migrations that a file has been through."""
    try:
        return [number for (number,) in connection.execute("SELECT number FROM elsv_migration")]
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return []
        raise


def readable_error(place: str, error: sqlite3.Error) -> ElsvError:
    """Return the error to raise: what happened, what it means for the log, what to do."""
    text, name = str(error), getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return CorruptFileError(
            f"{place} is damaged or no campaign file ({text}); nothing was written: restore it from a backup"
        )
    found = (remedy for kind, remedy in _REMEDIES.items() if name.startswith(kind))
    remedy = next(found, "check the disk and try again")
    return StoreError(f"cannot use {place}: {text}; nothing was recorded by this call: {remedy}")
