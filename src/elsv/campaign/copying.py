"""Campaigns from one store to another, SQLite or PostgreSQL: the whole log, in one transaction, audited."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
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
    here = open_store(source, create=False)
    try:
        there = open_store(target)
        try:
            return _copied(here, there, names, progress)
        finally:
            there.close()
    finally:
        here.close()


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
    here = store.another()
    try:
        with store.writing() as writing:
            head = log.hold(store, writing, name)  # nobody appends while its log is copied
            there = open_store(target)
            try:
                copied = _copied(here, there, [name], None)
            finally:
                there.close()
            tables = [table.name for table in campaign_tables(writing, _on_postgres(store))]
            log.remove(writing, head, reversed(tables))
    finally:
        here.close()
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
        tables = _tables(reading, here, writing, there)
        heads = [_head(reading, name) for name in wanted]
        total = sum(_count(reading, table, head) for table in tables for head in heads)
        copied, done = [], 0
        for name, head in zip(wanted, heads, strict=True):
            before = replay(reading, head, segments_of(head))
            _must_be_exact(before, name, here)
            new = _copy_campaign(reading, writing, here, name, head)
            for table in tables:
                for rows in _pages(reading, table, head):
                    _insert(writing, table, new, rows)
                    done += len(rows)
                    if progress is not None:
                        progress(done, total)
            _check(reading, writing, there, name, tables, head, new, before)
            copied.append((name, before))
    return Copied(
        here.place,
        there.place,
        tuple(
            CopiedCampaign(a, b.decisions, b.rewards, b.expirations, b.events, _events(here, a) - b.events)
            for a, b in copied
        ),
    )


def _wanted(reading: Transaction, here: Store, names: Sequence[str] | None) -> list[str]:
    known = [name for (name,) in reading.rows("SELECT name FROM elsv_campaign WHERE version > 0 ORDER BY id")]
    if names is None:
        if not known:
            raise InvalidInputError(f"{here.place} has no campaigns; there is nothing to copy")
        return known
    for name in names:
        if name not in known:
            raise unknown_name(f"campaign of {here.place}", name, known)
    return list(dict.fromkeys(names))


def _tables(reading: Transaction, here: Store, writing: Transaction, there: Store) -> list[Table]:
    source, target = (
        (campaign_tables(transaction, on_postgres), columns_of_campaigns(transaction, on_postgres))
        for transaction, on_postgres in ((reading, _on_postgres(here)), (writing, _on_postgres(there)))
    )
    if source != target:
        raise StoreError(f"{here.place} and {there.place} have different tables; nothing was copied")
    return source[0]


def _on_postgres(store: Store) -> bool:
    return store.place.startswith("postgresql://")


def _head(transaction: Transaction, name: str) -> Head:
    head = log.find(transaction, name)
    assert head is not None
    return head


def _copy_campaign(reading: Transaction, writing: Transaction, here: Store, name: str, head: Head) -> Head:
    """Add the campaign's row and return it; its number is the target's own."""
    columns = columns_of_campaigns(reading, _on_postgres(here))
    listed, marks = ", ".join(columns), ", ".join("?" * len(columns))
    (row,) = reading.rows(f"SELECT {listed} FROM elsv_campaign WHERE id = ?", (head.id,))
    writing.run(f"INSERT INTO elsv_campaign ({listed}) VALUES ({marks})", row)
    return _head(writing, name)


def _pages(reading: Transaction, table: Table, head: Head) -> Iterator[list[tuple[Any, ...]]]:
    """Give the campaign's rows of a table in parts, in the order of the table's key."""
    listed, key = ", ".join(table.columns), ", ".join(table.key)
    places = [table.columns.index(column) for column in table.key]
    start = f"SELECT {listed} FROM {table.name} WHERE campaign = ?"
    end = f"ORDER BY {key} LIMIT {_AT_ONCE}"
    rows = reading.rows(f"{start} {end}", (head.id,))
    marks = ", ".join("?" * len(table.key))
    while rows:
        yield rows
        last = [rows[-1][place] for place in places]
        rows = reading.rows(f"{start} AND ({key}) > ({marks}) {end}", (head.id, *last))


def _insert(writing: Transaction, table: Table, head: Head, rows: Sequence[tuple[Any, ...]]) -> None:
    marks = ", ".join("?" * (1 + len(table.columns)))
    writing.many(
        f"INSERT INTO {table.name} (campaign, {', '.join(table.columns)}) VALUES ({marks})",
        [(head.id, *row) for row in rows],
    )


def _check(
    reading: Transaction,
    writing: Transaction,
    there: Store,
    name: str,
    tables: Sequence[Table],
    head: Head,
    new: Head,
    before: Audit,
) -> None:
    """Raise, which takes everything back, unless the copy has as many rows everywhere and the same audit."""
    for table in tables:
        counts = _count(reading, table, head), _count(writing, table, new)
        if counts[0] != counts[1]:
            raise StoreError(
                f"{table.name} of campaign {name!r} has {counts[0]:,} rows, {counts[1]:,} of them in "
                f"{there.place}; nothing was copied: try again"
            )
    after = replay(writing, new, segments_of(new))
    _must_be_exact(after, name, there)
    if after != before:
        raise StoreError(f"the copy of campaign {name!r} differs: {after}; nothing was copied: try again")


def _must_be_exact(audit: Audit, name: str, store: Store) -> None:
    if not audit.exact:
        raise CorruptFileError(
            f"campaign {name!r} of {store.place} is damaged; nothing was copied: restore it from a backup: "
            f"{audit}"
        )


def _count(transaction: Transaction, table: Table, head: Head) -> int:
    query = f"SELECT COUNT(*) FROM {table.name} WHERE campaign = ?"
    return int(transaction.rows(query, (head.id,))[0][0])


def _events(store: Store, name: str) -> int:
    with store.reading() as reading:
        return _head(reading, name).events


@dataclass(frozen=True)
class Table:
    """A table that holds rows of campaigns."""

    name: str
    columns: tuple[str, ...]  # all but the campaign's number, which every store gives anew
    key: tuple[str, ...]  # of these, what tells the rows of a campaign apart


def campaign_tables(transaction: Transaction, on_postgres: bool) -> list[Table]:
    """Return the tables beside that of the campaigns themselves, those that others refer to first."""
    made = [name for _, _, sql in migrations("sqlite") for name in re.findall(r"CREATE TABLE (\w+)", sql)]
    query, found = _POSTGRES if on_postgres else _SQLITE, []
    for name in dict.fromkeys(made):
        listed = transaction.rows(query, (name,))
        columns = {str(column): int(place) for column, place in listed}
        if "campaign" in columns:
            key = sorted((column for column, place in columns.items() if place), key=columns.__getitem__)
            found.append(Table(name, _without(columns), _without(key)))
    return found


def columns_of_campaigns(transaction: Transaction, on_postgres: bool) -> tuple[str, ...]:
    """Return the columns of the table of campaigns, but for the number that the store gives."""
    listed = transaction.rows(_POSTGRES if on_postgres else _SQLITE, ("elsv_campaign",))
    return tuple(str(column) for column, _ in listed if column != "id")


def _without(columns: Iterable[str]) -> tuple[str, ...]:
    return tuple(column for column in columns if column != "campaign")
