"""Candidates: the hits of both searches inside the Visibility, each with its true score in both."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from access.visibility import Visibility
from memories.recall.question import Question
from memories.recall.trace import Trace
from memories.recall.weights import CHARS_PER_WORD
from memories.search.base import HybridHits, RankingFields, SearchIndex


class Candidate(NamedTuple):
    """A memory that may be the answer. A score is 0 if that search does not find it at all; ranks start at 1.

    add_lengths_and_turns() fills in `words`, its length, and `is_turn`, whether its thread has others beside it.
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
        """True if a search returned it; False if only a relation led to it."""
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
    """The best `limit` memories of each search, each also scored in the search that did not return it, and their rows.

    Visible ones of the keys `also` are candidates too, whatever their scores.
    """
    found = index.find(
        None if mode == "vector" else question.match,
        None if mode == "keyword" else question.vector,
        visibility,
        limit=limit,
        also=also,
    )
    trace.add("candidates", keyword=len(found.words), vector=len(found.nearest), limit=limit)
    candidates = merge(found)

    def numbers() -> Iterator[tuple[int, dict[str, float]]]:
        for c in candidates:
            ranks = {"keyword_rank": c.keyword_rank, "vector_rank": c.vector_rank}
            found_ranks = {name: rank for name, rank in ranks.items() if rank}
            yield c.key, {"keyword": c.keyword, "vector": c.vector, **found_ranks}

    trace.add_numbers(numbers)
    return candidates, found.rows


def merge(found: HybridHits) -> list[Candidate]:
    """One candidate per memory, from the hits of both searches and the scores looked up for the other one."""
    keyword = dict(found.words) | found.keyword
    vector = dict(found.nearest) | found.vector
    keyword_rank = {hit.key: rank for rank, hit in enumerate(found.words, start=1)}
    vector_rank = {hit.key: rank for rank, hit in enumerate(found.nearest, start=1)}
    keys = dict.fromkeys([*keyword_rank, *vector_rank, *found.extra])
    return [
        Candidate(
            key, keyword.get(key, 0.0), vector.get(key, 0.0), keyword_rank.get(key), vector_rank.get(key)
        )
        for key in keys
    ]


def add_lengths_and_turns(
    candidates: Sequence[Candidate], rows: Mapping[int, RankingFields]
) -> list[Candidate]:
    """The candidates with `words` and `is_turn` filled in from `rows`; no queries.

    A turn has a place after the first in its thread, or another candidate beside it there.
    """
    threads = Counter(rows[c.key].thread_id for c in candidates)
    complete = []
    for c in candidates:
        row = rows[c.key]
        is_turn = row.thread_id is not None and bool(row.position or threads[row.thread_id] > 1)
        complete.append(Candidate(*c[:5], word_count(row.content), is_turn))
    return complete


def word_count(text: str) -> int:
    """Number of words; a text without spaces counts by its characters."""
    words = text.count(" ") + 1 if _is_single_spaced(text) else len(text.split())
    return max(words, len(text) // CHARS_PER_WORD)


def _is_single_spaced(text: str) -> bool:
    """Whether an ASCII text has single spaces between its words and nowhere else.

    Counting them is then five times as fast as splitting; every other white space of ASCII is not printable.
    """
    if not text.isascii() or text[:1] in ("", " ") or text[-1] == " ":
        return False
    return text.isprintable() and "  " not in text
