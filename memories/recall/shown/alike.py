"""Memories that say the same: an answer has one of them, which names the others."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from access.limits.deadline import check_time
from memories.language.cleaning import fold
from memories.language.dress import undressed
from memories.language.function_words import bearing_words
from memories.language.same_fact import MAX_COMPARED_CHARS, Sameness, compare
from memories.models import Memory
from memories.models.short_id import short_id
from memories.types import Trust, Type

MAX_NAMED: Final = 5  # others that the text names
BEGINNING_CHARS: Final = 60
COMPARED_CHARS: Final = 240  # whose first words must agree before two texts are compared as a whole
COMPARED_WORDS: Final = 8
# Of both texts of all pairs with the same words in one answer; about half a second. Ten answers have a hundredth of it.
MAX_CHARS_OF_PAIRS: Final = 400_000
MAX_THREAD_CHARS: Final = 40
_SIGNED: Final = re.compile(r"(?<![\w.,])[-−+±~<>≤≥]\s?\d[\d.,]*")
_PLAIN: Final = re.compile(rf"[\w.:/@+-]{{1,{MAX_THREAD_CHARS}}}", re.ASCII)  # stands outside the marks
_BEST_TRUST: Final = (Trust.VERIFIED, Trust.ACTIVE)


def collapse_alike(memories: Sequence[Memory], *, limit: int) -> tuple[list[Memory], dict[int, list[Memory]]]:
    """The best `limit` memories that say different things, in order, and by their keys the others that say the same.

    Of equals the most trusted is kept, of those the newest, in the place of the best of them. Case, signs and small words do not
    count; every other word does, and their order, and so do numbers, names and negation. So do the type and the time of an event,
    which may happen twice. Of texts over MAX_COMPARED_CHARS only the white space does not count.
    """
    places: list[list[Memory]] = []
    buckets: dict[tuple[str, ...], list[tuple[FoldedText, list[Memory]]]] = {}
    left = MAX_CHARS_OF_PAIRS
    beginnings = [first_words(memory, BEGINNING_CHARS, 1) for memory in memories]
    often = Counter(beginnings)
    for memory, beginning in zip(memories, beginnings, strict=True):
        check_time()
        # Most texts begin with a word of their own and need no closer look.
        is_alone = often[beginning] == 1
        start = beginning if is_alone else first_words(memory, COMPARED_CHARS, COMPARED_WORDS)
        bucket, text = buckets.setdefault(start, []), FoldedText(memory.content)
        for first, place in bucket:
            is_same = text.has_same_letters(first)
            if not is_same and left > 0 and text.may_say_the_same(first):
                left -= len(text.text) + len(first.text)
                is_same = (
                    compare(first.text, text.text, cosine=1.0, same_cosine=1.0).sameness is Sameness.SAME
                )
            if is_same:
                place.append(memory)
                break
        else:
            if len(places) < limit:
                places.append([memory])
                bucket.append((text, places[-1]))
    chosen, alike = list[Memory](), dict[int, list[Memory]]()
    for place in places:
        kept = min(place, key=preference)
        chosen.append(kept)
        if len(place) > 1:
            alike[kept.key] = [memory for memory in place if memory is not kept]
    return chosen, alike


def first_words(memory: Memory, chars: int, count: int) -> tuple[str, ...]:
    """What equals have in common: type, an event's time, the first words that bear meaning; without words, nothing."""
    found = bearing_words(fold(memory.content[:chars]))[:count]
    is_event = memory.type == Type.EPISODIC and memory.valid_from is not None
    when = f"{memory.valid_from:%Y-%m-%d %H:%M}" if is_event else ""
    return (memory.type, when, *(found or [str(memory.id)]))


class FoldedText:
    """A text with what is compared of it, each part computed at most once in an answer."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.is_long = len(text) > MAX_COMPARED_CHARS

    @cached_property
    def letters(self) -> str:
        """Letters, digits and fact-changing signs; of a long text its words."""
        return " ".join(self.text.split()) if self.is_long else undressed(self.text)

    @cached_property
    def words(self) -> tuple[str, list[str]]:
        """The words that bear meaning, and the numbers with a sign."""
        return " ".join(bearing_words(fold(self.text))), _SIGNED.findall(self.text)

    def has_same_letters(self, other: "FoldedText") -> bool:
        """True if the texts have the same letters and digits."""
        if self.text == other.text:
            return True
        return self.is_long == other.is_long and bool(self.letters) and self.letters == other.letters

    def may_say_the_same(self, other: "FoldedText") -> bool:
        """True if compare() may find the same fact in both: it never does in other words."""
        return not (self.is_long or other.is_long) and self.words == other.words


def preference(memory: Memory) -> tuple[int, bool, float, int]:
    """The order in which equals are kept: the most trusted first, the team's own before one from outside, then the newest."""
    trust = _BEST_TRUST.index(memory.trust) if memory.trust in _BEST_TRUST else len(_BEST_TRUST)
    return trust, memory.outside, -memory.moment.timestamp(), -memory.key


def describe_alike(memory: Memory, others: Sequence[Memory], group: str) -> str:
    """A line that names the equals of a memory, each with its group and thread where they are other ones."""
    named = []
    for other in others[:MAX_NAMED]:
        places = [f"group {other.group.slug}"] if other.group.slug != group else []
        thread = other.thread.name if other.thread and other.thread_id != memory.thread_id else ""
        places += [f"thread {thread}"] if _PLAIN.fullmatch(thread) else []
        where = f" ({', '.join(places)})" if places else ""
        named.append(f"{short_id(other.id)}{where}")
    more = len(others) - len(named)
    return f"Also said in {', '.join(named)}{f' and {more} more' if more else ''}."
