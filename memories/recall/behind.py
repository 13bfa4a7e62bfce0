"""Events behind a summary in an answer: the part that answers, and where many are wanted, those of one summary together."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from access.visibility import Visibility
from memories.language.cleaning import fold
from memories.models import Memory
from memories.queries.visibility import sees
from memories.recall.choosing import READ_CHARS, ChosenMemories, Excerpts, in_time
from memories.search.rows import read_memories

# Of an event behind a summary, around the sentence with most of the question's words.
_PASSAGE_CHARS: Final = 400
_MANY_CHARS: Final = 140


def passages(memories: Sequence[Memory], excerpts: Excerpts, *, are_many: bool) -> dict[int, str]:
    """What is shown of the long events behind summaries, by their keys; less where many are wanted."""
    room = _MANY_CHARS if are_many else _PASSAGE_CHARS
    return {
        memory.key: excerpts.part_of(memory.content, room, read_chars=READ_CHARS)
        for memory in memories
        if memory.summary_id is not None and len(memory.content) > room
    }


def fold_into_summaries(
    chosen: ChosenMemories, parts: Mapping[int, str], visibility: Visibility
) -> tuple[ChosenMemories, dict[int, str], dict[int, list[Memory]]]:
    """The chosen memories with one summary in the place of the events behind it, what is shown of each, and those events.

    Where several events of one summary are chosen: it says their passages, oldest first, equal ones once. One query.
    """
    behind: dict[int, list[Memory]] = {}
    for memory in chosen.memories:
        if memory.summary_id is not None:
            behind.setdefault(memory.summary_id, []).append(memory)
    several = {key for key, events in behind.items() if len(events) > 1}
    is_seen = sees(replace(visibility, without_sources=frozenset()))
    summaries = {key: row for key, row in read_memories(several).items() if is_seen(row)}
    scores, shown = dict(chosen.ranking.scores), dict(parts)
    folded = dict[int, Memory]()
    for memory in chosen.memories:
        summary = summaries.get(memory.summary_id or 0, memory)
        if folded.setdefault(summary.key, summary) is not summary:
            continue
        if summary is not memory:
            scores[summary.key] = scores[memory.key]
            shown[summary.key] = _tell(behind[summary.key], parts)
    ranking = replace(chosen.ranking, scores=list(scores.items()))
    told = {key: behind[key] for key in summaries}
    return replace(chosen, memories=list(folded.values()), ranking=ranking), shown, told


def _tell(events: Sequence[Memory], parts: Mapping[int, str]) -> str:
    """The passages of some events with their days, oldest first."""
    said: dict[str, tuple[str, list[str]]] = {}
    for event in sorted(events, key=in_time):
        text = parts.get(event.key, event.content)
        said.setdefault(fold(text), (text, []))[1].append(f"{event.moment:%Y-%m-%d}")
    return "\n".join(f"[{', '.join(dict.fromkeys(days))}] {text}" for text, days in said.values())
