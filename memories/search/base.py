"""The only interface between recall and the database's indexes, with what the engines of both databases share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from importlib import import_module

from django.db import connection, transaction

from access.errors import Unavailable
from access.visibility import Visibility
from memories.search.keyword import NO_MATCHES, PostingReader, best_words, find_matches
from memories.search.query_terms import Match
from memories.search.rows import AnyVector, Hit, HybridHits, RowReader, Vector
from memories.search.schema import (
    apply_index_schema,
    created_names,
    fill_group_use,
    fill_search_rows,
    set_width,
    words_sql,
)
from storage.compiled_queries import fetch

_COUNTED = """
SELECT COUNT(*) FROM memories_memory AS m LEFT JOIN search_row AS s ON s.key = m.key
WHERE (s.group_id, s.is_global, s.words) IS DISTINCT FROM (m.group_id, m.scope = 'global', {words})
"""
_SUMMED = """
SELECT COUNT(*) FROM (
    SELECT is_global, group_id, COUNT(*) AS texts, SUM(words) AS words FROM search_row GROUP BY is_global, group_id
) AS found FULL JOIN search_group AS kept USING (is_global, group_id)
WHERE COALESCE(found.texts, 0) IS DISTINCT FROM kept.texts OR COALESCE(found.words, 0) IS DISTINCT FROM kept.words
"""
_VECTOR_ERRORS = """
SELECT COUNT(*) FILTER (WHERE kept.piece IS NULL), COUNT(*) FILTER (WHERE wanted.piece IS NULL),
    COUNT(*) FILTER (WHERE (kept.room, kept.standing, kept.until) <> (wanted.room, wanted.standing, wanted.until))
FROM {vectors} AS kept FULL JOIN (
    SELECT p.key AS piece, row.room, row.standing, row.until
    FROM memories_piece AS p JOIN memories_vec_row AS row ON row.memory = p.memory_id
    WHERE p.embedding IS NOT NULL AND p.model = (SELECT value FROM index_state WHERE name = 'model')
) AS wanted ON wanted.piece = kept.piece
"""


class NearSearch(ABC):
    """The search by vector for the nearest `limit` memories inside a Visibility; `visible` reads their rows."""

    def __init__(self, vector: AnyVector, visibility: Visibility, visible: RowReader, *, limit: int) -> None:
        self._vector, self._visibility, self._visible, self._limit = vector, visibility, visible, limit

    def begin(self) -> None:  # noqa: B027 - most have nothing to begin
        """Begin on another core, where that saves time. Without it, the search begins with best()."""

    def at_hand(self) -> Collection[int]:
        """The keys whose rows best() will read, if they are known before it."""
        return ()

    @abstractmethod
    def best(self, scored: Collection[int], *, floor: float = -1.0) -> list[Hit]:
        """The nearest visible memories, best first; those below `floor` may be left out, the cosines of `scored` read along."""

    @abstractmethod
    def cosines(self, keys: Collection[int]) -> dict[int, float]:
        """Cosine of each memory's best piece, by key, after best(); memories without vectors are left out."""


