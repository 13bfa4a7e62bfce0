"""Tables, triggers and functions of the search from SQL files per database: created by a migration, restored after every migrate."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from django.db.backends.base.base import BaseDatabaseWrapper

from access.additions import additions
from memories.embedding import configured_model
from memories.embedding.manifest import MINILM
from memories.types import VISIBLE_TRUSTS, State, Type

_SQL_DIR = Path(__file__).resolve().parent.parent / "migrations" / "sql"
# In the folder of a database's vendor, or next to the folders where all databases run the same; some have not all.
FILES = (
    "extensions.sql", "letters.sql", "words.sql", "rows.sql", "fulltext.sql", "search_rows.sql", "moments.sql",
    "vectors.sql", "group_use.sql", "withdrawn.sql", "withdrawn_rows.sql", "statistics.sql",
)  # fmt: skip
# Objects that a database must have, for the check and `doctor`.
_CREATES = re.compile(
    r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:VIRTUAL\s+)?(TABLE|TRIGGER|VIEW|INDEX|FUNCTION)\s+(?:IF\s+NOT\s+EXISTS\s+)?(\w+)",
    re.I,
)
_CODE = re.compile(r"CREATE\s+(TRIGGER|VIEW)\s+(?:IF\s+NOT\s+EXISTS\s+)?(\w+)", re.I)
_GREATEST = {"postgresql": "GREATEST"}  # where the greatest of two values is not MAX
_WIDTH = "{width}"  # in a statement: that of the index's vectors
_SET_WIDTH = """
INSERT INTO index_state (name, value) VALUES ('width', %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""
_WORDS_OF = re.compile(r"\{words of (\w+)\}")


@dataclass(frozen=True)
class SqlStatement:
    """One named statement of a SQL file."""

    name: str
    sql: str


@dataclass(frozen=True)
class OtherSchema:
    """SQL files of another package, in a folder like ours, that belong to one of its tables."""

    table: str
    folder: Path
    files: tuple[str, ...]

    def statements(self, vendor: str) -> tuple[SqlStatement, ...]:
        """Its statements for a database vendor, in order; none for a vendor without files."""
        return statements(vendor, self.files, self.folder)

    def apply(self, connection: BaseDatabaseWrapper) -> None:
        """Create what is missing, if the table exists. Idempotent; in the caller's transaction."""
        if self.table in connection.introspection.table_names():
            apply_index_schema(connection, self.files, self.folder)


class _SchemaPart(Protocol):
    """Objects of a database that the store has besides the search's own."""

    def statements(self, vendor: str) -> tuple[SqlStatement, ...]:
        """Its statements for a database vendor, in order."""

    def apply(self, connection: BaseDatabaseWrapper) -> None:
        """Create what is missing. Idempotent; in the caller's transaction."""


@lru_cache
def statements(
    vendor: str, files: tuple[str, ...] = FILES, folder: Path = _SQL_DIR
) -> tuple[SqlStatement, ...]:
    """Statements for a database vendor, in order; none for a vendor without files."""
    found: list[SqlStatement] = []
    for file in files:
        path = next(filter(Path.exists, (folder / vendor / file, folder / file)), None)
        if path is not None:
            text = path.read_text(encoding="utf-8").replace("{standing}", _standing_sql())
            text = _WORDS_OF.sub(lambda row: words_sql(row[1], vendor=vendor), text)
            parts = re.split(r"^-- name: (\w+)$", text, flags=re.M)[1:]
            found += [
                SqlStatement(name, sql.strip()) for name, sql in zip(parts[::2], parts[1::2], strict=True)
            ]
    return tuple(found)


def _standing_sql() -> str:
    """The vector index's `standing` of a row, generated from the table of states and trusts.

    3: superseded, and recalled until the end of its valid time; 2: recalled; 1: live but hidden; -1: retracted, since a
    restatement must be noticed; 0: anything else.
    """
    recalled = ", ".join(f"'{trust}'" for trust in VISIBLE_TRUSTS)
    return (
        f"CASE WHEN state = '{State.LIVE}' AND trust IN ({recalled}) THEN 2"
        f" WHEN state = '{State.SUPERSEDED}' AND type != '{Type.EPISODIC}' AND retired_at IS NULL"
        f" AND valid_to > valid_to_known_at AND trust IN ({recalled}) THEN 3"
        f" WHEN state = '{State.LIVE}' THEN 1 WHEN state = '{State.RETRACTED}' THEN -1 ELSE 0 END"
    )


def words_sql(row: str, *, vendor: str) -> str:
    """About the number of words that the keyword index has of a row: spaces, or tenths of a text without any, and two.

    The two stand for the row's group, which the index has as a word, and keep a short text from being much shorter than
    another.
    """
    greatest = _GREATEST.get(vendor, "MAX")
    columns = [f"{row}.{name}" for name in ("content", "context", "forms")]
    counts = [
        f"CASE {text} WHEN '' THEN 0 ELSE {greatest}(1 + LENGTH({text}) - LENGTH(REPLACE({text}, ' ', '')), LENGTH({text}) / 10) END"
        for text in columns
    ]
    return f"(2 + {' + '.join(counts)})"


def fill_search_rows(connection: BaseDatabaseWrapper) -> None:
    """Write the search's rows and sums anew from the memories; in the caller's transaction."""
    apply_index_schema(connection, ("fill_search_rows.sql",))


def fill_group_use(connection: BaseDatabaseWrapper) -> None:
    """Count what each group holds from the memories; in the caller's transaction."""
    apply_index_schema(connection, ("fill_group_use.sql",))


def apply_index_schema(
    connection: BaseDatabaseWrapper, files: tuple[str, ...] = FILES, folder: Path = _SQL_DIR
) -> None:
    """Create missing virtual tables, indexes, views and triggers. Idempotent; in the caller's transaction."""
    with connection.cursor() as cursor:
        for statement in statements(connection.vendor, files, folder):
            sql = statement.sql
            if _WIDTH in sql:
                sql = sql.replace(_WIDTH, str(index_width(connection)))
            cursor.execute(sql)


def index_width(connection: BaseDatabaseWrapper) -> int:
    """The width of the vectors that the index holds, or would hold: as many numbers as those of its model have."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, value FROM index_state WHERE name IN ('model', 'width')")
        state = dict(cursor.fetchall())
    if "width" in state:
        return int(state["width"])
    model = None if "model" in state else configured_model()  # the first models were all as wide as MiniLM
    return (model or MINILM).width


def set_width(connection: BaseDatabaseWrapper, width: int) -> None:
    """Make the index hold vectors of this width: tables of vectors of another are made anew, empty; in the caller's transaction."""
    if width != index_width(connection):
        with connection.cursor() as cursor:
            cursor.execute(_SET_WIDTH, [str(width)])
        # PostgreSQL makes no index on a table whose new rows wait for their checks: after the first text of a store.
        connection.check_constraints(["memories_memory"])
        remake_vector_tables(connection)


def remake_vector_tables(connection: BaseDatabaseWrapper) -> None:
    """Make every table of vectors anew, as wide as the index's state says, with what its own statements fill it with."""
    with connection.cursor() as cursor:
        for statement in _all_statements(connection.vendor):
            if _WIDTH in statement.sql and (made := _CREATES.search(statement.sql)):
                cursor.execute(f"DROP TABLE IF EXISTS {made[2]}")
    apply_index_schema(connection)
    for other in _other_schemas():
        other.apply(connection)


def renew_triggers(connection: BaseDatabaseWrapper) -> None:
    """Make every trigger and view anew, whatever the database had under their names; in the caller's transaction."""
    with connection.cursor() as cursor:
        for statement in reversed(_all_statements(connection.vendor)):
            if made := _CODE.search(statement.sql):
                cursor.execute(f"DROP {made[1]} IF EXISTS {made[2]}")
    apply_index_schema(connection)
    for other in _other_schemas():
        other.apply(connection)


def begin_purge(connection: BaseDatabaseWrapper) -> None:
    """Overwrite in the file what this connection deletes from now on."""
    apply_index_schema(connection, ("purge_before.sql",))


def end_purge(connection: BaseDatabaseWrapper) -> bool:
    """Clear earlier states from the database's side files, after the commit. False if a reader prevented it."""
    is_done = True
    with connection.cursor() as cursor:
        for statement in statements(connection.vendor, ("purge_after.sql",)):
            cursor.execute(statement.sql)
            if statement.name == "empty_wal":
                # SQLite raises no error if a reader blocks the checkpoint: the first column of its row is "busy".
                busy, *_ = cursor.fetchone()
                is_done = is_done and not busy
    return is_done


def drop_index_schema(connection: BaseDatabaseWrapper, other: OtherSchema | None = None) -> None:
    """Drop the triggers, views, indexes and virtual tables, ours or another package's, in reverse order of creation."""
    made = other.statements(connection.vendor) if other else statements(connection.vendor)
    with connection.cursor() as cursor:
        for statement in reversed(made):
            if found := _CREATES.search(statement.sql):
                noun, name = found[1].upper(), found[2]
                if connection.vendor != "postgresql":
                    cursor.execute(f"DROP {noun} IF EXISTS {name}")
                elif noun != "TRIGGER":  # a trigger goes with its function
                    cursor.execute(f"DROP {noun} IF EXISTS {name} CASCADE")


def created_names(vendor: str) -> list[str]:
    """Names of the virtual tables, indexes, views and triggers that a database of this vendor must have."""
    return _created_by(statements(vendor))


def own_names(vendor: str) -> frozenset[str]:
    """The names of all search objects that Loci creates, for all packages."""
    return frozenset(_created_by(_all_statements(vendor)))


def _created_by(made: Iterable[SqlStatement]) -> list[str]:
    return [found[2] for statement in made if (found := _CREATES.search(statement.sql))]


def _all_statements(vendor: str) -> list[SqlStatement]:
    """Our statements and those of other packages."""
    others = [statement for other in _other_schemas() for statement in other.statements(vendor)]
    return [*statements(vendor), *others]


def _other_schemas() -> tuple[_SchemaPart, ...]:
    """Those of other packages, which backups and `doctor` know too."""
    return additions("schemas")
