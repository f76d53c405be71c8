"""Columns to files: CSV with nothing installed, Parquet through polars (extra ``data``)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from elsv._files import write_atomically, write_text
from elsv._typing import AnyArray
from elsv.errors import InvalidInputError, MissingExtraError

SUFFIXES = (".csv", ".parquet")


def check_suffix(path: str | Path) -> str:
    """Return the suffix of `path` if it is one that can be written."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidInputError(f"a table is written as {' or '.join(SUFFIXES)}, got {str(path)!r}")
    return suffix


def write_columns(path: str | Path, columns: Mapping[str, AnyArray]) -> None:
    """Write named columns of one length, atomically; the suffix chooses the format."""
    if check_suffix(path) == ".csv":
        lines = [",".join(columns)]
        lines += [
            ",".join(map(str, row)) for row in zip(*(c.tolist() for c in columns.values()), strict=True)
        ]
        write_text(path, "\n".join(lines) + "\n")
        return
    try:
        import polars
    except ImportError as error:
        raise MissingExtraError("writing Parquet", "data") from error

    frame = polars.DataFrame(dict(columns))

    def write(stream: BinaryIO) -> None:
        try:
            frame.write_parquet(stream)
        except polars.exceptions.PolarsError as error:
            raise _as_os_error(error) from error

    write_atomically(path, write)


def _as_os_error(error: Exception) -> OSError:
    """Return what happened to the file: polars words errors of the disk as its own."""
    found = re.search(r"(?:os error|Errno) (\d+)", str(error))
    return OSError(str(error)) if found is None else OSError(int(found[1]), os.strerror(int(found[1])))
