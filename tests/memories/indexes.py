"""The search indexes' own tables, which each database has in its own way."""

from collections.abc import Iterable
from typing import Any

from django.db import connection

from memories.models import Memory, Piece
from storage.compiled_queries import fetch
from tests.settings import IS_POSTGRES

VECTORS = "piece_search" if IS_POSTGRES else "memories_vec"
# The trigger that puts a new memory's words into the keyword index, and its table.
WORD_TRIGGER, WORD_TRIGGER_TABLE = (
    ("search_row_changed", "search_row") if IS_POSTGRES else ("memories_fts_insert", "memories_fts")
)


def texts_with(*words: str) -> int:
    """The number of texts in the keyword index with one of these words, whatever their group and state."""
    if IS_POSTGRES:
        [(count,)] = fetch(
            "SELECT COUNT(*) FROM search_row WHERE EXISTS ("
            "SELECT 1 FROM UNNEST(stems) WHERE SPLIT_PART(TRANSLATE(lexeme, '~', '.'), '.', 2) = ANY(search_words(%s)))",
            [" ".join(words)],
        )
    else:
        [(count,)] = fetch(
            "SELECT COUNT(*) FROM memories_fts WHERE memories_fts MATCH %s", [" OR ".join(words)]
        )
    return int(count)


def words_and_vectors() -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """All rows of both indexes."""
    if IS_POSTGRES:
        words, vectors = "key, stems FROM search_row ORDER BY key", "* FROM piece_search ORDER BY piece"
    else:
        words = "rowid, content, context, filter FROM memories_fts ORDER BY rowid"
        vectors = "piece, room, standing, until, type, embedding FROM memories_vec ORDER BY piece"
    return fetch(f"SELECT {words}", []), fetch(f"SELECT {vectors}", [])


def lose_words(memory: Memory) -> None:
    """Remove a memory's words from the keyword index, as damage would."""
    run(
        "UPDATE search_row SET stems = '' WHERE key = %s"
        if IS_POSTGRES
        else "INSERT INTO memories_fts (memories_fts, rowid, content, context, filter) VALUES ('delete', %s, %s, %s, %s)",
        [memory.key] if IS_POSTGRES else [memory.key, memory.content, memory.context, memory.filter],
    )


def lose_all_words() -> None:
    """Remove all words from the keyword index."""
    run(
        "UPDATE search_row SET stems = ''"
        if IS_POSTGRES
        else "INSERT INTO memories_fts (memories_fts) VALUES ('delete-all')"
    )


def drop_word_trigger() -> None:
    """Drop WORD_TRIGGER."""
    run(f"DROP TRIGGER {WORD_TRIGGER}{' ON memories_memory' if IS_POSTGRES else ''}")


def refuse_inserts(table: str) -> None:
    """Let every INSERT into a table fail with an IntegrityError that says 'full'."""
    if IS_POSTGRES:
        run(
            "CREATE FUNCTION full_table() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE integrity_constraint_violation USING MESSAGE = 'full'; END $$"
        )
        run(f"CREATE TRIGGER full_table BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION full_table()")
    else:
        run(f"CREATE TRIGGER full_table BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'full'); END")


def run(sql: str, params: list[Any] | None = None) -> None:
    """Execute one statement."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)


def indexed_vectors(pieces: Iterable[Piece]) -> list[bytes]:
    """The vectors of these pieces as the vector index of SQLite writes them; none on PostgreSQL."""
    keys = ", ".join(str(piece.key) for piece in pieces)
    if IS_POSTGRES or not keys:
        return []
    return [bytes(row[0]) for row in fetch(f"SELECT embedding FROM memories_vec WHERE piece IN ({keys})", [])]
