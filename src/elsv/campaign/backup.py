"""A copy of an SQLite store while it is in use, whole and checked."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from elsv._base.files import make_atomically
from elsv._base.progress import Progress
from elsv.campaign.audit import replay
from elsv.campaign.log import find
from elsv.errors import CorruptFileError, InvalidInputError
from elsv.stores.base import Transaction, needs_migration
from elsv.stores.sqlite import applied, file_of, readable_error, retire

_PAGES = 2048  # that are copied between two reports of progress


@dataclass(frozen=True)
class Backup:
    """What was copied."""

    source: str
    copy: str
    bytes: int
    campaigns: int
    decisions: int
    audited: bool  # False: written by another elsv, whose log this one does not replay

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        checked = "checked and audited" if self.audited else "checked, and not audited: of another elsv"
        return (
            f"copied {self.campaigns:,} campaigns with {self.decisions:,} decisions to {self.copy} "
            f"({self.bytes:,} bytes), {checked}"
        )


def backup(
    source: str | Path, copy: str | Path, *, overwrite: bool = False, progress: Progress | None = None
) -> Backup:
    """Copy an SQLite store as it is at one moment, while others read and write it; whole or not at all.

    Parameters
    ----------
    source
        The file of a store.
    copy
        Where the copy goes. It is checked and every campaign's log is replayed twice: before it gets that
        name, so that a damaged copy replaces nothing, and at that name, opened anew.
    overwrite
        Whether a file that is there may be replaced.
    progress
        Told the pages that are copied, and how many there are.
    """
    given, target = file_of(source), Path(copy)
    if str(source).startswith(("postgresql://", "postgres://")):
        raise InvalidInputError(
            "elsv backup copies SQLite files, got a PostgreSQL URL; use pg_dump, or `elsv copy` to a file"
        )
    if not given.is_file():
        raise InvalidInputError(f"there is no campaign file {source}; give the path of one, such as shop.db")
    if target.exists() and target.samefile(given):
        raise InvalidInputError(f"the copy must be another file than {source}; give another path")
    if target.exists() and not overwrite:
        raise InvalidInputError(f"{copy} is there already; choose another path, or replace it with --force")
    if not target.absolute().parent.is_dir():
        raise InvalidInputError(
            f"there is no directory {target.absolute().parent} for {copy}; make it, or choose another path"
        )

    def make(temporary: Path) -> None:
        _copy(given, temporary, progress)
        _checked(given, target, temporary)
        retire(target)

    try:
        make_atomically(target, make, stat.S_IMODE(given.stat().st_mode))
        return _checked(given, target, target)
    except sqlite3.Error as error:
        raise readable_error(f"{given} or its copy {target}", error) from error


def _copy(source: Path, temporary: Path, progress: Progress | None) -> None:
    def report(_: int, left: int, pages: int) -> None:
        if progress is not None:
            progress(pages - left, pages)

    # Only read: a copy that is made before an upgrade must not upgrade the source.
    address = f"{source.absolute().as_uri()}?mode=ro"
    with (
        closing(sqlite3.connect(address, uri=True, isolation_level=None, timeout=60)) as reader,
        closing(sqlite3.connect(temporary, isolation_level=None)) as writer,
    ):
        # One moment is held from the first page to the last; else every commit of others would start it anew.
        reader.execute("BEGIN")
        reader.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        reader.backup(writer, pages=_PAGES, progress=report)
        writer.execute("PRAGMA journal_mode = DELETE")


def _checked(source: Path, target: Path, copy: Path) -> Backup:
    """Return what the copy holds, or raise if it is not whole."""
    where = "nothing was copied" if copy != target else f"so is {target}, which was replaced"
    # The copy has no write-ahead log of its own (`_copy`), so that reading it leaves no files beside it, and
    # a log that is there nevertheless is read as everybody else would read it.
    with closing(sqlite3.connect(f"{copy.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        reading = Transaction(connection)
        whole = reading.rows("PRAGMA integrity_check")
        if whole != [("ok",)]:
            raise CorruptFileError(
                f"{source} is damaged ({whole[0][0]}); {where}: restore it from an older backup"
            )
        if not reading.rows("SELECT 1 FROM sqlite_master WHERE name = 'elsv_campaign'"):
            raise CorruptFileError(f"{source} is no campaign file; nothing was copied")
        named = reading.rows("SELECT name, decisions FROM elsv_campaign ORDER BY id")
        audited = not needs_migration(applied(connection))
        for name, _ in named if audited else ():
            log = find(reading, name)
            assert log is not None
            if not (audit := replay(log)).exact:
                raise CorruptFileError(f"campaign {name!r} of {source} is damaged; {where}: {audit}")
    size, decisions = copy.stat().st_size, sum(count for _, count in named)
    return Backup(str(source), str(target), size, len(named), decisions, audited)
