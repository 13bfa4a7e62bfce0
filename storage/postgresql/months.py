"""Tables in partitions by month: a month is made before it begins, and goes as a whole once all of it is old."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from django.db import OperationalError, connection, transaction

_AHEAD = 2  # months made in addition to the current one
WAIT = "2s"  # for others who use the table, before a month is left for the next time
# What no month has: rows that came before anybody made theirs. They move when it is made.
_REST = "{table}_rest"
_MONTHS = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ %s ORDER BY relname"
_IS_PARTED = "SELECT relkind = 'p' FROM pg_class WHERE oid = to_regclass(%s)"
_KEEP_NO_SAMPLES = """
SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0 AND attstattarget = 0 AND NOT attisdropped
"""


def is_parted(table: str) -> bool:
    """True if the table has partitions."""
    if connection.vendor != "postgresql":
        return False
    with connection.cursor() as cursor:
        cursor.execute(_IS_PARTED, [table])
        row = cursor.fetchone()
    return bool(row and row[0])


def make_months(table: str, column: str, now: datetime) -> None:
    """Make the months that are missing: the current one, AHEAD of it, and those of the rest's rows."""
    rest = _REST.format(table=table)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SELECT MIN({column}) FROM {rest}")  # noqa: S608 - names alone
        [first] = cursor.fetchone()
        made = months_of(cursor, table)
        for month in _months_from(min(first or now, now), now):
            if month not in made:
                _make_month(cursor, table, column, month)


def _make_month(cursor: Any, table: str, column: str, month: datetime) -> None:
    """Make the partition of a month, with the rows of the rest that belong there."""
    name, rest, end = name_of(table, month), _REST.format(table=table), after(month)
    check_references(cursor)
    cursor.execute(f"CREATE TABLE {name} (LIKE {table} INCLUDING ALL)")
    cursor.execute(
        f"WITH moved AS (DELETE FROM {rest} WHERE {column} >= %s AND {column} < %s RETURNING *)"  # noqa: S608 - names alone
        f" INSERT INTO {name} SELECT * FROM moved",
        [month, end],
    )
    cursor.execute(
        f"ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM ('{month:%Y-%m-%d} 00:00+00') TO ('{end:%Y-%m-%d} 00:00+00')"
    )
    cursor.execute(_KEEP_NO_SAMPLES, [table])
    for (text,) in cursor.fetchall():
        cursor.execute(f'ALTER TABLE {name} ALTER COLUMN "{text}" SET STATISTICS 0')


def old_months(table: str, before: datetime) -> list[str]:
    """The names of the months that ended before a moment."""
    with connection.cursor() as cursor:
        return [name_of(table, month) for month in months_of(cursor, table) if after(month) <= before]


def drop_month(table: str, name: str) -> int:
    """Detach and drop a month; returns its rows, or 0 if others use the table for so long that it has to wait."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{WAIT}'")
            cursor.execute(f"SELECT COUNT(*) FROM {name}")  # noqa: S608 - a name alone
            count: int = cursor.fetchone()[0]
            check_references(cursor)
            cursor.execute(f"ALTER TABLE {table} DETACH PARTITION {name}")
            cursor.execute(f"DROP TABLE {name}")
    except OperationalError:
        return 0
    return count


def check_references(cursor: Any) -> None:
    """Check now what the transaction's end would: no table is changed that has checks to come."""
    cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    cursor.execute("SET CONSTRAINTS ALL DEFERRED")


def part_by_month(cursor: Any, table: str, column: str) -> None:
    """Turn a table into one with partitions, without any yet, and move its rows there; its key stays a number of one sequence.

    For a migration, which then makes indexes and references anew.
    """
    old, sequence = f"{table}_unparted", f"{table}_key_seq"
    cursor.execute(f"SELECT nextval(pg_get_serial_sequence('{table}', 'key'))")
    [first] = cursor.fetchone()
    cursor.execute(f"ALTER TABLE {table} RENAME TO {old}")
    cursor.execute(f"CREATE TABLE {table} (LIKE {old}) PARTITION BY RANGE ({column})")
    cursor.execute(f"CREATE TABLE {_REST.format(table=table)} PARTITION OF {table} DEFAULT")
    cursor.execute(f"INSERT INTO {table} SELECT * FROM {old}")  # noqa: S608 - names alone
    cursor.execute(f"DROP TABLE {old}")
    # No identity column: a table with partitions may have one from PostgreSQL 17 on.
    cursor.execute(f"CREATE SEQUENCE {sequence} START {first} OWNED BY {table}.key")
    cursor.execute(f"ALTER TABLE {table} ALTER COLUMN key SET DEFAULT nextval('{sequence}')")
    cursor.execute(f"ALTER TABLE {table} ADD PRIMARY KEY (key, {column})")


def months_of(cursor: Any, table: str) -> list[datetime]:
    """The months that have a partition."""
    cursor.execute(_MONTHS, [rf"^{table}_\d{{4}}_\d\d$"])
    return [month for (name,) in cursor.fetchall() for month in _parse_month(name)]


def _parse_month(name: str) -> Iterator[datetime]:
    if found := re.search(r"_(\d{4})_(\d\d)$", name):
        yield datetime(int(found[1]), int(found[2]), 1, tzinfo=UTC)


def name_of(table: str, month: datetime) -> str:
    """The name of a month's partition."""
    return f"{table}_{month:%Y_%m}"


def _months_from(first: datetime, now: datetime) -> Iterator[datetime]:
    """The months from that of the first moment to AHEAD of now."""
    month = first.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    last = now.astimezone(UTC)
    while (month.year - last.year) * 12 + month.month - last.month <= _AHEAD:
        yield month
        month = after(month)


def after(month: datetime) -> datetime:
    """The next month."""
    return month.replace(year=month.year + month.month // 12, month=month.month % 12 + 1)
