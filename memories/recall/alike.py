"""Near-identical memories of an answer: the best one is shown, and says where else it stands."""

from collections.abc import Sequence

from memories.models import Memory
from memories.search.query_terms import words

ALIKE_REASON = "a better one has the same words"


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
