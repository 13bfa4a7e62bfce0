"""Candidates: what both searches find inside the Visibility, each with its true score in both."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from django.db.models import Subquery

from access.visibility import Visibility
from memories.index.base import Hit, SearchIndex, Vector
from memories.models import IndexState, Piece
from memories.pieces import as_vector
from memories.recall.query import Question
from memories.recall.trace import Trace

PIECE_BATCH = 500  # keys asked for at once; every database takes that many parameters
# While vectors are made anew by another model there are both; only those of the index's model are compared.
_INDEXED_MODEL = IndexState.objects.filter(name="model").values("value")


@dataclass(frozen=True)
class Candidate:
    """A memory that may be the answer. A score is 0 where the arm does not find it at all; ranks start at 1.

    `words` is its length, `is_turn` says that it stands in a thread beside others: look_around() fills them in.
    """

    key: int
    keyword: float = 0.0
    vector: float = 0.0
    keyword_rank: int | None = None
    vector_rank: int | None = None
    words: int = 0
    is_turn: bool = False


def find_candidates(
    index: SearchIndex, question: Question, visibility: Visibility, *, mode: str, limit: int, trace: Trace
) -> list[Candidate]:
    """Ask both arms for `limit` memories each, and look up each one's score in the arm that did not name it."""
    words = (
        []
        if mode == "vector" or question.match is None
        else index.keyword(question.match, visibility, limit=limit)
    )
    near = (
        []
        if mode == "keyword" or question.vector is None
        else index.nearest(question.vector, visibility, limit=limit)
    )
    trace.add("candidates", keyword=len(words), vector=len(near), limit=limit)
    return merge(
        words,
        near,
        _missing_keyword(index, question, words, near) if words else {},
        _missing_vector(question, words, near) if near else {},
    )


def merge(
    words: list[Hit], near: list[Hit], keyword_of: dict[int, float], vector_of: dict[int, float]
) -> list[Candidate]:
    """Put both arms' hits together with the scores looked up for those that one arm did not name."""
    keyword = {hit.key: hit.score for hit in words} | keyword_of
    vector = {hit.key: hit.score for hit in near} | vector_of
    keyword_rank = {hit.key: rank for rank, hit in enumerate(words, start=1)}
    vector_rank = {hit.key: rank for rank, hit in enumerate(near, start=1)}
    keys = dict.fromkeys([*keyword_rank, *vector_rank])
    return [
        Candidate(
            key, keyword.get(key, 0.0), vector.get(key, 0.0), keyword_rank.get(key), vector_rank.get(key)
        )
        for key in keys
    ]


def vector_scores(keys: Iterable[int], vector: Vector) -> dict[int, float]:
    """Give the cosine of each memory's best piece to `vector` (float32[384]); only for those that have vectors."""
    owners: list[int] = []
    vectors: list[Vector] = []
    wanted = list(keys)
    for start in range(0, len(wanted), PIECE_BATCH):
        rows = Piece.objects.filter(
            memory__in=wanted[start : start + PIECE_BATCH],
            embedding__isnull=False,
            model=Subquery(_INDEXED_MODEL),
        )
        for owner, blob in rows.values_list("memory_id", "embedding"):
            owners.append(owner)
            vectors.append(as_vector(blob))
    if not vectors:
        return {}
    cosines = np.stack(vectors) @ vector
    best: dict[int, float] = {}
    for owner, cosine in zip(owners, cosines.tolist(), strict=True):
        best[owner] = max(best.get(owner, -1.0), cosine)
    return best


def _missing_keyword(
    index: SearchIndex, question: Question, words: list[Hit], near: list[Hit]
) -> dict[int, float]:
    if question.match is None:
        return {}
    known = {hit.key for hit in words}
    return index.keyword_scores(question.match, [hit.key for hit in near if hit.key not in known])


def _missing_vector(question: Question, words: list[Hit], near: list[Hit]) -> dict[int, float]:
    if question.vector is None:
        return {}
    known = {hit.key for hit in near}
    return vector_scores([hit.key for hit in words if hit.key not in known], question.vector)
