"""What is refused, as exceptions with the rule, the value and the remedy."""

from __future__ import annotations

import json


class InvalidInputError(ValueError):
    """An argument breaks a rule; nothing was sent."""


class ServiceError(Exception):
    """The service did not do what was asked.

    Parameters
    ----------
    message
        All of it, as the service says it.
    status
        The HTTP status; None if there was no answer.
    rule, value, remedy
        What must hold, what was given, what to do.
    """

    def __init__(
        self,
        message: str,
        status: int | None = None,
        rule: str | None = None,
        value: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.value, self.remedy = status, value, remedy
        self.rule = message if rule is None else rule


class RefusedError(ServiceError, InvalidInputError):
    """The request breaks a rule; it would be refused again."""


class NotAllowedError(ServiceError):
    """The token is missing, unknown or revoked, or its role does not allow this."""


class NotFoundError(ServiceError):
    """There is no such campaign or decision."""


class ConflictError(ServiceError):
    """It was done before in another way."""


class UnavailableError(ServiceError):
    """The service did not answer, or could not for the moment, however often it was asked.

    Repeat the call later: the same ``key`` gives the same decisions, and outcomes count once.
    """


_KINDS: dict[int, type[ServiceError]] = {
    401: NotAllowedError,
    403: NotAllowedError,
    404: NotFoundError,
    409: ConflictError,
    429: UnavailableError,
    502: UnavailableError,
    503: UnavailableError,
    504: UnavailableError,
}


def error_of(status: int, content: bytes) -> ServiceError:
    """Return the exception for an answer that is no success."""
    kind = _KINDS.get(status, RefusedError if status < 500 else ServiceError)
    try:
        told = json.loads(content)
    except ValueError:
        told = None
    if not isinstance(told, dict) or "detail" not in told:
        return kind(f"the service answered with status {status}; is there an elsv service?", status)
    parts = (told.get(key) for key in ("rule", "value", "remedy"))
    return kind(str(told["detail"]), status, *(None if part is None else str(part) for part in parts))
