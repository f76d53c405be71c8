"""Ask a decision service from Python: the names of the distribution ``elsv-client`` (extra ``client``)."""

from elsv.errors import MissingExtraError

try:
    from elsv_client import (
        AsyncClient,
        Client,
        ConflictError,
        Flushed,
        NotAllowedError,
        NotFoundError,
        RefusedError,
        Retries,
        ServiceError,
        UnavailableError,
    )
except ImportError as missing:
    raise MissingExtraError("the client", "client") from missing

__all__ = [
    "AsyncClient",
    "Client",
    "ConflictError",
    "Flushed",
    "NotAllowedError",
    "NotFoundError",
    "RefusedError",
    "Retries",
    "ServiceError",
    "UnavailableError",
]
