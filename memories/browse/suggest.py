"""Search as you type: visible memories by the beginning of a word, despite a typing error, or by meaning.

Suggestions are neither logged nor counted as recalls.
"""

import re
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, NamedTuple
from uuid import UUID

from access.actor import Actor
from access.answers import Answer, Day, ShownAs
from access.errors import InvalidInput, NotFound
from access.groups import find_group
from access.limits.deadline import answering, check_time
from access.visibility import Narrowing, Visibility
from memories.draft import check_range
from memories.embedding import ModelUnavailable
from memories.entities.statements import statements_around, undismissed_links, with_proofs
from memories.language.cleaning import clean_line, without_marks
from memories.language.word_forms import (
    ENDINGS,
    PREFIX_LETTERS,
    allowed_edits,
    early_edits,
    folded_forms,
    is_like,
    is_long,
    nearest,
    query_forms,
    spell_out,
    words_without_forms,
)
from memories.models import Memory, Thread
from memories.queries.versions import find_memory, heads_within
from memories.queries.visibility import EVERY_STATE, EVERY_TRUST, is_visible, listed_by
from memories.search.base import search_index
from memories.search.query_terms import words, words_starting_with
from memories.search.rows import PrefixMatch, read_memories, read_sort_fields
from memories.sessions.conversations import find_conversation, labelled
from memories.store.pieces import available_encoder, indexed_model
from memories.store.withdrawn.left_out import find_left_out, find_left_out_at_home
from memories.types import WITHDRAWN_TRUSTS, State, Trust, Type

EXCERPT_CHARS, LEAD_CHARS = 140, 40
_SEARCHED_CHARS = 20_000  # of a text; a match further on is not shown


class Excerpt(NamedTuple):
    """A line of a text, and the ranges of characters (start, end) in it that match."""

    text: str
    marks: tuple[tuple[int, int], ...]


def excerpt_of(content: str, typed: Sequence[str]) -> Excerpt:
    """The line around the first word that begins like a typed one, whatever accents either has."""
    line = " ".join(content[:_SEARCHED_CHARS].split())
    found = matches(line, typed)
    start = max(0, (found[0][0] if found else 0) - LEAD_CHARS)
    if start:
        start = line.rfind(" ", 0, start + 1) + 1
    end = start + EXCERPT_CHARS
    lead = "…" if start else ""
    shift = len(lead) - start
    marks = tuple((at + shift, to + shift) for at, to in found if start <= at and to <= end)
    return Excerpt(f"{lead}{line[start:end]}{'…' if end < len(line) else ''}", marks)


def matches(text: str, typed: Sequence[str]) -> list[tuple[int, int]]:
    """Where words of the text begin like a typed one, in order, without overlaps."""
    plain, places = _plainly(text)
    words = sorted({_plainly(word)[0] for word in typed} - {""}, key=len, reverse=True)
    if not words:
        return []
    # Scripts without spaces have no beginnings of words; there any place counts.
    pattern = "|".join(rf"\b{re.escape(word)}" if word.isascii() else re.escape(word) for word in words)
    return [(places[found.start()], places[found.end() - 1] + 1) for found in re.finditer(pattern, plain)]


def _plainly(text: str) -> tuple[str, list[int]]:
    """The text in small letters without accents, and for each of its characters the place in the text."""
    letters, places = list[str](), list[int]()
    for at, character in enumerate(text):
        for letter in character.lower() if character.isascii() else spell_out(character):
            letters.append(letter)
            places.append(at)
    return "".join(letters), places


DEFAULT_LIMIT, MAX_LIMIT = 8, 20
MIN_COSINE = 0.47  # of a memory that is shown for its meaning alone
MAX_CHARS = 200
MAX_WORDS = 8
_MAX_THREADS = 3
MAX_FORMS = 32  # pairs of letters, names with signs
_MIN_PREFIX_CHARS = 2  # a tenth of all words begin with the same letter
_MAX_SORTED = 40  # newest matches that are put in order
MAX_COMPARED = 200  # newest memories whose own words are compared
SAFE_STEM_CHARS, MAX_ENDING_CHARS = 4, 5  # letters that stemming keeps, and those that it removes
COMPARED_CHARS = 4_000  # of a text, searched for a word
MAX_SIMILAR = 24  # words searched for instead of a mistyped one
_SORTED_CHARS = 600  # of a text, read to put it in order


class MatchKind(StrEnum):
    """What a memory was found by."""

    ID = "id"
    WORDS = "words"
    SPELLING = "spelling"
    MEANING = "meaning"


@dataclass(frozen=True)
class _Suggestion:
    """A memory that the user may mean: a line of its text with the matches, and what it was found by."""

    memory: Memory
    excerpt: Excerpt
    how: MatchKind

    @property
    def text(self) -> str:
        """The line."""
        return self.excerpt.text


