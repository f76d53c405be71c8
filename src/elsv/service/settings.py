"""What a server is started with."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path

from elsv._base.numbers import shown
from elsv.errors import InvalidInputError

PORT = 8763


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

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine reaches the port."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def check(self) -> None:
        """Refuse what must not be started."""
        if not self.on_loopback and self.tokens is None:
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
