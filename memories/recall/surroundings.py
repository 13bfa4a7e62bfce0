"""Where candidates stand: how long each is, and whether it is a turn of a conversation or a text of its own."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from memories.recall.candidates import Candidate
from memories.recall.judged import Judged

CHARS_PER_WORD = 10  # at most: scripts without spaces, addresses and the like are no one-word texts


def look_around(candidates: Sequence[Candidate], rows: Mapping[int, Judged]) -> list[Candidate]:
    """Give the candidates with their length and place filled in. `rows` has each one's memory; asks nothing more."""
    threads = Counter(rows[c.key].thread_id for c in candidates)
    return [
        replace(
            c,
            words=word_count(rows[c.key].content),
            is_turn=_is_turn(rows[c.key], threads[rows[c.key].thread_id]),
        )
        for c in candidates
    ]


def word_count(text: str) -> int:
    """Count words; a text without spaces counts by its characters."""
    return max(len(text.split()), len(text) // CHARS_PER_WORD)


def _is_turn(row: Judged, thread_candidates: int) -> bool:
    """Say whether something stands beside it in its thread: something came before, or another one is a candidate."""
    return row.thread_id is not None and bool(row.position or thread_candidates > 1)