class SuggestionOut(Answer):
    """A suggested memory: a line of its text with the ranges of characters that match, and the kind of match.

    `date` is the day that the memory is valid from, else that it was stored.
    """

    id: Annotated[UUID, ShownAs("memory.id")]
    text: str
    marks: Annotated[tuple[tuple[int, int], ...], ShownAs("excerpt.marks")]
    how: MatchKind
    group: Annotated[str, ShownAs("memory.group.slug")]
    type: Annotated[Type, ShownAs("memory.type")]
    state: Annotated[State, ShownAs("memory.state")]
    trust: Annotated[Trust, ShownAs("memory.trust")]
    date: Annotated[Day, ShownAs("memory.moment")]
    thread: Annotated[str | None, ShownAs("memory.thread.name")]
    source: Annotated[str, ShownAs("memory.source")]


@dataclass(frozen=True)
class _SuggestedThread:
    """A thread that the user may mean: its title, else its name, with the matches."""

    thread: Thread
    excerpt: Excerpt


class SuggestedThreadOut(Answer):
    """A suggested thread: a line of its title, or of its name if it has no title, with the ranges that match."""

    id: Annotated[UUID, ShownAs("thread.id")]
    text: Annotated[str, ShownAs("excerpt.text")]
    marks: Annotated[tuple[tuple[int, int], ...], ShownAs("excerpt.marks")]
    group: Annotated[str, ShownAs("thread.group.slug")]
    date: Annotated[Day, ShownAs(lambda each, _: each.thread.active_at or each.thread.created_at)]


class SuggestedOut(Answer):
    """The memories and the threads that the typed text may mean."""

    items: tuple[SuggestionOut, ...]
    threads: tuple[SuggestedThreadOut, ...]


@answering()
def suggest_threads(actor: Actor, text: str, *, group: str | None = None) -> list[_SuggestedThread]:
    """The thread of this id, or the newest readable ones with the typed words in title or name. Raises as suggest() does."""
    typed = clean_line(text, field="q", max_chars=MAX_CHARS)
    query_words = words(typed)[:MAX_WORDS]
    if len("".join(query_words)) < _MIN_PREFIX_CHARS:
        return []
    try:
        rows = [find_conversation(actor, typed)]
    except (InvalidInput, NotFound):
        rows = [*labelled(actor, query_words, group)[:_MAX_THREADS]]
    return [_SuggestedThread(row, excerpt_of(row.label, query_words)) for row in rows]


@answering()
def suggest(
    actor: Actor,
    text: str,
    *,
    group: str | None = None,
    limit: int = DEFAULT_LIMIT,
    by_meaning: bool = False,
    narrowing: Narrowing | None = None,
    states: frozenset[str] = EVERY_STATE,
) -> list[_Suggestion]:
    """Visible memories in any state, unless narrowed, that the typed text may mean, likeliest first.

    By words and, if these find nothing, by words of similar spelling. With `by_meaning` by meaning alone: it needs the
    model, and callers request it when the user pauses.

    Raises:
        InvalidInput: the text or the limit is not allowed.
        OutOfTime: it takes longer than ANSWER_S, or the caller has gone.
        GroupNotFound, NotPermitted: the group is missing or closed to the actor.
    """
    check_range(limit, 1, MAX_LIMIT, field="limit")
    typed = clean_line(text, field="q", max_chars=MAX_CHARS)
    # Agents are not shown withdrawn texts, so the words of these find nothing either.
    trusts = EVERY_TRUST if actor.is_person else EVERY_TRUST - WITHDRAWN_TRUSTS
    states = states if actor.is_person else states - {State.RETRACTED}
    found = find_group(actor, group) if group else None
    visibility = listed_by(actor, found, narrowing=narrowing, states=states, trusts=trusts)
    with suppress(InvalidInput, NotFound):
        key = find_memory(actor, typed).key
        if named := _to_suggestions([key], [], MatchKind.ID, visibility, 1):
            return named
    query_words = words(typed)[:MAX_WORDS]
    if by_meaning:
        keys = _find_by_meaning(typed, visibility, limit)
        return _to_suggestions(keys, [], MatchKind.MEANING, visibility, limit)
    forms = query_forms(typed)[:MAX_FORMS]
    if forms:
        keys = _find_by_forms(text.lower(), forms, visibility)
        return _to_suggestions(keys, typed.lower().split(), MatchKind.WORDS, visibility, limit)
    if not query_words or (len(query_words) == 1 and len(query_words[0]) < _MIN_PREFIX_CHARS):
        return []
    is_unfinished = len(query_words[-1]) >= _MIN_PREFIX_CHARS and text[-1:].isalnum()
    keys = find_by_words(query_words, visibility, is_unfinished=is_unfinished, limit=limit)
    if keys:
        return _to_suggestions(keys, query_words, MatchKind.WORDS, visibility, limit)
    keys, spellings = _find_by_spelling(query_words, visibility)
    return _to_suggestions(keys, spellings, MatchKind.SPELLING, visibility, limit)


