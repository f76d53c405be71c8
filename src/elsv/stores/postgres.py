"""The shared store: PostgreSQL by URL (extra ``postgres``), for many processes on many hosts.

Correct by unique keys, by atomic updates of counts, and by each writer holding the campaign's row while it
appends; it does not lean on an isolation level.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from elsv.errors import ElsvError, InvalidInputError, MissingExtraError
from elsv.stores.base import PATIENCE, OneConnection, StoreError, Transaction, migrate, needs_migration

_MIGRATING = 7231140921  # a number that stands for elsv's migrations among advisory locks
_SECONDS_TO_CONNECT = 10
_TYPES = {  # from SQLite's, in this order
    "id INTEGER PRIMARY KEY": "id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    " INTEGER": " BIGINT",
    " REAL": " DOUBLE PRECISION",
    " WITHOUT ROWID": "",
}


class PostgresStore(OneConnection):
    """One database; its connection is opened again when it was lost.

    `patience`: seconds to wait for what other writers hold.
    """

    def __init__(self, url: str, patience: float = PATIENCE) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise MissingExtraError("a PostgreSQL store", "postgres") from error
        self._psycopg: Any = psycopg
        self._error = psycopg.Error
        self._url, self._patience, parts = url, patience, urlsplit(url)
        self.place = f"postgresql://{parts.hostname or ''}{parts.path}"  # without user and password
        super().__init__()

    def another(self) -> PostgresStore:
        """Open one more connection to the same database."""
        return PostgresStore(self._url, self._patience)

    def locked(self, query: str) -> str:
        """Return the query so that its row is held until the transaction ends."""
        return f"{query} FOR UPDATE"

    @contextmanager
    def _begun(self, write: bool) -> Iterator[Transaction]:
        connection = self._open()
        try:
            connection.execute("SELECT 1")
        except self._psycopg.OperationalError:  # lost while nothing was under way
            self.close()
            connection = self._open()
        with connection.transaction():
            if not write:
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield Transaction(connection, _translated)

    def _open(self) -> Any:
        if self._is_open:
            return self._connection
        connection = self._psycopg.connect(
            self._url, autocommit=True, connect_timeout=_SECONDS_TO_CONNECT, application_name="elsv"
        )
        try:
            there = connection.execute("SELECT to_regclass('elsv_migration')").fetchone()[0] is not None
            done = connection.execute("SELECT number FROM elsv_migration").fetchall() if there else []
            if needs_migration(number for (number,) in done):
                with connection.transaction():
                    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATING,))
                    migrate(Transaction(connection, made_in_postgres), self.place)
            connection.execute(f"SET lock_timeout = {max(1, round(1000 * self._patience))}")
        except BaseException:
            connection.close()
            raise
        self._connection, self._process = connection, os.getpid()
        return connection

    def _readable_error(self, error: Any) -> ElsvError:
        text, lost = " ".join(str(error).split()), isinstance(error, self._psycopg.OperationalError)
        if lost and self._connection is None:
            return StoreError(
                f"no PostgreSQL server answers at {self.place}: {text}; nothing was recorded by this call: "
                "check the URL and the server, and try again"
            )
        if isinstance(error, self._psycopg.ProgrammingError) and self._connection is None:
            return InvalidInputError(f"cannot use {self.place}: {text}; check the URL")
        if isinstance(error, self._psycopg.errors.LockNotAvailable):
            return StoreError(
                f"another process has held what is needed in {self.place} for {self._patience:g} seconds; "
                "nothing was recorded by this call: try again"
            )
        if lost:
            self.close()
            return StoreError(
                f"the connection to {self.place} was lost: {text}; repeat the call: outcomes count once, "
                "and decisions with the same key= are made once"
            )
        return StoreError(f"cannot use {self.place}: {text}; nothing was recorded by this call")


def made_in_postgres(sql: str) -> str:
    """Return a statement of a migration as PostgreSQL wants it."""
    for written, wanted in _TYPES.items():
        sql = sql.replace(written, wanted)
    return _translated(sql)


def _translated(sql: str) -> str:
    return sql.replace("%", "%%").replace("?", "%s")
