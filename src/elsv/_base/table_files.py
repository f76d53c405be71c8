"""Rows of tables that people bring: CSV, or Parquet (extra ``data``)."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
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
    heads, rows = _from_csv(content, path) if given.suffix.lower() == ".csv" else _from_parquet(given)
    columns = [str(head).strip().lower() for head in heads]
    twice = [column for column, times in Counter(columns).items() if times > 1]
    if twice:
        raise InvalidInputError(f"{path} must have every column once, got {twice[0]!r} twice; remove one")
    table = [dict(zip(columns, row, strict=True)) for row in rows]
    return TableRows(table, frozenset(columns if table else ()), content)


def check_counts(columns: frozenset[str], path: str | Path) -> None:
    """Raise if a table has a row for each outcome and counts of outcomes at once."""
    single, counts = columns & {"success", "outcome"}, columns & {"successes", "failures", "trials"}
    if single and counts:
        raise InvalidInputError(
            f"{path} must have either a row for each outcome (success) or counts (successes, failures or "
            f"trials), got {' and '.join(sorted(single) + sorted(counts))}; remove one or the other"
        )


def _from_csv(content: bytes, path: str | Path) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
    try:
        reader = csv.reader(StringIO(content.decode("utf-8-sig")))
        lines = [line for line in reader if line]
    except (UnicodeDecodeError, csv.Error) as error:
        raise CorruptFileError(f"{path} is no CSV file in UTF-8: {error}") from error
    heads, rows = (lines[0], lines[1:]) if lines else ([], [])
    for line, row in enumerate(rows, start=2):
        if len(row) != len(heads):
            raise InvalidInputError(f"line {line} of {path} has more or fewer fields than its first line")
    return heads, rows


def _from_parquet(path: Path) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
    try:
        import polars
    except ImportError as error:
        raise MissingExtraError("reading Parquet", "data") from error
    try:
        table = polars.read_parquet(path)
    except Exception as error:
        raise CorruptFileError(f"{path} is no Parquet file: {error}") from error
    return table.columns, table.rows()


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
