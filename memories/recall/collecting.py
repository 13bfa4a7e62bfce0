"""Questions whose answer is many memories: of a kind of thing, of a time, or about the person who asks."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Final

from django.contrib.auth import get_user_model

from access.actor import Actor
from memories.language.word_forms import root
from memories.language.word_tables import parse_words, read_sections
from memories.models import Memory

MAX_QUESTION_CHARS: Final = 600  # a longer text is not a question of these forms
MAX_SENTENCES: Final = 6
_PARTS: Final = {
    "{things}": r"(?:(?:the|our|my|your|their|of|active|current|different|various|other) )*(?:[\w-]+ )??({count})",
    "{count}": r"(?!(?:times|seconds|minutes|hours|days|weeks|months|years|euros|dollars|people)\b){plural}",
    "{end}": r"(?: in (?:all|total)| altogether| currently| now| right now| at the moment| so far)?\W*$",
    "{plural}": r"(?:people|children|men|women|(?!news\b)[\w'’-]*[^\W\ds](?<![ui])s)",
    "{who}": r"(?:(?:we|i|you|they|he|she|both|everybody|everyone)\b|(?:our|my|the) (?:team|group)\b|(?-i:[A-Z])[\w'’-]*)",
}
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+")
_SPACE: Final = re.compile(r"\s+")


class Collects(StrEnum):
    """Whether a question collects, and the order of its answer."""

    NOTHING = ""
    BEST_FIRST = "best first"
    OLDEST_FIRST = "oldest first"


def _compile(polite: Sequence[str], forms: Sequence[str]) -> re.Pattern[str]:
    """One pattern of all forms, at the beginning of a sentence after any polite words."""
    alternatives = "|".join(forms)
    for name, pattern in _PARTS.items():
        alternatives = alternatives.replace(name, pattern)
    return re.compile(rf"[¿¡]?(?:(?:{'|'.join(polite)})\b,? ?){{0,4}}(?:{alternatives})(?!\w)", re.I)


_TABLE: Final = read_sections("collecting")
_IN_ORDER, _MANY, _ONESELF = (
    _compile(_TABLE["polite"], _TABLE[name]) for name in ("in order", "many", "oneself")
)
# One by one: each has its thing as its only group.
_ALL: Final = [_compile(_TABLE["polite"], [form]) for form in _TABLE["all"]]


@dataclass(frozen=True)
class _Collecting:
    """What a question collects: all of a `thing` (the root of its name), or what is told of the person who asks."""

    collects: Collects = Collects.NOTHING
    thing: str = ""
    is_oneself: bool = False


def read_collecting(question: str) -> _Collecting:
    """Whether the question asks for many memories, of what, and whether in their order in time."""
    if len(question) > MAX_QUESTION_CHARS:
        return _Collecting()
    sentences = _SENTENCE.split(_SPACE.sub(" ", question.strip()))[:MAX_SENTENCES]

    def find(pattern: re.Pattern[str]) -> re.Match[str] | None:
        return next(filter(None, map(pattern.match, sentences)), None)

    things = (root(found[1].lower()) for form in _ALL if (found := find(form)))
    collecting = _Collecting(Collects.BEST_FIRST, next(things, ""), is_oneself=find(_ONESELF) is not None)
    if find(_IN_ORDER):
        return replace(collecting, collects=Collects.OLDEST_FIRST)
    is_many = collecting.thing or collecting.is_oneself or find(_MANY)
    return collecting if is_many else _Collecting()


# What a statement of a person says of that person.
_OWN: Final = re.compile(r"\bI(?:['’](?:m|ve|d|ll)\b| [a-z])|\b(?:[Mm]y|[Mm]e|[Mm]ine|[Mm]yself)\b")
_OF_THE_USER: Final = re.compile(
    rf"(?:^|[.!?:]\s+)the user(?:['’]s)?\b|(?:^|[.!?:]\s+)user(?:['’]s| (?:{'|'.join(sorted(parse_words(_TABLE['the user'])))})\b)",
    re.I,
)
_SELF_WORDS: Final = ("i", "my", "me", "user")
# Near in meaning to what went wrong, and to statements of a person
WRONG_TEXT: Final = "problem, failure, outage, crash, loss"
SELF_TEXT: Final = "I am, I like, I prefer, I work, I live, my name, my family"


@dataclass(frozen=True)
class Asker:
    """The person who asks about themselves: the key of the account, None for the operator, and names in lower case."""

    user_id: int | None
    names: tuple[str, ...]
    last_name: str

    @classmethod
    def of(cls, actor: Actor) -> "Asker":
        """The person behind a caller; one query unless it is the operator."""
        users = get_user_model().objects.filter(pk=actor.user_id or 0).values_list("first_name", "last_name")
        first, last = (actor.user_id and users.first()) or ("", "")
        known = dict.fromkeys(filter(None, (first.lower(), actor.name.split("/")[0].lower())))
        return cls(actor.user_id, tuple(known), last.lower())

    @property
    def terms(self) -> tuple[str, ...]:
        """Words of the statements that tell of the person."""
        return (*_SELF_WORDS, *self.names, *filter(None, [self.last_name]))

    def is_told_by(self, memory: Memory, speaker: Collection[str]) -> bool:
        """Whether a memory tells of the person: by name, as the user, or as I in a text of their own."""
        if speaker and not {"user", "human", *self.names}.intersection(speaker):
            return False
        if self._named.search(memory.content):
            return True
        is_own = self.user_id is None or memory.author_id in (None, self.user_id)
        return is_own and bool(_OWN.search(memory.content) or _OF_THE_USER.search(memory.content))

    @cached_property
    def _named(self) -> re.Pattern[str]:
        """A sentence that begins with the name; another last name behind it is another person."""
        names = "|".join(map(re.escape, self.names))
        other = rf"(?! (?!(?i:{re.escape(self.last_name)})\b)[A-Z])" if self.last_name else ""
        return re.compile(rf"(?:^|[.!?:]\s+)(?i:{names})\b{other}")
