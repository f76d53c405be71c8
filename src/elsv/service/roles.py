"""What a token allows, and where that is looked up."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Protocol


class Role(IntEnum):
    """What a token allows."""

    READ = 1  # look
    WRITE = 2  # decide and report outcomes
    ADMIN = 3  # begin and change campaigns

    @property
    def word(self) -> str:
        """The role as people write it."""
        return self.name.lower()


class Tokens(Protocol):
    """Where tokens are looked up; a file of hashes in `elsv.service.tokens`."""

    def role_of(self, token: str) -> Role | None:
        """Return what a token allows; None if it is unknown or revoked. Takes the same time for all."""
        ...

    def live(self) -> Iterable[tuple[str, Role]]:
        """Return the SHA-256 digest, in hexadecimal digits, and the role of all that are not revoked."""
        ...
