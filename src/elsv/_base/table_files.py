"""Rows of tables that people bring: CSV, or Parquet (extra ``data``)."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from elsv._base.export import check_suffix
from elsv._base.files import unreadable
from elsv._base.numbers import shown
from elsv.errors import CorruptFileError, InvalidInputError, MissingExtraError

_TRUTH = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


@dataclass(frozen=True)
class TableRows:
    """A table, row by row; names of columns are stripped and in small letters."""

    rows: list[dict[str, Any]]
    columns: frozenset[str]
    content: bytes  # of the file

    @property
    def lines(self) -> range:
        """The line of each row in a CSV file."""
        return range(2, len(self.rows) + 2)


def read_rows(path: str | Path, what: str) -> TableRows:
    """Return the rows of a .csv or .parquet file; `what` names them in an error."""
    given = Path(path)
    check_suffix(given)
    try:
        content = given.read_bytes()
    except OSError as error:
        raise unreadable(f"{what} from {path}", error, "give a .csv or .parquet file") from error
    rows = list(_from_csv(content, path) if given.suffix.lower() == ".csv" else _from_parquet(given))
    table = [{str(key).strip().lower(): value for key, value in row.items()} for row in rows]
    return TableRows(table, frozenset(table[0]) if table else frozenset(), content)


def _from_csv(content: bytes, path: str | Path) -> Iterable[dict[str, Any]]:
    try:
        found = list(csv.DictReader(StringIO(content.decode("utf-8-sig"))))
    except (UnicodeDecodeError, csv.Error) as error:
        raise CorruptFileError(f"{path} is no CSV file in UTF-8: {error}") from error
    for line, row in enumerate(found, start=2):
        if None in row or None in row.values():
            raise InvalidInputError(f"line {line} of {path} has more or fewer fields than its first line")
    return found


def _from_parquet(path: Path) -> Iterable[dict[str, Any]]:
    try:
        import polars
    except ImportError as error:
        raise MissingExtraError("reading Parquet", "data") from error
    try:
        rows: list[dict[str, Any]] = polars.read_parquet(path).to_dicts()
    except Exception as error:
        raise CorruptFileError(f"{path} is no Parquet file: {error}") from error
    return rows


def truth(value: Any, line: int, path: str | Path) -> bool:
    """Return whether a field says yes."""
    text = str(value).strip().lower()
    if text not in _TRUTH:
        raise InvalidInputError(f"success must be 1 or 0, got {shown(value)} in line {line} of {path}")
    return _TRUTH[text]


def count(value: Any, line: int, path: str | Path) -> int:
    """Return a field as a count."""
    text = str(value).strip()
    if not text.isdigit() or len(text) > 15:
        raise InvalidInputError(f"counts must be whole numbers, got {shown(value)} in line {line} of {path}")
    return int(text)