class SearchIndex(PostingReader):
    """Searches rows inside a Visibility; nothing outside is ever counted or returned."""

    names: str  # the SQL that reads the names of the database's objects
    vectors: str  # the table of the vector index

    def find(
        self,
        match: Match | None,
        vector: AnyVector | None,
        visibility: Visibility,
        *,
        limit: int,
        also: Collection[int] = (),
    ) -> HybridHits:
        """The best `limit` memories of each search that has a query, with their true scores in the other search.

        The keyword search runs while the vector is being computed.
        Memories with a key in `also` are included if visible, whatever their score.
        """
        visible = RowReader(visibility)
        near = self.search_near(vector, visibility, visible, limit=limit) if vector is not None else None
        if near is not None and match is not None:
            near.begin()
        # While another core computes the vector and selects the rows near it.
        matches = find_matches(match, visibility, self) if match is not None else NO_MATCHES
        if near is not None and (at_hand := near.at_hand()):
            visible([*matches.first(limit), *at_hand])  # one read for both searches
        words = best_words(matches, visible, limit=limit)
        nearest = near.best({*(hit.key for hit in words), *also}) if near is not None else []
        rows = visible({*(hit.key for hit in (*words, *nearest)), *also})
        by_vector, by_words = {hit.key for hit in nearest}, {hit.key for hit in words}
        extra = {*also}.intersection(rows) - by_vector - by_words
        others = {key: rows[key] for key in (by_vector - by_words) | extra if key in rows}
        cosines = near.cosines((by_words - by_vector) | extra) if near is not None else {}
        return HybridHits(words, nearest, matches.scored(others), cosines, tuple(sorted(extra)), rows)

    def keyword(self, match: Match, visibility: Visibility, *, limit: int) -> list[Hit]:
        """The best `limit` memories by BM25, best first."""
        visible = RowReader(visibility)
        return best_words(find_matches(match, visibility, self), visible, limit=limit)

    def nearest(
        self, vector: Vector, visibility: Visibility, *, limit: int, floor: float = -1.0
    ) -> list[Hit]:
        """The `limit` memories whose best piece is nearest to `vector` (float32[width]), by cosine from `floor` on, best first."""
        near = self.search_near(vector, visibility, RowReader(visibility), limit=limit)
        return [hit for hit in near.best((), floor=floor) if hit.score >= floor]

    @abstractmethod
    def search_near(
        self, vector: AnyVector, visibility: Visibility, visible: RowReader, *, limit: int
    ) -> NearSearch:
        """The search by vector, as this database does it; nothing is searched yet."""

    @abstractmethod
    def find_newest(
        self,
        alternatives: Sequence[Sequence[str]],
        visibility: Visibility,
        *,
        forms: Sequence[str] = (),
        limit: int,
    ) -> list[int]:
        """Keys of the newest visible memories with a word of each list of alternatives and with all the forms.

        Words are letters and digits of any script, as query_terms.words() returns them; one that ends in "*" is a prefix.
        """

    @abstractmethod
    def read_index_words(
        self, first: str, visibility: Visibility, *, shortest: int, longest: int
    ) -> list[str]:
        """The index's words (stems) that begin with `first`, within these lengths: at least those of visible texts.

        They may come from other groups: only those that keep_visible_words() leaves may decide anything.
        """

    def keep_visible_words(self, terms: Sequence[str], visibility: Visibility, *, limit: int) -> list[str]:
        """The first `limit` of the terms that a visible text has, in their order."""
        found = list[str]()
        for start in range(0, len(terms), limit):
            batch = terms[start : start + limit]
            found += [batch[at] for at in self.find_visible_words(batch, visibility)]
            if len(found) >= limit:
                break
        return found[:limit]

    @abstractmethod
    def find_visible_words(self, terms: Sequence[str], visibility: Visibility) -> list[int]:
        """The places of the terms that a visible text has."""

    def missing_objects(self) -> list[str]:
        """Names of the indexes' database objects that are missing."""
        existing = {name for (name,) in fetch(self.names, [])}
        return sorted(set(created_names(connection.vendor)) - existing)

    def find_errors(self) -> list[str]:
        """Differences between the indexes and the rows, in words; empty if there are none."""
        if missing := self.missing_objects():
            return [f"{name} is missing" for name in missing]
        [(rows,)] = fetch(_COUNTED.format(words=words_sql("m", vendor=connection.vendor)), [])
        [(sums,)] = fetch(_SUMMED, [])
        [(lacking, extra, stale)] = fetch(_VECTOR_ERRORS.format(vectors=self.vectors), [])
        counts = {
            "memories are counted wrongly for the keyword search": rows,
            "groups have wrong sums for the keyword search": sums,
            "lack their vector row": lacking,
            "vector rows have no piece": extra,
            "vector rows are out of date": stale,
        }
        return [*self.find_word_errors(), *(f"{count} {what}" for what, count in counts.items() if count)]

    @abstractmethod
    def find_word_errors(self) -> list[str]:
        """Differences between the rows and the index of words, in words."""

    @abstractmethod
    def tend(self) -> None:
        """Adapt the indexes to what the store has grown to; outside a transaction, now and then."""

    def rebuild(self) -> None:
        """Rebuild the indexes from the rows. One transaction."""
        with transaction.atomic():
            apply_index_schema(connection)
            self.stop_writers()
            fill_search_rows(connection)
            fill_group_use(connection)
            self.fill_vectors()

    def switch_model(
        self,
        model: str,
        *,
        width: int,
        is_complete: Callable[[], bool],
        progress: Callable[[int, int], None],
    ) -> bool:
        """Switch to the vectors of another model in one transaction: searches see the old ones until its commit, writers wait.

        False, without a change, if `is_complete` is false within the transaction.
        """
        with transaction.atomic():
            self.stop_writers()
            if not is_complete():
                return False
            with connection.cursor() as cursor:
                cursor.execute("UPDATE index_state SET value = %s WHERE name = 'model'", [model])
            set_width(connection, width)
            count = self.fill_vectors()
        progress(count, count)
        return True

    @abstractmethod
    def stop_writers(self) -> None:
        """Block writers of pieces and memories until the transaction ends. Readers are not blocked."""

    @abstractmethod
    def fill_vectors(self) -> int:
        """Write the vector index anew from the pieces of the index's model; returns its rows."""


_ENGINES = {
    "sqlite": ("memories.search.sqlite.engine", "SqliteEngine"),
    "postgresql": ("memories.search.postgresql.engine", "PostgresqlEngine"),
}


@lru_cache
def _load_engine(vendor: str) -> SearchIndex:
    """The engine for a database vendor; Unavailable if there is none."""
    if vendor not in _ENGINES:
        raise Unavailable(
            f"Loci has no search index for {vendor}.", hint="Use SQLite (the default) or PostgreSQL."
        )
    module, name = _ENGINES[vendor]
    engine: SearchIndex = getattr(import_module(module), name)()
    return engine


def search_index() -> SearchIndex:
    """The engine of the database in use."""
    return _load_engine(connection.vendor)
