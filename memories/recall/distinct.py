"""Chooses what an answer shows: no fillers, no names alone, and equal memories once, with the others named."""

from collections.abc import Sequence

from memories.models import Memory
from memories.recall.abstention import FILLER_REASON, NOTHING_RELEVANT, is_filler
from memories.recall.pipeline import Ranking
from memories.recall.question import Question
from memories.recall.trace import Trace
from memories.search.query_terms import words

ALIKE_REASON = "a better one has the same words"


def choose_answers(
    best: Sequence[Memory],
    ranking: Ranking,
    question: Question,
    limit: int,
    *,
    wants_names: bool,
    has_lines: bool,
) -> tuple[list[Memory], dict[int, list[Memory]]]:
    """The memories that answer, and their equals as in collapse_alike().

    Fillers are left out, and so are names alone that no relation led to, unless names are asked for (`wants_names`) or
    there is nothing else, not even lines of relations (`has_lines`).
    """
    close = [memory for memory in best if not is_filler(memory.key, ranking, question)]
    saying = [memory for memory in close if not memory.is_name_alone]
    if not has_lines:
        saying = [
            memory for memory in close if not memory.is_name_alone or memory.key in ranking.related
        ] or close
    return collapse_alike(close if wants_names else saying, limit=limit)


def collapse_alike(memories: Sequence[Memory], *, limit: int) -> tuple[list[Memory], dict[int, list[Memory]]]:
    """The best `limit` memories of different words, in order, and by their keys those that say the same in a lower place.

    Case and signs do not count; every word and number does, and their order, so that another port is another memory. So do
    the type and the time of an event, which may happen twice.
    """
    shown: dict[tuple[str, ...], Memory] = {}
    alike: dict[int, list[Memory]] = {}
    for memory in memories:
        said = _said_by(memory)
        if said in shown:
            alike.setdefault(shown[said].key, []).append(memory)
        elif len(shown) < limit:
            shown[said] = memory
    return [*shown.values()], alike


def _said_by(memory: Memory) -> tuple[str, ...]:
    """What must be equal: the words, of an event also its day; a text without words is equal to itself only."""
    found = words(memory.content)
    # Sorted words would make "Anna pays Ben" and "Ben pays Anna" one.
    own = tuple(found) if found else (str(memory.id),)
    day = f"{memory.valid_from:%Y-%m-%d %H:%M}" if memory.type == "episodic" and memory.valid_from else ""
    return (memory.type, day, *own)


def trace_left_out(
    chosen: list[Memory], ranking: Ranking, question: Question, *, limit: int, is_found: bool, trace: Trace
) -> None:
    """Record everything that keeps each other candidate out, so that nobody raises a limit in vain."""
    settled = {memory.key for memory in chosen} | trace.dropped.keys()
    for at, (key, _) in enumerate(ranking.scores):
        if key in settled:
            continue
        beyond = [f"beyond the first {limit}"] if at >= limit else []
        filler = [FILLER_REASON] if is_filler(key, ranking, question) else []
        trace.drop(key, " and ".join([*beyond, *filler]) if is_found else NOTHING_RELEVANT)
