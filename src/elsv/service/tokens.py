"""The file of tokens."""

from __future__ import annotations

from pathlib import Path

from elsv.errors import InvalidInputError
from elsv.service.roles import Tokens


def open_tokens(path: Path) -> Tokens:
    """Return the tokens of a file."""
    raise InvalidInputError(f"{path} cannot be read: files of tokens are not known to this elsv")
