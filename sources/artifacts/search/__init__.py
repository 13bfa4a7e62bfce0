"""Finds a group's chunks for a question: words and vectors, both scores for every candidate, fused as for memories."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from django.db import connection

from access.visibility import Visibility
from memories.queries.visibility import chunk_rule, to_sql
from memories.recall.question import Question
from memories.recall.scoring import Candidate, fuse
from memories.search.keyword import (
    NO_MATCHES,
    POSTING_BUDGET,
    KeywordMatches,
    Postings,
    TermCounts,
    VisibleTexts,
    join_matches,
    parse_numbers,
    within_budget,
)
from memories.search.query_terms import Match
from memories.search.rows import RankingFields, resolve_vector
from memories.store.pieces import indexed_model
from sources.artifacts.search.base import FoundChunk, chunk_index, room_of
from storage.compiled_queries import fetch

CANDIDATES: Final = 60  # of each search
# What counts as found: near in meaning alone, or less near and with words of the question.
_MIN_COSINE_ALONE: Final = 0.4
_MIN_COSINE_WITH_WORDS: Final = 0.25
_MIN_WORD_SHARE: Final = 0.5  # of the question's words, where no vector can tell
TERM_COUNTS: Final = TermCounts()

_TEXTS = "SELECT SUM(a.chunk_count), SUM(a.words) FROM sources_artifact AS a WHERE {where}"


@dataclass(frozen=True)
class ChunkHit:
    """A chunk's key, its fused score, and its score in both searches (0 if not found)."""

    key: int
    score: float
    keyword: float
    cosine: float


def find_chunks(question: Question, visibility: Visibility, *, mode: str) -> list[ChunkHit]:
    """The chunks of the Visibility's one group that may answer the question, best first. Nothing of another group changes a score."""
    matches = _find_matches(question.match, visibility) if question.match and mode != "vector" else NO_MATCHES
    vector = resolve_vector(question.vector) if question.vector is not None and mode != "keyword" else None
    near = chunk_index().nearest(vector, visibility, limit=2 * CANDIDATES) if vector is not None else []
    wanted = sorted({*matches.first(CANDIDATES), *near})
    read = chunk_index().read(wanted, visibility, vector, indexed_model()) if wanted else []
    rows = {
        row.key: row._replace(
            cosine=max(question.model.question_cosine(row.cosine), 0.0) if row.cosine else 0.0
        )
        for row in read
    }
    room = room_of(visibility)
    scores = matches.scored(
        {key: RankingFields(key, room, row.content, None, None, 1.0, "active") for key, row in rows.items()}
    )
    candidates = _rank_candidates(rows, scores)
    fused = fuse(candidates, mode="hybrid" if vector is not None else "keyword", readable=question.readable)
    hits = [
        ChunkHit(c.key, fused[c.key] * rows[c.key].weight, c.keyword, c.vector)
        for c in candidates
        if c.key in fused and _is_relevant(c, rows[c.key], question, has_vector=vector is not None)
    ]
    return sorted(hits, key=lambda hit: (-round(hit.score, 9), hit.key))


def _find_matches(match: Match, visibility: Visibility) -> KeywordMatches:
    where, params = to_sql(chunk_rule(visibility), "a")
    [(count, total)] = fetch(_TEXTS.format(where=where), params)
    if not count:
        return NO_MATCHES
    texts = VisibleTexts(int(count), max(float(total or 0) / count, 1.0), 1.0)
    if count > POSTING_BUDGET:
        place = ("chunks", str(connection.settings_dict["NAME"]), room_of(visibility))
        counted = TERM_COUNTS.of(
            place,
            match.terms,
            lambda terms: chunk_index().counts(terms, visibility, most=POSTING_BUDGET + 1),
        )
        match = within_budget(match, counted)
    found: dict[str, Postings] = {}
    for term, columns in zip(match.terms, chunk_index().postings(match.terms, visibility), strict=True):
        keys, words = parse_numbers(*columns)
        if len(keys):
            found[term] = Postings(keys, np.ones(len(keys)), words)
    return join_matches(found, texts)


def _rank_candidates(rows: dict[int, FoundChunk], scores: dict[int, float]) -> list[Candidate]:
    by_word = {key: rank for rank, key in enumerate(sorted(scores, key=lambda k: (-scores[k], k)), start=1)}
    near = sorted((key for key, row in rows.items() if row.cosine), key=lambda k: (-rows[k].cosine, k))
    by_vector = {key: rank for rank, key in enumerate(near, start=1)}
    return [
        Candidate(key, scores.get(key, 0.0), row.cosine, by_word.get(key), by_vector.get(key), row.words)
        for key, row in rows.items()
    ]


def _is_relevant(candidate: Candidate, row: FoundChunk, question: Question, *, has_vector: bool) -> bool:
    if has_vector and candidate.vector:
        least = _MIN_COSINE_WITH_WORDS if candidate.keyword else _MIN_COSINE_ALONE
        return candidate.vector >= least
    text = row.content.lower()
    wanted = question.subject_words or frozenset(question.match.terms if question.match else ())
    return bool(wanted) and sum(word in text for word in wanted) >= _MIN_WORD_SHARE * len(wanted)
