"""A request, and its question understood: words, vector, and the dates and names in it."""

import re
import time
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from typing import Final
from uuid import UUID

from access.actor import Actor
from access.additions import additions
from access.visibility import Narrowing
from memories.draft import check_choice, check_range, check_tags
from memories.embedding import Encoder
from memories.embedding.manifest import MINILM, Model
from memories.embedding.model import QUESTION_S
from memories.language.cleaning import clean_text
from memories.language.dates.spans import NamedTime
from memories.language.dates.written import MONTH_NUMBER, read_times
from memories.language.languages import ENGLISH, language_of, latin_share
from memories.language.word_tables import parse_words, read_sections
from memories.queries.where import check_order
from memories.recall.collecting import SELF_TEXT, WRONG_TEXT, Asker, Collects, read_collecting
from memories.search.query_terms import STOP_WORDS, Match, content_words, identifiers_in, match_for
from memories.search.rows import Vector
from memories.store.pieces import encoder_for_index
from memories.types import Type

MAX_FILTER_CHARS = 1000  # of a thread's or a source's name
_WORK = r"(?:we|i|you|they|things)"
_STATE = re.compile(
    rf"\bwhere (?:are {_WORK} (?:now )?(?:with|on|at|in)|(?:do|does|did|have|has) (?:{_WORK}|\w+) (?:stand|stop|stopped|leave off|left off|got to))\b"
    r"|\b(?:current|latest|present) (?:state|status|progress)\b|(?:\bwhat(?:'s|’s| is) (?:the )?|^(?:the )?)(?:state|status|progress) (?:of|on|with)\b"
    r"|\bhow far (?:are|is|have|has|did)\b|\bhow (?:is|are) \w.* (?:going|coming along|getting on)\b"
    r"|\bwhat(?:'s|’s| is| was| did \w+ leave)? (?:still )?(?:left|missing|open|undone|unfinished|to be done|left to do)\b|\bunfinished\b",
    re.I,
)
_NAME = re.compile(r"\b[A-Z][\w'’-]*\b")
_ENDING = re.compile(r"['’](?:s|m|d|ll|re|ve)$")  # Maria's, I'm
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_WORD = re.compile(r"[^\W_][\w'’-]*")
_OWNED = re.compile(r"['’]s$")
_BEFORE_NAMES = read_sections("before_names")
# In front of a name these say that it is not a person: "the Finnish launch", "around Christmas", "in Boston".
_NO_PERSON_AFTER = parse_words(_BEFORE_NAMES["no person follows"])
_PERSON_AFTER = parse_words(_BEFORE_NAMES["a person follows"])
_DAYS_AND_MONTHS = parse_words(_BEFORE_NAMES["days"]) | MONTH_NUMBER.keys()


@dataclass(frozen=True)
class RecallRequest:
    """A question, or ids to read in full. None takes the setting's default.

    A trial writes no recall log and counts no access: recall itself is examined. `around`: turns come with those
    around them. `everywhere`: in all groups that the caller may enter, in place of one.
    """

    query: str = ""
    ids: tuple[str | UUID, ...] = ()
    group: str | None = None
    narrowing: Narrowing = field(default_factory=Narrowing)
    max_results: int | None = None
    token_budget: int | None = None
    summary_only: bool = False
    explain: bool = False
    mode: str | None = None
    is_trial: bool = False
    around: bool = True
    everywhere: bool = False


@dataclass(frozen=True)
class Question:
    """A question, understood. `match` is None if it has no word to search for.

    `vector` may still be computed; it is None without a model and in mode "keyword". `dates` are the times that it names, in its own
    `time_words`; `is_time_alone` if it asks for nothing else. `asks_wrong`: what went wrong then. `thing` is the root of the
    name of what it `collects` all of, `asker` the person who asks about themselves.
    """

    text: str
    match: Match | None
    vector: Future[Vector] | None
    model: Model = MINILM  # of the vector
    vectors_until: float = 0.0  # by time.monotonic(), when an endpoint's patience ends
    dates: tuple[NamedTime, ...] = ()
    time_words: str = ""
    is_time_alone: bool = False
    names: frozenset[str] = frozenset()
    person_names: frozenset[str] = frozenset()  # of those that may be persons, written with a capital or not
    asks_state: bool = False  # how things stand now: the newest note of a thread answers
    language: str = ENGLISH  # its ISO code
    subject_words: frozenset[str] = frozenset()  # without stop words
    identifiers: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()  # those that name no time
    collects: Collects = Collects.NOTHING
    asks_wrong: bool = False
    thing: str = ""
    asker: Asker | None = None

    @property
    def is_read(self) -> bool:
        """Whether the model reads its language well."""
        return self.model.reads(self.language)

    @cached_property
    def readable(self) -> float:
        """Share (0–1) of it that the model makes something of; of a language it does not read, the Latin letters.

        MiniLM's vector of a German question finds few answers, and yet more than words alone.
        """
        return 1.0 if self.is_read else latin_share(self.text)

    @property
    def asks_for_all(self) -> bool:
        """Whether everything of a kind answers, and not the best of it."""
        return bool(self.thing or self.asker)


