"""The tables of a store as the database itself lists them, so that what copies them misses no column."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from elsv.stores.base import Transaction, migrations

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