# By words


def find_by_words(
    query_words: Sequence[str], visibility: Visibility, *, is_unfinished: bool, limit: int
) -> list[int]:
    """Keys of memories with all the words; an unfinished last word may be a beginning."""
    exact = [[word, *folded_forms(word)] for word in query_words]
    keys = search_index().find_newest(exact, visibility, limit=_MAX_SORTED)
    # A whole word is found faster than a beginning; "the" alone fills the list.
    if not is_unfinished or len(keys) >= _MAX_SORTED:
        return keys
    last = query_words[-1]
    looks_inflected = last.endswith(ENDINGS)  # the index removes apparent endings: "pos" begins like "po"
    begun = search_index().find_newest(
        [*exact[:-1], [f"{form}*" for form in exact[-1]]],
        visibility,
        limit=MAX_COMPARED if looks_inflected else _MAX_SORTED,
    )
    if looks_inflected:
        begun = _with_own_words(begun, [_strip_accents(last)], bool, read_as=_strip_accents)
    keys = list(dict.fromkeys([*keys, *begun]))
    if len(keys) < limit and len(last) > SAFE_STEM_CHARS:
        # The index holds stems: no stem of "deployment" begins with "deploym".
        stem = last[: max(SAFE_STEM_CHARS, len(last) - MAX_ENDING_CHARS)]
        wider = search_index().find_newest([*exact[:-1], [f"{stem}*"]], visibility, limit=MAX_COMPARED)
        keys = list(dict.fromkeys([*keys, *_with_own_words(wider, [last], bool)]))
    return keys


def _find_by_forms(typed: str, forms: Sequence[str], visibility: Visibility) -> list[int]:
    """Keys of memories with everything that was typed, if some of it is not a word of the index: `C++`, 端口, an emoji."""
    beside = [[word] for word in words(words_without_forms(typed))[:MAX_WORDS]]
    if beside and typed.endswith(beside[-1][0]):
        beside[-1].append(f"{beside[-1][0]}*")
    return search_index().find_newest(beside, visibility, forms=forms, limit=_MAX_SORTED)


def _with_own_words(
    keys: Sequence[int],
    beginnings: Sequence[str],
    fits: Callable[[Collection[str]], bool],
    *,
    read_as: Callable[[str], str] = str,
) -> list[int]:
    """The keys whose memory's words with one of these beginnings fit; `read_as` normalises each text first."""
    check_time()
    looks = read_sort_fields(keys, COMPARED_CHARS)
    known = (key for key in keys if key in looks)
    return [key for key in known if fits(words_starting_with(read_as(looks[key].content), beginnings))]


def _strip_accents(text: str) -> str:
    return text if text.isascii() else without_marks(text)


# By spelling


def _find_by_spelling(query_words: Sequence[str], visibility: Visibility) -> tuple[list[int], list[str]]:
    """Keys of memories with words of similar spelling, and these words.

    Most errors are late in a word: words that differ in their beginning are searched for only if those bring nothing.
    """
    spellings = [similar_words(word, visibility) for word in query_words]
    is_any_similar = any(len(each) > 1 for each in spellings)
    keys = search_index().find_newest(spellings, visibility, limit=_MAX_SORTED) if is_any_similar else []
    keys = keys or _find_by_own_words(query_words, visibility)
    if not keys:
        spellings = [[*each, *early_edits(each[0])] if is_long(each[0]) else each for each in spellings]
        keys = search_index().find_newest(spellings, visibility, limit=_MAX_SORTED)
    return keys, [word for each in spellings for word in each]


def _find_by_own_words(query_words: Sequence[str], visibility: Visibility) -> list[int]:
    """Keys of the newest memories whose own words, not their stems, are similar to the typed ones."""
    typed = [word for word in query_words if is_long(word)]
    if not typed:
        return []
    wide = [[f"{word[:PREFIX_LETTERS]}*"] if is_long(word) else [word] for word in query_words]
    if not is_long(query_words[-1]) and len(query_words[-1]) >= _MIN_PREFIX_CHARS:
        wide[-1] = [f"{query_words[-1]}*"]
    keys = search_index().find_newest(wide, visibility, limit=MAX_COMPARED)

    def has_all(own: Collection[str]) -> bool:
        return all(any(is_like(word, other) for other in own) for word in typed)

    return _with_own_words(keys, [word[:PREFIX_LETTERS] for word in typed], has_all)