def understand(
    text: str,
    *,
    encoder: Encoder | None,
    mode: str = "hybrid",
    actor: Actor | None = None,
    today: date | None = None,
) -> Question:
    """The question with its words, vector, dates and names (lower case). `today` is the asker's, by default the present one.

    No vector in mode "keyword". Without an `actor` it is not known who asks, so a question about oneself is like any other.
    """
    vectors_until = time.monotonic() + QUESTION_S
    read = read_times(text, today=today)
    collecting = read_collecting(text)
    asker = Asker.of(actor) if collecting.is_oneself and actor is not None else None
    match, meant = match_for(text), f"{text} {WRONG_TEXT}" if read.asks_wrong else text
    if asker is not None:
        match, meant = match or Match(()), f"{text} {SELF_TEXT}"
        match = replace(match, terms=(*asker.terms, *match.terms))
    return Question(
        text=text,
        match=match,
        vector=encoder.question_vector(meant) if encoder and mode != "keyword" else None,
        model=encoder.model if encoder else MINILM,
        vectors_until=vectors_until,
        dates=read.times,
        time_words=read.words,
        is_time_alone=read.is_alone,
        names=names_in(text),
        person_names=person_names_in(text),
        asks_state=_STATE.search(text) is not None,
        language=language_of(text),
        subject_words=frozenset(content_words(text)),
        identifiers=identifiers_in(text),
        numbers=tuple(number for number in _NUMBER.findall(text) if number not in read.words),
        collects=collecting.collects or (Collects.BEST_FIRST if read.asks_wrong else Collects.NOTHING),
        asks_wrong=read.asks_wrong,
        thing=collecting.thing,
        asker=asker,
    )


def person_names_in(text: str) -> frozenset[str]:
    """The words that may name a person, in lower case. A capital alone is not proof, and no name needs one.

    A name has a capital that is not the question's first letter; or the whole question is in lower case, and the word
    follows "did", "does" or "has" or owns something ("maria's"). Acronyms are none, nor what follows a determiner or a
    word of place or time.
    """
    has_capitals = any(letter.isupper() for letter in text)
    names = set[str]()
    previous = before = ""  # the word in front, and that in front of the whole name
    is_name_before = False
    begins = len(text) - len(text.lstrip())
    for match in _WORD.finditer(text):
        found = match[0]
        word = _ENDING.sub("", found)
        low, is_capital = word.lower(), found[0].isupper() and match.start() > begins
        if not (is_capital and is_name_before):
            before = previous.lower()
        is_placed = not has_capitals and (before in _PERSON_AFTER or _OWNED.search(found) is not None)
        if (is_placed or (is_capital and not word.isupper())) and before not in _NO_PERSON_AFTER:
            names.add(low)
        previous, is_name_before = found, is_capital
    known = names - STOP_WORDS - _DAYS_AND_MONTHS
    return frozenset(name for name in known if len(name) > 1 and name.isalpha())


def names_in(text: str) -> frozenset[str]:
    """The capitalised words that are neither stop words nor months, in lower case."""
    words = (_ENDING.sub("", word.lower()) for word in _NAME.findall(text))
    return frozenset(w for w in words if w not in STOP_WORDS and w not in MONTH_NUMBER)


def check_narrowing(narrowing: Narrowing) -> None:
    """Raise InvalidInput if a filter's value is not allowed."""
    for type_ in sorted(narrowing.types):
        check_choice(type_, Type.values, field="types")
    if narrowing.scope:
        check_choice(narrowing.scope, ["global", "group"], field="scope")
    check_tags(tuple(narrowing.tags))
    check_range(narrowing.min_confidence, 0, 1, field="min_confidence")
    check_range(narrowing.min_importance, 0, 10, field="min_importance")
    check_order(narrowing)
    for name in ("thread", "source"):
        if value := getattr(narrowing, name):
            clean_text(value, field=name, max_chars=MAX_FILTER_CHARS)


_NOT_READY: Final = "the embedding model is not ready ('loci model verify' says why)"


def without_model() -> str:
    """Why recall goes by words alone, and what is done about it."""
    notes = [describe() for describe in additions("notes on a missing model")]
    return f"keyword only: {next(filter(None, notes), _NOT_READY)}"


def choose_encoder(mode: str, *, is_checked_later: bool = False) -> tuple[Encoder | None, str]:
    """The encoder if there is one for the index, and why recall falls back to keywords if the mode needs one in vain.

    `is_checked_later`: as for encoder_for_index().
    """
    encoder, indexed = encoder_for_index(is_checked_later=is_checked_later)
    if mode == "keyword":
        return encoder, ""
    if encoder is None:
        return None, without_model()
    if indexed not in ("", encoder.model_id):
        return (
            None,
            f"keyword only: the index holds vectors of {indexed}, not of the installed model; install that one again ('loci model install')",
        )
    return encoder, ""
