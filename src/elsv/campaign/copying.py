"""Campaigns from one store to another, SQLite or PostgreSQL: the whole log, in one transaction, audited."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from elsv._base.progress import Progress
from elsv.campaign import log
from elsv.campaign.audit import Audit, replay
from elsv.campaign.log import Head
from elsv.campaign.opening import open_store, segments_of
from elsv.errors import CorruptFileError, InvalidInputError, unknown_name
from elsv.stores.base import Store, StoreError, Transaction, migrations

_AT_ONCE = 5000  # rows that are held in memory
# The tables are read from the database itself, so that no column is missed.
_SQLITE = "SELECT name, pk FROM pragma_table_info(?) ORDER BY cid"
_POSTGRES = """
SELECT a.attname, COALESCE(k.place, 0)
FROM pg_attribute a
LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
LEFT JOIN LATERAL unnest(i.indkey::smallint[]) WITH ORDINALITY k (column_number, place)
  ON k.column_number = a.attnum
WHERE a.attrelid = to_regclass(?) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""


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
    """Remove a campaign from a store; its whole log goes to an SQLite file first, audited there.

    `elsv copy` brings it back from that file.

    Parameters
    ----------
    again
        The name once more, so that nothing is removed by mistake.
    path
        Of the file, which must not be there.
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
        head = log.hold(store, writing, name)  # nobody appends while its log is copied
        with closing(open_store(target)) as there:
            copied = _copied(here, there, [name], None)
        for table in reversed(campaign_tables(writing, _on_postgres(store))):
            writing.run(f"DELETE FROM {table.name} WHERE campaign = ?", (head.id,))
        writing.run("DELETE FROM elsv_campaign WHERE id = ?", (head.id,))
    return copied


def _copied(here: Store, there: Store, names: Sequence[str] | None, progress: Progress | None) -> Copied:
    with here.reading() as reading, there.writing() as writing:
        wanted = _wanted(reading, here, names)
        taken = [name for name in wanted if log.find(writing, name) is not None]
        if taken:
            raise InvalidInputError(
                f"{there.place} has a campaign {taken[0]!r} already; copy to another store, or name the "
                "campaigns to copy with --campaign"
            )
        tables, columns = found = _layout(reading, here)
        if found != _layout(writing, there):
            raise StoreError(f"{here.place} and {there.place} have different tables; nothing was copied")
        heads = [_head(reading, name) for name in wanted]
        total = sum(_count(reading, table, head) for table in tables for head in heads)
        audits, done = [], 0
        for name, head in zip(wanted, heads, strict=True):
            audits.append(replay(reading, head, segments_of(head)))
            _must_be_exact(audits[-1], name, here)
            (row,) = reading.rows(f"SELECT {', '.join(columns)} FROM elsv_campaign WHERE id = ?", (head.id,))
            _insert(writing, "elsv_campaign", columns, [row])
            new = _head(writing, name)  # its number is the target's own
            for table in tables:
                for rows in _pages(reading, table, head):
                    _insert(writing, table.name, ("campaign", *table.columns), [(new.id, *r) for r in rows])
                    done += len(rows)
                    if progress is not None:
                        progress(done, total)
                counts = _count(reading, table, head), _count(writing, table, new)
                if counts[0] != counts[1]:
                    raise StoreError(
                        f"{table.name} of campaign {name!r} has {counts[0]:,} rows, {counts[1]:,} of them in "
                        f"{there.place}; nothing was copied: try again"
                    )
            after = replay(writing, new, segments_of(new))
            _must_be_exact(after, name, there)
            if after != audits[-1]:
                raise StoreError(
                    f"the copy of campaign {name!r} differs: {after}; nothing was copied: try again"
                )
    with here.reading() as reading:
        now = [_head(reading, name).events for name in wanted]
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


def _on_postgres(store: Store) -> bool:
    return store.place.startswith("postgresql://")


def _head(transaction: Transaction, name: str) -> Head:
    head = log.find(transaction, name)
    assert head is not None
    return head


def _pages(reading: Transaction, table: Table, head: Head) -> Iterator[list[tuple[Any, ...]]]:
    """Give the campaign's rows of a table in parts, in the order of the table's key."""
    key, marks = ", ".join(table.key), ", ".join("?" * len(table.key))
    places = [table.columns.index(column) for column in table.key]
    start = f"SELECT {', '.join(table.columns)} FROM {table.name} WHERE campaign = ?"
    end = f"ORDER BY {key} LIMIT {_AT_ONCE}"
    rows = reading.rows(f"{start} {end}", (head.id,))
    while rows:
        yield rows
        last = [rows[-1][place] for place in places]
        rows = reading.rows(f"{start} AND ({key}) > ({marks}) {end}", (head.id, *last))


def _insert(
    writing: Transaction, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> None:
    marks = ", ".join("?" * len(columns))
    writing.many(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)


def _must_be_exact(audit: Audit, name: str, store: Store) -> None:
    if not audit.exact:
        raise CorruptFileError(
            f"campaign {name!r} of {store.place} is damaged; nothing was copied: restore it from a backup: "
            f"{audit}"
        )


def _count(transaction: Transaction, table: Table, head: Head) -> int:
    query = f"SELECT COUNT(*) FROM {table.name} WHERE campaign = ?"
    return int(transaction.rows(query, (head.id,))[0][0])


@dataclass(frozen=True)
class Table:
    """A table that holds rows of campaigns."""

    name: str
    columns: tuple[str, ...]  # all but the campaign's number, which every store gives anew
    key: tuple[str, ...]  # of these, what tells the rows of a campaign apart


def campaign_tables(transaction: Transaction, on_postgres: bool) -> list[Table]:
    """Return the tables beside that of the campaigns themselves, those that others refer to first."""
    made = [name for _, _, sql in migrations("sqlite") for name in re.findall(r"CREATE TABLE (\w+)", sql)]
    found = []
    for name in dict.fromkeys(made):
        columns = dict(transaction.rows(_POSTGRES if on_postgres else _SQLITE, (name,)))
        if columns.pop("campaign", None) is not None:
            key = sorted((column for column, place in columns.items() if place), key=columns.__getitem__)
            found.append(Table(name, tuple(columns), tuple(key)))
    return found


def _layout(transaction: Transaction, store: Store) -> tuple[list[Table], list[str]]:
    """Return the tables with rows of campaigns, and the columns of the table of campaigns itself."""
    query = _POSTGRES if _on_postgres(store) else _SQLITE
    columns = [column for column, _ in transaction.rows(query, ("elsv_campaign",)) if column != "id"]
    return campaign_tables(transaction, _on_postgres(store)), columns