def similar_words(word: str, visibility: Visibility) -> list[str]:
    """The word and the words of visible texts that are spelled like it, nearest first."""
    if not is_long(word):
        return [word]
    edits = allowed_edits(word)
    index = search_index()
    terms = index.read_index_words(
        word[:PREFIX_LETTERS],
        visibility,
        shortest=max(PREFIX_LETTERS, len(word) - edits - PREFIX_LETTERS),
        longest=len(word) + edits,
    )
    alike = nearest(word, terms, edits=edits)
    return list(dict.fromkeys([word, *index.keep_visible_words(alike, visibility, limit=MAX_SIMILAR)]))


# By meaning


def _find_by_meaning(typed: str, visibility: Visibility, limit: int) -> list[int]:
    """Keys of the memories closest in meaning, from MIN_COSINE on; none without the index's model."""
    encoder = available_encoder()
    if encoder is None or indexed_model() not in ("", encoder.model_id) or not typed:
        return []
    try:
        hits = search_index().nearest(encoder.encode_query(typed), visibility, limit=limit)
    except ModelUnavailable:
        return []
    return [hit.key for hit in hits if encoder.model.question_cosine(hit.score) >= MIN_COSINE]


# Suggestions


def _to_suggestions(
    keys: Sequence[int], query_words: Sequence[str], how: MatchKind, visibility: Visibility, limit: int
) -> list[_Suggestion]:
    """The first memories in the order of `keys`, or with words, those that fit them best.

    Memories that left the Visibility after the search are left out.
    """
    if query_words:
        looks = read_sort_fields(keys, _SORTED_CHARS)
        keys = sorted(looks, key=lambda key: fit(looks[key], query_words), reverse=True)
    check_time()
    rows = read_memories(keys[:limit])
    # What was withdrawn is found in its state; the same text elsewhere, or in other dress, is not shown.
    foreign = [row for row in rows.values() if row.group_id not in (visibility.groups or ())]
    counted = (
        row for row in rows.values() if row.state != State.RETRACTED and row.trust not in WITHDRAWN_TRUSTS
    )
    hidden = find_left_out(foreign, visibility)
    hidden |= set() if how is MatchKind.ID else find_left_out_at_home(counted)
    shown = [rows[key] for key in keys[:limit] if key in rows and key not in hidden]
    memories = [memory for memory in shown if is_visible(memory, visibility)]
    return [_Suggestion(memory, excerpt_of(memory.content, query_words), how) for memory in memories]


def fit(look: PrefixMatch, query_words: Sequence[str]) -> tuple[bool, bool, bool, int, bool, int]:
    """A sort key, greater for a better fit: live, named so, beginning so, number of whole words, pinned, new."""
    own = words(look.content)
    starts = bool(own) and own[0].startswith(query_words[0])
    whole = len(set(own) & set(query_words))
    is_live = look.state == State.LIVE
    return is_live, starts and look.type == Type.ENTITY, starts, whole, bool(look.pinned), look.key


_MAX_BEHIND = 40
_MAX_MENTIONS = 12
TEXTS = frozenset({Type.SEMANTIC, Type.EPISODIC, Type.PROCEDURAL})


@dataclass(frozen=True)
class Behind:
    """A memory and what it has to do with the node: `evidence`, the kind of its link, or `mention`."""

    memory: Memory
    how: str


def memories_behind(actor: Actor, memory: Memory) -> list[Behind]:
    """At most MAX_BEHIND visible memories: evidence first, then links, then texts with all words of an entity's name."""
    found = dict[int, Behind]()

    def note(other: Memory, how: str) -> None:
        if other.root_key != memory.root_key:
            found.setdefault(other.root_key, Behind(other, how))

    for statement in with_proofs(actor, statements_around(actor, memory)):
        for proof in statement.proofs:
            note(proof, "evidence")
    links = undismissed_links(actor, memory)
    ends = [end for link in links for end in (link.source, link.target)]
    heads = heads_within(ends, listed_by(actor, None))
    for link in links:
        for end in {link.source_id, link.target_id} & heads.keys():
            note(heads[end], link.kind)
    if memory.type == Type.ENTITY:
        for mention in find_mentions(actor, memory):
            note(mention, "mention")
    return list(found.values())[:_MAX_BEHIND]


def find_mentions(actor: Actor, entity: Memory) -> list[Memory]:
    """Live texts with all words of the entity's name, as the search box finds them."""
    # The space says that the last word is whole, not the beginning of one.
    narrow, states = Narrowing(types=TEXTS), frozenset({State.LIVE})
    found = suggest(actor, f"{entity.content} ", limit=_MAX_MENTIONS, narrowing=narrow, states=states)
    return [each.memory for each in found if each.how == MatchKind.WORDS]
