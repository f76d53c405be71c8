"""Campaigns from one store to another, SQLite or PostgreSQL: the whole log, in one transaction, audited."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from elsv._base.progress import Progress
from elsv.campaign.audit import Audit, replay
from elsv.campaign.log import Log, Rows, find, read
from elsv.campaign.opening import open_store
from elsv.errors import CorruptFileError, InvalidInputError, unknown_name
from elsv.stores.base import Store, StoreError, Transaction, migrations

_AT_ONCE = 5000  # rows that are held in memory
ITSELF = ("name", "created", "problem", "seed", "version", "events", "decisions")
"""Columns of the table of campaigns, but for the number, which every store gives anew."""


@dataclass(frozen=True)
class CopiedCampaign:
    """One campaign."""

    name: str
    decisions: int
    rewards: int
    expirations: int
    events: int
    went_on: int  # events that the source has appended since


@dataclass(frozen=True)
class Copied:
    """What was copied."""

    source: str
    target: str
    campaigns: tuple[CopiedCampaign, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [f"copied {len(self.campaigns)} campaigns from {self.source} to {self.target}, audited there"]
        lines += [
            f"{one.name}: {one.decisions:,} decisions, {one.rewards:,} outcomes, {one.expirations:,} "
            f"expirations in {one.events:,} events"
            for one in self.campaigns
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Table:
    """A table that holds rows of campaigns."""

    name: str
    columns: tuple[str, ...]  # all but the campaign's number, which every store gives anew
    key: tuple[str, ...]  # of these, what tells the rows of a campaign apart


def copy_campaigns(
    source: str | Path,
    target: str | Path,
    names: Sequence[str] | None = None,
    *,
    progress: Progress | None = None,
) -> Copied:
    """Copy campaigns with their whole logs: ids, times, versions of the settings, keys of requests.

    All of them or none: the target sees one transaction, which is audited and counted before it ends.

    Parameters
    ----------
    source, target
        Paths of SQLite files or URLs ``postgresql://…``. The target is made if it is not there.
    names
        Which campaigns; default: all.
    progress
        Told how many rows are copied, and how many there are.
    """
    with closing(open_store(source, create=False)) as here, closing(open_store(target)) as there:
        return _copied(here, there, names, progress)


def delete(store: Store, name: str, again: str, path: str | Path) -> Copied:
    """Remove a campaign from a store; its whole log goes to a new SQLite file at `path` first, audited there.

    `elsv copy` brings it back from that file. `again` is the name once more, so that nothing is removed by
    mistake.
    """
    if again != name:
        raise InvalidInputError(
            f"the name must be typed again to delete a campaign, {name!r}, got {again!r}; nothing was deleted"
        )
    target = Path(path)
    if target.exists():
        raise InvalidInputError(f"{path} is there already; nothing was deleted: give another path")
    if not target.absolute().parent.is_dir():
        raise InvalidInputError(f"there is no directory {target.absolute().parent}; nothing was deleted")
    with closing(store.another()) as here, store.writing() as writing:
        log = read(store, writing, name, hold=True)  # nobody appends while its log is copied
        with closing(open_store(target)) as there:
            copied = _copied(here, there, [name], None)
        for table in reversed(campaign_tables()):
            writing.run(f"DELETE FROM {table.name} WHERE campaign = ?", (log.id,))
        writing.run("DELETE FROM elsv_campaign WHERE id = ?", (log.id,))
    return copied


def _copied(here: Store, there: Store, names: Sequence[str] | None, progress: Progress | None) -> Copied:
    with here.reading() as reading, there.writing() as writing:
        wanted = _wanted(reading, here, names)
        taken = [name for name in wanted if find(writing, name) is not None]
        if taken:
            raise InvalidInputError(
                f"{there.place} has a campaign {taken[0]!r} already; copy to another store, or name the "
                "campaigns to copy with --campaign"
            )
        tables, audits, done = campaign_tables(), [], 0
        logs = [read(here, reading, name) for name in wanted]
        total = sum(_count(log, table) for table in tables for log in logs)
        for name, log in zip(wanted, logs, strict=True):
            audits.append(_audited(log, name, here))
            row = log.rows(f"SELECT {', '.join(ITSELF)} FROM elsv_campaign WHERE id = ?")
            marks = ", ".join("?" * len(ITSELF))
            writing.many(f"INSERT INTO elsv_campaign ({', '.join(ITSELF)}) VALUES ({marks})", row)
            new = read(there, writing, name)  # its number is the target's own
            for table in tables:
                for rows in _pages(log, table):
                    new.insert(table.name, ", ".join(table.columns), *rows)
                    done += len(rows)
                    if progress is not None:
                        progress(done, total)
                before, after = _count(log, table), _count(new, table)
                if before != after:
                    raise StoreError(
                        f"{table.name} of campaign {name!r} has {before:,} rows, {after:,} of them in "
                        f"{there.place}; nothing was copied: try again"
                    )
            if (audit := _audited(new, name, there)) != audits[-1]:
                raise StoreError(
                    f"the copy of campaign {name!r} differs: {audit}; nothing was copied: try again"
                )
    with here.reading() as reading:
        now = [read(here, reading, name).events for name in wanted]
    campaigns = (
        CopiedCampaign(name, a.decisions, a.rewards, a.expirations, a.events, events - a.events)
        for name, a, events in zip(wanted, audits, now, strict=True)
    )
    return Copied(here.place, there.place, tuple(campaigns))


def _wanted(reading: Transaction, here: Store, names: Sequence[str] | None) -> list[str]:
    known = [name for (name,) in reading.rows("SELECT name FROM elsv_campaign WHERE version > 0 ORDER BY id")]
    if names is None and not known:
        raise InvalidInputError(f"{here.place} has no campaigns; there is nothing to copy")
    for name in names or ():
        if name not in known:
            raise unknown_name(f"campaign of {here.place}", name, known)
    return known if names is None else list(dict.fromkeys(names))


def _audited(log: Log, name: str, store: Store) -> Audit:
    """Return the audit of a log, or raise if that is not exact."""
    audit = replay(log)
    if not audit.exact:
        raise CorruptFileError(
            f"campaign {name!r} of {store.place} is damaged; nothing was copied: restore it from a backup: "
            f"{audit}"
        )
    return audit


def _pages(log: Log, table: Table) -> Iterator[Rows]:
    """Give the campaign's rows of a table in parts, in the order of the table's key."""
    key, marks = ", ".join(table.key), ", ".join("?" * len(table.key))
    places = [table.columns.index(column) for column in table.key]
    start = f"SELECT {', '.join(table.columns)} FROM {table.name} WHERE campaign = ?"
    end = f"ORDER BY {key} LIMIT {_AT_ONCE}"
    rows = log.rows(f"{start} {end}")
    while rows:
        yield rows
        rows = log.rows(f"{start} AND ({key}) > ({marks}) {end}", *(rows[-1][place] for place in places))


def _count(log: Log, table: Table) -> int:
    return int(log.rows(f"SELECT COUNT(*) FROM {table.name} WHERE campaign = ?")[0][0])


@cache
def campaign_tables() -> list[Table]:
    """Return the tables beside that of the campaigns themselves, those that others refer to first."""
    found = []
    with closing(sqlite3.connect(":memory:")) as made:
        made.executescript("".join(sql for _, _, sql in migrations()))
        for (name,) in made.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid"):
            columns = dict(made.execute("SELECT name, pk FROM pragma_table_info(?) ORDER BY cid", (name,)))
            if columns.pop("campaign", None) is not None:
                key = sorted((column for column, place in columns.items() if place), key=columns.__getitem__)
                found.append(Table(name, tuple(columns), tuple(key)))
    return found
