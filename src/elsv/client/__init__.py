"""Ask a decision service from Python: `Client`, and `AsyncClient` for an event loop (extra ``client``).

Read `sync` first, then `calls` (what can be asked, and how answers are read) and `exchange` (what is tried
again, and when). Both clients send the same calls by the same rules; only how they wait differs.
"""

from elsv.client.asynchronous import AsyncClient
from elsv.client.errors import (
    ConflictError,
    NotAllowedError,
    NotFoundError,
    RefusedError,
    ServiceError,
    UnavailableError,
)
from elsv.client.exchange import Retries
from elsv.client.sync import Client

__all__ = [
    "AsyncClient",
    "Client",
    "ConflictError",
    "NotAllowedError",
    "NotFoundError",
    "RefusedError",
    "Retries",
    "ServiceError",
    "UnavailableError",
]
