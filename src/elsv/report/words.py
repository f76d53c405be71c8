"""What reports say: the texts stand in ``words.toml`` of a package, apart from the numbers."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


def words(package: str, section: str, text: str, **numbers: Any) -> str:
    """Return a text of ``words.toml`` with numbers put in by `str.format`."""
    return str(_texts(package)[section][text]).format(**numbers)


@cache
def _texts(package: str) -> dict[str, Any]:
    return tomllib.loads(files(package).joinpath("words.toml").read_text(encoding="utf-8"))
