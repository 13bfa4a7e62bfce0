"""Candidates: what both searches find inside the Visibility, each with its true score in both."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from access.visibility import Visibility
from memories.recall.question import Question
from memories.recall.trace import Trace
from memories.search.base import HybridHits, RankingFields, SearchIndex

CHARS_PER_WORD = 10  # at most: scripts without spaces, addresses and the like are no one-word texts


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


def add_lengths_and_turns(
    candidates: Sequence[Candidate], rows: Mapping[int, RankingFields]
) -> list[Candidate]:
    """Give the candidates with their length and place filled in. `rows` has each one's memory; asks nothing more."""
    threads = Counter(rows[c.key].thread_id for c in candidates)
    looked_at = []
    for c in candidates:
        row = rows[c.key]
        looked_at.append(Candidate(*c[:5], word_count(row.content), _is_turn(row, threads[row.thread_id])))
    return looked_at


def word_count(text: str) -> int:
    """Count words; a text without spaces counts by its characters."""
    words = text.count(" ") + 1 if _is_even(text) else len(text.split())
    return max(words, len(text) // CHARS_PER_WORD)


def _is_even(text: str) -> bool:
    """Say whether single spaces stand between the words and nowhere else: then counting them is five times as quick.

    Whatever else an ASCII text is parted at cannot be printed.
    """
    if not text.isascii() or text[:1] in ("", " ") or text[-1] == " ":
        return False
    return text.isprintable() and "  " not in text


def _is_turn(row: RankingFields, thread_candidates: int) -> bool:
    """Say whether something stands beside it in its thread: something came before, or another one is a candidate."""
    return row.thread_id is not None and bool(row.position or thread_candidates > 1)
