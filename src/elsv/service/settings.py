"""What a server is started with, and its connections: who writes, and that a file has one server."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from elsv._base.files import fcntl
from elsv._base.numbers import shown
from elsv.campaign.opening import open_store
from elsv.errors import InvalidInputError
from elsv.stores.base import Store
from elsv.stores.sharing import Pool, SharedCommits
from elsv.stores.sqlite import file_of

PORT = 8763
MOST_ARMS = 200  # of a campaign
READERS = 4


@dataclass(frozen=True)
class ServiceSettings:
    """The options of ``elsv serve``."""

    db: str = "shop.db"  # the path of an SQLite file, or a URL postgresql://…
    host: str = "127.0.0.1"
    port: int = PORT
    tokens: Path | None = None  # the file of `elsv token`; None: everybody who reaches the port is admin
    workers: int = 1  # processes; more than one on PostgreSQL only
    log_json: bool = False  # one line for each request on stderr
    body_limit: int = 1_000_000  # bytes of a request's body
    request_seconds: float = 10.0  # in which a request must come whole
    rate: float = 20_000.0  # requests a second from one address; 0: no limit
    pool: int = 8  # connections to PostgreSQL of each process
    together: bool = True  # whether requests that wait together share a transaction; False: to compare
    patience: float = 10.0  # seconds that a request waits for its turn before it is answered 503

    @property
    def on_postgres(self) -> bool:
        """Whether campaigns are kept in PostgreSQL."""
        return self.db.startswith(("postgresql://", "postgres://"))

    def check(self) -> None:
        """Refuse what must not be started."""
        if self.tokens is None and not is_loopback(self.host):
            raise InvalidInputError(
                f"a server that other machines reach needs tokens, got --host {self.host} without any; make "
                "some with `elsv token` and give --tokens FILE, or leave --host out"
            )
        if not 0 <= self.port < 65536:
            raise InvalidInputError(f"port must be a number from 0 to 65535, got {shown(self.port)}")
        if self.workers < 1:
            raise InvalidInputError(f"workers must be at least 1, got {shown(self.workers)}")
        if self.workers > 1 and not self.on_postgres:
            raise InvalidInputError(
                f"an SQLite file has one server, got --workers {self.workers}; one shares its commits among "
                "all requests. For several give --db postgresql://…"
            )


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, which no other one reaches."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Stores:
    """The connections of a server."""

    store: Store  # for everything but decisions and outcomes
    of_lane: Callable[[], Store]
    writer: SharedCommits | Pool  # for decisions and outcomes
    plans_first: bool  # whether decisions are planned before the transaction that writes them
    close: Callable[[], None]  # lets others serve a file


def stores_of(settings: ServiceSettings) -> Stores:
    """Return the connections that a server needs.

    In PostgreSQL writers of different campaigns do not wait for each other. Other servers may write the same
    campaign, so that a plan made before the transaction would seldom hold: it is made inside, with the
    campaign's row held. A lane takes a connection for as long as that lasts.

    An SQLite file has one writer, so lanes plan first and share commits. A lane reads by a connection of its
    own: a plan may take long.
    """
    if settings.on_postgres:
        patience = settings.patience
        pool = Pool(lambda: open_store(settings.db, patience=patience), settings.pool, patience)
        return Stores(pool, lambda: pool, pool, False, pool.close)
    lock, writer = _lock_file(settings), open_store(settings.db)

    def close() -> None:
        readers.close()
        writer.close()
        if lock is not None:
            os.close(lock)

    readers = Pool(writer.another, READERS, settings.patience, writer)
    shared = SharedCommits(writer)
    return Stores(readers, lambda: Pool(writer.another, 1, settings.patience, writer), shared, True, close)


def _lock_file(settings: ServiceSettings) -> int | None:
    """Keep other servers from a file; return what holds the lock until it is closed."""
    if fcntl is None:
        return None
    place = os.path.realpath(file_of(settings.db))  # also where --db is a link
    path = Path(f"{place}-served")
    if not path.parent.is_dir():
        raise InvalidInputError(
            f"there is no directory {path.parent} for {settings.db}; make it, or give another --db"
        )
    held = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        who = os.read(held, 200).decode(errors="replace").strip() or "another process"
        os.close(held)
        raise InvalidInputError(
            f"an SQLite file has one server, and {settings.db} is served by {who}; stop that one, give "
            "another --db, or use PostgreSQL for several"
        ) from error
    os.ftruncate(held, 0)
    os.write(held, f"process {os.getpid()} at {settings.host}:{settings.port}".encode())
    return held
