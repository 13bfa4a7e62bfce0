"""Candidates: what both searches find inside the Visibility, each with its true score in both."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from access.visibility import Visibility
from memories.recall.question import Question
from memories.recall.trace import Trace
from memories.search.base import HybridHits, RankingFields, SearchIndex


class Candidate(NamedTuple):
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

    @property
    def is_found(self) -> bool:
        """True where a search named it; False where only a relation brought it."""
        return self.keyword_rank is not None or self.vector_rank is not None


def find_candidates(
    index: SearchIndex,
    question: Question,
    visibility: Visibility,
    *,
    mode: str,
    limit: int,
    also: Collection[int] = (),
    trace: Trace,
) -> tuple[list[Candidate], Mapping[int, RankingFields]]:
    """Ask both arms for `limit` memories each, and look up each one's score in the arm that did not name it.

    The visible ones of the keys `also` are candidates too, whatever they score. Gives the rows of all of them as well.
    """
    found = index.find(
        None if mode == "vector" else question.match,
        None if mode == "keyword" else question.vector,
        visibility,
        limit=limit,
        also=also,
    )
    trace.add("candidates", keyword=len(found.words), vector=len(found.near), limit=limit)
    candidates = merge(found)
    trace.score(lambda: ((c.key, _told(c)) for c in candidates))
    return candidates, found.rows


def merge(found: HybridHits) -> list[Candidate]:
    """Put both arms' hits together with the scores looked up for those that one arm did not name."""
    keyword = dict(found.words) | found.keyword
    vector = dict(found.near) | found.vector
    keyword_rank = {hit.key: rank for rank, hit in enumerate(found.words, start=1)}
    vector_rank = {hit.key: rank for rank, hit in enumerate(found.near, start=1)}
    keys = dict.fromkeys([*keyword_rank, *vector_rank, *found.beside])
    return [
        Candidate(
            key, keyword.get(key, 0.0), vector.get(key, 0.0), keyword_rank.get(key), vector_rank.get(key)
        )
        for key in keys
    ]


def _told(c: Candidate) -> dict[str, float]:
    ranks = {"keyword_rank": c.keyword_rank, "vector_rank": c.vector_rank}
    return {"keyword": c.keyword, "vector": c.vector, **{k: v for k, v in ranks.items() if v}}
