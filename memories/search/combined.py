"""Search by words and by meaning, one after the other, and both searches' hits as one result."""

from collections.abc import Callable, Collection, Mapping
from functools import partial

from access.visibility import Visibility
from memories.search.base import AnyVector, Hit, HybridHits, RankingFields, Vector, resolve_vector
from memories.search.keyword import NO_MATCHES, KeywordMatches, PostingReader, best_words, find_matches
from memories.search.query_terms import Match
from memories.search.rows import RowReader, read_visible


def find_separately(
    match: Match | None,
    vector: AnyVector | None,
    visibility: Visibility,
    *,
    postings: PostingReader,
    nearest: Callable[[Vector, RowReader, Collection[int]], list[Hit]],
    cosines: Callable[[Collection[int], Vector], dict[int, float]],
    limit: int,
    also: Collection[int] = (),
) -> HybridHits:
    """The best `limit` memories of each search that has a query, with their true scores in the other search.

    `nearest` searches by vector, `cosines` scores memories by vector; of those that it may be asked for, `nearest` gets
    the keys, so that it can read the scores along.
    """
    visible = RowReader(partial(read_visible, visibility=visibility))
    # While another core computes the vector.
    matches = find_matches(match, visibility, postings) if match is not None else NO_MATCHES
    words = best_words(matches, visible, limit=limit)
    query = resolve_vector(vector) if vector is not None else None
    near = nearest(query, visible, {*(hit.key for hit in words), *also}) if query is not None else []
    rows = visible({*(hit.key for hit in (*words, *near)), *also})
    return combine_hits(
        words,
        near,
        rows,
        also=also,
        matches=matches,
        cosines=lambda keys: cosines(keys, query) if query is not None else {},
    )


def find_by_words(match: Match, visibility: Visibility, *, postings: PostingReader, limit: int) -> list[Hit]:
    """The best `limit` memories by BM25, best first."""
    visible = RowReader(partial(read_visible, visibility=visibility))
    return best_words(find_matches(match, visibility, postings), visible, limit=limit)


def combine_hits(
    words: list[Hit],
    nearest: list[Hit],
    rows: Mapping[int, RankingFields],
    *,
    also: Collection[int],
    matches: KeywordMatches,
    cosines: Callable[[Collection[int]], dict[int, float]],
) -> HybridHits:
    """The hits of both searches with the score of each in the other search, and the visible memories of `also`.

    `rows` are the visible ones; `cosines` scores memories by vector.
    """
    by_vector, by_words = {hit.key for hit in nearest}, {hit.key for hit in words}
    extra = {*also}.intersection(rows) - by_vector - by_words
    others = {key: rows[key] for key in (by_vector - by_words) | extra if key in rows}
    wanted = (by_words - by_vector) | extra
    return HybridHits(words, nearest, matches.scored(others), cosines(wanted), tuple(sorted(extra)), rows)
