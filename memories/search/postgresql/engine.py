"""Search engine on PostgreSQL. The database searches itself: no process keeps an index in memory or follows changes."""

from collections.abc import Callable, Collection, Sequence
from functools import partial

from django.db import connection, transaction

from access.visibility import Visibility
from memories.search.base import (
    AnyVector,
    DatedRow,
    Hit,
    HybridHits,
    Period,
    Vector,
)
from memories.search.combined import find_by_words, find_separately
from memories.search.keyword import find_count_errors
from memories.search.moments import find_dated
from memories.search.postgresql.large_rooms import tend_large_rooms
from memories.search.postgresql.postings import GIN_POSTINGS
from memories.search.postgresql.prefix import find_newest, keep_visible_words, read_index_words
from memories.search.postgresql.vectors import Visible, find_nearest
from memories.search.query_terms import Match
from memories.search.rows import RowReader, read_visible
from memories.search.schema import apply_index_schema, created_names, fill_group_use, fill_search_rows
from storage.compiled_queries import fetch
from storage.postgresql.months import check_references

_NAMES = """
SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace
UNION SELECT proname FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
UNION SELECT tgname FROM pg_trigger
"""
_FILL_VECTORS = """
INSERT INTO piece_search (piece, memory, room, standing, until, type, h)
SELECT p.key, p.memory_id, row.room, row.standing, row.until, row.type, p.embedding::halfvec(384)
FROM memories_piece AS p JOIN memories_vec_row AS row ON row.memory = p.memory_id
WHERE p.embedding IS NOT NULL AND p.model = (SELECT value FROM index_state WHERE name = 'model')
"""
_WORD_ERRORS = """
SELECT COUNT(*) FROM search_row AS s JOIN memories_memory AS m ON m.key = s.key WHERE s.stems <> search_stems(m)
"""
_VECTOR_ERRORS = """
SELECT COUNT(*) FILTER (WHERE kept.piece IS NULL), COUNT(*) FILTER (WHERE wanted.piece IS NULL),
    COUNT(*) FILTER (WHERE (kept.room, kept.standing, kept.until) <> (wanted.room, wanted.standing, wanted.until))
FROM piece_search AS kept FULL JOIN (
    SELECT p.key AS piece, row.room, row.standing, row.until
    FROM memories_piece AS p JOIN memories_vec_row AS row ON row.memory = p.memory_id
    WHERE p.embedding IS NOT NULL AND p.model = (SELECT value FROM index_state WHERE name = 'model')
) AS wanted ON wanted.piece = kept.piece
"""


class PostgresqlEngine:
    """SearchIndex on PostgreSQL."""

    def find(
        self,
        match: Match | None,
        vector: AnyVector | None,
        visibility: Visibility,
        *,
        limit: int,
        also: Collection[int] = (),
    ) -> HybridHits:
        """The best `limit` memories of each search that has a query, with their true scores in the other search."""
        scores: dict[int, float] = {}

        def nearest(query: Vector, visible: Visible, scored: Collection[int]) -> list[Hit]:
            found, read = find_nearest(query, visibility, visible, limit=limit, scored=scored)
            scores.update(read)
            return found

        return find_separately(
            match,
            vector,
            visibility,
            postings=GIN_POSTINGS,
            nearest=nearest,
            cosines=lambda keys, query: {key: scores[key] for key in keys if key in scores},
            limit=limit,
            also=also,
        )

    def keyword(self, match: Match, visibility: Visibility, *, limit: int) -> list[Hit]:
        """The best `limit` memories by BM25, best first."""
        return find_by_words(match, visibility, postings=GIN_POSTINGS, limit=limit)

    def nearest(self, vector: Vector, visibility: Visibility, *, limit: int) -> list[Hit]:
        """The `limit` memories whose best piece is nearest, best first."""
        visible = RowReader(partial(read_visible, visibility=visibility))
        return find_nearest(vector, visibility, visible, limit=limit)[0]

    def dated(self, periods: Sequence[Period], visibility: Visibility, *, limit: int) -> list[DatedRow]:
        """The newest `limit` memories of the periods, newest first."""
        return find_dated(periods, visibility, limit=limit)

    def find_newest(
        self,
        alternatives: Sequence[Sequence[str]],
        visibility: Visibility,
        *,
        forms: Sequence[str] = (),
        limit: int,
    ) -> list[int]:
        """Keys of the newest visible memories with a word of each list of alternatives and with all the forms."""
        return find_newest(alternatives, visibility, forms=forms, limit=limit)

    def read_index_words(
        self, first: str, visibility: Visibility, *, shortest: int, longest: int
    ) -> list[str]:
        """The visible groups' words (stems) that begin with `first`."""
        return read_index_words(first, visibility, shortest=shortest, longest=longest)

    def keep_visible_words(self, terms: Sequence[str], visibility: Visibility, *, limit: int) -> list[str]:
        """The first `limit` of the terms that a visible text has, in their order."""
        return keep_visible_words(terms, visibility, limit=limit)

    def missing_objects(self) -> list[str]:
        """Missing tables, indexes, views, triggers and functions."""
        existing = {name for (name,) in fetch(_NAMES, [])}
        return sorted(set(created_names(connection.vendor)) - existing)

    def find_errors(self) -> list[str]:
        """Differences between the rows, the keyword index and the vectors."""
        found = [f"{name} is missing" for name in self.missing_objects()]
        if found:
            return found
        [(words,)] = fetch(_WORD_ERRORS, [])
        [(missing, extra, stale)] = fetch(_VECTOR_ERRORS, [])
        counts = {
            "memories have other words in the keyword index": words,
            "lack their vector row": missing,
            "vector rows have no piece": extra,
            "vector rows are out of date": stale,
        }
        return [*find_count_errors(), *(f"{count} {what}" for what, count in counts.items() if count)]

    def tend(self) -> None:
        """Make and drop the approximate indexes of large groups."""
        tend_large_rooms()

    def rebuild(self) -> None:
        """Rebuild both indexes from memories_memory and memories_piece."""
        with transaction.atomic():
            with connection.cursor() as cursor:
                check_references(cursor)
            apply_index_schema(connection)
            stop_writers()
            fill_search_rows(connection)
            fill_group_use(connection)
            fill_vectors()

    def switch_model(
        self, model: str, *, is_complete: Callable[[], bool], progress: Callable[[int, int], None]
    ) -> bool:
        """Replace the vectors by those of another model; searches see the old ones until the commit, writers wait."""
        with transaction.atomic():
            stop_writers()
            if not is_complete():
                return False
            with connection.cursor() as cursor:
                cursor.execute("UPDATE index_state SET value = %s WHERE name = 'model'", [model])
            count = fill_vectors()
        progress(count, count)
        return True


def stop_writers() -> None:
    """Let writers of pieces and memories wait until the transaction ends; readers go on.

    Their triggers then read what this transaction left.
    """
    with connection.cursor() as cursor:
        cursor.execute("LOCK TABLE memories_memory, memories_piece IN SHARE ROW EXCLUSIVE MODE")


def fill_vectors() -> int:
    """Write piece_search anew; returns its rows."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM piece_search")
        cursor.execute(_FILL_VECTORS)
        count: int = cursor.rowcount
    return count
