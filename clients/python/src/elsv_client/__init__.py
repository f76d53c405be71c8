"""Ask an elsv decision service from Python: `Client`, and `AsyncClient` for an event loop.

`calls` describes every call once: what is sent, and how the answer is read. `client` sends them, in two ways.
`care` is for pages that must not wait. `values` has what comes back, `errors` what the service refuses.
"""

__version__ = "0.1.0"

from elsv_client.care import Flushed
from elsv_client.client import AsyncClient, Client, Retries
from elsv_client.errors import (
    ConflictError,
    InvalidInputError,
    NotAllowedError,
    NotFoundError,
    RefusedError,
    ServiceError,
    UnavailableError,
)
from elsv_client.values import (
    ArmExplanation,
    ArmStatus,
    Audit,
    Change,
    Decision,
    Doubt,
    Evidence,
    Explanation,
    GainSoFar,
    Listed,
    RewardReceipt,
    SegmentStatus,
    Settings,
    Sources,
    Status,
)

__all__ = [
    "ArmExplanation",
    "ArmStatus",
    "AsyncClient",
    "Audit",
    "Change",
    "Client",
    "ConflictError",
    "Decision",
    "Doubt",
    "Evidence",
    "Explanation",
    "Flushed",
    "GainSoFar",
    "InvalidInputError",
    "Listed",
    "NotAllowedError",
    "NotFoundError",
    "RefusedError",
    "Retries",
    "RewardReceipt",
    "SegmentStatus",
    "ServiceError",
    "Settings",
    "Sources",
    "Status",
    "UnavailableError",
]
