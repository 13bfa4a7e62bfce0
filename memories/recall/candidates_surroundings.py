"""Where candidates stand: how long each is, and whether it is a turn of a conversation or a text of its own."""

from collections import Counter
from collections.abc import Mapping, Sequence

from memories.recall.candidates import Candidate
from memories.search.base import RankingFields

CHARS_PER_WORD = 10  # at most: scripts without spaces, addresses and the like are no one-word texts


def look_around(candidates: Sequence[Candidate], rows: Mapping[int, RankingFields]) -> list[Candidate]:
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
