"""Where a campaign is kept: the small interface of a store, and the migrations that every store runs.

SQL is written once, with ``?`` for values; `elsv.stores.sqlite` and `elsv.stores.postgres` say how a
transaction begins, which errors mean what, and have their own migrations: numbered files that are run once,
in their order.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from importlib import resources
from typing import Any, Protocol

from elsv.errors import CorruptFileError, ElsvError

Values = Sequence[Any]


class StoreError(ElsvError, OSError):
    """The store could not do what was asked; the message says what is lost, if anything, and what to do."""

    def __str__(self) -> str:
        return str(self.args[0])


class Transaction(Protocol):
    """Statements that are all done or not at all."""

    def run(self, sql: str, values: Values = ()) -> int:
        """Run one statement and return how many rows it changed."""
        ...

    def many(self, sql: str, rows: Iterable[Values]) -> None:
        """Run one statement for each of `rows`."""
        ...

    def rows(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """Return what a query finds."""
        ...


class Store(Protocol):
    """A database that campaigns share."""

    @property
    def place(self) -> str:
        """Where it is, for messages; without passwords."""
        ...

    def writing(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction that may write; on disk when it ends without an error."""
        ...

    def reading(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction that sees one moment of the store."""
        ...

    def another(self) -> Store:
        """Open one more connection to the same database."""
        ...

    def locked(self, query: str) -> str:
        """Return a query of one row such that other writers wait for it; the store's own way."""
        ...

    def close(self) -> None:
        """Give the connection back; the next use opens it again."""
        ...


def migrations(kind: str) -> list[tuple[int, str, str]]:
    """Return number, name and SQL of the migrations of a kind of store, in their order."""
    folder = resources.files("elsv.stores") / "migrations" / kind
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
    return [(int(f.name[:4]), f.name, f.read_text(encoding="utf-8")) for f in files]


def migrate(transaction: Transaction, kind: str, place: str) -> None:
    """Run the migrations that have not been run; the caller keeps others from doing the same."""
    transaction.run(
        "CREATE TABLE IF NOT EXISTS elsv_migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL, "
        "at DOUBLE PRECISION NOT NULL)"
    )
    done = {number for (number,) in transaction.rows("SELECT number FROM elsv_migration")}
    known = migrations(kind)
    if done - {number for number, _, _ in known}:
        raise CorruptFileError(
            f"{place} was written by a newer elsv (migration {max(done)}); use that one: pip install -U elsv"
        )
    for number, name, sql in known:
        if number not in done:
            for statement in statements(sql):
                transaction.run(statement)
            transaction.run("INSERT INTO elsv_migration VALUES (?, ?, ?)", (number, name, time.time()))


def needs_migration(applied: Iterable[int], kind: str) -> bool:
    """Return whether some migration has not been run, or one that this elsv does not know has."""
    return set(applied) != {number for number, _, _ in migrations(kind)}


def statements(sql: str) -> list[str]:
    """Return the statements of a file of SQL, without comments."""
    lines = [line for line in sql.splitlines() if not line.lstrip().startswith("--")]
    return [part.strip() for part in "\n".join(lines).split(";") if part.strip()]
