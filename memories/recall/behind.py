"""Events behind a summary in an answer: the part of each that answers, and those of one summary together."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from django.db.models import prefetch_related_objects

from access.visibility import Visibility
from memories.embedding import Encoder
from memories.language.cleaning import fold
from memories.models import Memory
from memories.queries.labels import label_of
from memories.queries.visibility import sees
from memories.recall.budget import FittedAnswer, Frame, Notes, Portion, count_tokens
from memories.recall.choosing import READ_CHARS, Excerpts, in_time

# Of an event behind a summary, around the sentence with most of the question's words.
_PASSAGE_CHARS: Final = 400
_MANY_CHARS: Final = 100


def passages(memories: Sequence[Memory], excerpts: Excerpts, *, are_many: bool) -> dict[int, str]:
    """What is shown of the long events behind summaries, by their keys; less where many are wanted."""
    room = _MANY_CHARS if are_many else _PASSAGE_CHARS
    return {
        memory.key: excerpts.part_of(memory.content, room, read_chars=READ_CHARS)
        for memory in memories
        if memory.summary_id is not None and len(memory.content) > room
    }


def find_summaries(memories: Sequence[Memory], visibility: Visibility) -> dict[int, Memory]:
    """The summary that lists each of the events, by the events' keys: the month's, where weeks are behind it."""
    behind = [memory for memory in memories if memory.summary_id is not None]
    prefetch_related_objects(behind, "summary__group", "summary__summary__group")
    is_seen = sees(replace(visibility, without_sources=frozenset()))
    listed = {memory.key: memory.summary.summary or memory.summary for memory in behind if memory.summary}
    return {key: summary for key, summary in listed.items() if is_seen(summary)}


def fold_into_summaries(
    fitted: FittedAnswer, summaries: Mapping[int, Memory], frame: Frame, notes: Notes, encoder: Encoder | None
) -> tuple[FittedAnswer, dict[int, list[Memory]]]:
    """The answer with one portion in the place of several events of one summary, and those events by the summary's key.

    It stands where the best of them stood, and says what the answer shows of each, oldest first, equal texts once. Each text
    has its day; the year is the summary's. An event that the answer warns about stands alone.
    """

    def shown_for(event: Memory) -> Memory:
        summary = summaries.get(event.key, event)
        is_plain = label_of(event) in ("", label_of(summary)) and not notes.conflicts.get(event.key)
        return summary if is_plain else event

    together: dict[int, list[Portion]] = {}
    for portion in fitted.portions:
        together.setdefault(shown_for(portion.memory).key, []).append(portion)
    portions, events = list[Portion](), dict[int, list[Memory]]()
    for key, own in together.items():
        if len(own) == 1:
            portions += own
            continue
        summary, text = summaries[own[0].memory.key], _tell(own)
        of_each = [(portion.memory, *notes.alike.get(portion.memory.key, ())) for portion in own]
        events[key] = [event for equals in of_each for event in equals]
        tokens = count_tokens(f"{replace(notes, events=events).show(summary, text)}\n", encoder)
        portions.append(Portion(summary, text, tokens, any(portion.is_cut for portion in own)))
    around = replace(frame, count=len(portions), is_cut=any(portion.is_cut for portion in portions))
    around = replace(around, left_out=len(fitted.left_out))
    tokens = around.tokens(encoder) + sum(portion.tokens for portion in portions)
    return replace(fitted, portions=portions, tokens=tokens), events


def _tell(portions: Sequence[Portion]) -> str:
    said: dict[str, tuple[str, list[str]]] = {}
    for portion in sorted(portions, key=lambda portion: in_time(portion.memory)):
        moment = portion.memory.moment
        said.setdefault(fold(portion.text), (portion.text, []))[1].append(f"{moment.day} {moment:%b}")
    return "\n".join(f"{', '.join(dict.fromkeys(days))}: {text}" for text, days in said.values())
