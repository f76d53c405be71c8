"""Where a campaign is kept: the small interface of a store, and what every store shares.

SQL is written once, with ``?`` for values; `elsv.stores.sqlite` and `elsv.stores.postgres` say how a
transaction begins and which errors mean what. Migrations are numbered files of SQL as SQLite has it; they are
run once, in their order.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from importlib import resources
from typing import Any, Protocol

from elsv.errors import CorruptFileError, ElsvError

Values = Sequence[Any]
PATIENCE = 60.0  # seconds to wait for other writers


class StoreError(ElsvError, OSError):
    """The store could not do what was asked; the message says what is lost, if anything, and what to do."""

    def __str__(self) -> str:
        return str(self.args[0])


class Transaction:
    """Statements that are all done or not at all, on a connection of sqlite3 or psycopg.

    `translated` turns SQL with ``?`` for values into the connection's own.
    """

    def __init__(self, connection: Any, translated: Callable[[str], str] = str) -> None:
        self._connection, self._translated = connection, translated

    def run(self, sql: str, values: Values = ()) -> int:
        """Run one statement and return how many rows it changed."""
        return int(self._connection.execute(self._translated(sql), tuple(values)).rowcount)

    def many(self, sql: str, rows: Iterable[Values]) -> None:
        """Run one statement for each of `rows`."""
        with closing(self._connection.cursor()) as cursor:
            cursor.executemany(self._translated(sql), list(rows))

    def rows(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """Return what a query finds."""
        return list(self._connection.execute(self._translated(sql), tuple(values)).fetchall())


class Store(Protocol):
    """A database that campaigns share."""

    @property
    def place(self) -> str:
        """Where it is, for messages; without passwords."""

    def writing(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction that may write; on disk when it ends without an error."""

    def reading(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction that sees one moment of the store."""

    def another(self) -> Store:
        """Open one more connection to the same database."""

    def locked(self, query: str) -> str:
        """Return a query of one row such that other writers wait for it; the store's own way."""

    def close(self) -> None:
        """Give the connection back; the next use opens it again."""


class OneConnection:
    """A store's connection: one thread uses it at a time, and it is opened again when it was closed.

    After a fork it is the parent's: the child leaves it alone and opens its own. A kind of store says how to
    `_open` it, how a transaction is `_begun`, and what to raise for an error of the database.
    """

    place: str
    _error: type[Exception]  # of the database
    _open: Callable[[], Any]
    _begun: Callable[[bool], AbstractContextManager[Transaction]]  # True: it may write
    _readable_error: Callable[[Any], ElsvError]

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._connection: Any = None
        self._process = 0  # whose connection it is
        with self._lock, self._readable_errors():
            self._open()

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """Begin a transaction that may write; on disk when it ends without an error."""
        with self._lock, self._readable_errors(), self._begun(True) as transaction:
            yield transaction

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Begin a transaction that sees one moment of the store."""
        with self._lock, self._readable_errors(), self._begun(False) as transaction:
            yield transaction

    def close(self) -> None:
        """Close the connection; the next use opens it again."""
        with self._lock:
            if self._is_open:
                with suppress(self._error):
                    self._connection.close()
            self._connection = None

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()

    @property
    def _is_open(self) -> bool:
        return self._connection is not None and self._process == os.getpid()

    @contextmanager
    def _readable_errors(self) -> Iterator[None]:
        try:
            yield
        except ElsvError:
            raise
        except self._error as error:
            raise self._readable_error(error) from error


def migrations() -> list[tuple[int, str, str]]:
    """Return number, name and SQL of the migrations, in their order."""
    folder = resources.files("elsv.stores") / "migrations"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
    return [(int(f.name[:4]), f.name, f.read_text(encoding="utf-8")) for f in files]


def migrate(transaction: Transaction, place: str) -> None:
    """Run the migrations that have not been run; the caller keeps others from doing the same."""
    transaction.run(
        "CREATE TABLE IF NOT EXISTS elsv_migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL, "
        "at DOUBLE PRECISION NOT NULL)"
    )
    done = {number for (number,) in transaction.rows("SELECT number FROM elsv_migration")}
    known = migrations()
    if done - {number for number, _, _ in known}:
        raise CorruptFileError(
            f"{place} was written by a newer elsv (migration {max(done)}); use that one: pip install -U elsv"
        )
    for number, name, sql in known:
        if number not in done:
            for statement in statements(sql):
                transaction.run(statement)
            transaction.run("INSERT INTO elsv_migration VALUES (?, ?, ?)", (number, name, time.time()))


def needs_migration(applied: Iterable[int]) -> bool:
    """Return whether a migration has not been run, or one was run that this elsv does not know."""
    return set(applied) != {number for number, _, _ in migrations()}


def statements(sql: str) -> list[str]:
    """Return the statements of a file of SQL, without comments."""
    lines = [line for line in sql.splitlines() if not line.lstrip().startswith("--")]
    return [part.strip() for part in "\n".join(lines).split(";") if part.strip()]
