"""Search as one types: memories that one may see, by the beginning of a word, despite a typing fault, or by meaning.

Nothing is logged and nothing counted as recalled: letters on their way to a question are no question.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from access.actor import Actor
from access.errors import InvalidInput, NotFound
from access.groups import find_group
from access.visibility import Visibility
from memories.draft import check_range
from memories.language.cleaning import clean_line, without_marks
from memories.language.spelling import (
    ENDINGS,
    KEPT_LETTERS,
    allowed_edits,
    early_edits,
    is_like,
    is_long,
    nearest,
)
from memories.language.word_forms import sought_in, words_beside
from memories.models import Memory
from memories.queries.by_key import read_shown
from memories.queries.versions import find_memory
from memories.queries.visibility import EVERY_TRUST, is_visible, listed_by
from memories.search.base import search_index
from memories.search.query_terms import words, words_with
from memories.search.sqlite.prefix import PrefixMatch, beginnings_of, looks_of, newest_with, words_between
from memories.store.pieces import available_encoder, indexed_model
from memories.types import State, Trust, Type

DEFAULT_LIMIT, MAX_LIMIT = 8, 20
RELATED = 0.47  # the cosine from which a memory is shown for its meaning alone
MAX_CHARS = 200
MAX_WORDS = 8
MAX_FORMS = 32  # pairs of letters, names with signs
LEAST_PREFIX = 2  # letters; one alone begins a tenth of all words
WINDOW = 40  # newest matches that are put in order
LOOKED_AT = 200  # newest memories whose own words are compared
SAFE_STEM, LONGEST_ENDING = 4, 5  # letters that stemming leaves alone, and that it takes off
CHECKED_CHARS = 4_000  # of a text, searched for a word
MAX_TERMS = 400  # words with the same beginning that are compared
MAX_SIMILAR = 24  # words searched for in the place of a mistyped one
FITTED_CHARS = 600  # of a text, looked at to put it in order
SNIPPET_CHARS, SNIPPET_LEAD = 140, 40


class MatchKind(StrEnum):
    """By what a memory was found."""

    ID = "id"
    WORDS = "words"
    SPELLING = "spelling"
    MEANING = "meaning"


@dataclass(frozen=True)
class Suggestion:
    """A memory that may be meant: a line of its text, and by what it was found."""

    memory: Memory
    text: str
    how: MatchKind


def suggest(
    actor: Actor, text: str, *, group: str | None = None, limit: int = DEFAULT_LIMIT, by_meaning: bool = False
) -> list[Suggestion]:
    """Give memories in any state that the actor may see and that what was typed may mean, the likeliest first.

    By words and, where these find too few, by words that are spelt nearly so. With `by_meaning` by meaning alone: it
    takes the model, and is asked for when somebody pauses.

    Raises:
        InvalidInput: the text or the limit is not allowed.
        GroupNotFound, NotPermitted: the group is at fault.
    """
    check_range(limit, 1, MAX_LIMIT, field="limit")
    typed = clean_line(text, field="q", max_chars=MAX_CHARS)
    # An agent is not shown a quarantined text, so its words lead nowhere either.
    trusts = EVERY_TRUST if actor.is_person else EVERY_TRUST - {Trust.QUARANTINED}
    visibility = listed_by(actor, find_group(actor, group) if group else None, trusts=trusts)
    named = _by_id(actor, typed, visibility)
    if named:
        return named
    asked = words(typed)[:MAX_WORDS]
    if by_meaning:
        return _shown(_by_meaning(typed, visibility, limit), [], MatchKind.MEANING, visibility, limit)
    formed = sought_in(typed)[:MAX_FORMS]
    if formed:
        keys = _by_forms(text.lower(), formed, visibility)
        return _shown(keys, typed.lower().split(), MatchKind.WORDS, visibility, limit)
    if not asked or (len(asked) == 1 and len(asked[0]) < LEAST_PREFIX):
        return []
    is_unfinished = len(asked[-1]) >= LEAST_PREFIX and text[-1:].isalnum()
    keys = _by_words(asked, visibility, is_unfinished=is_unfinished, limit=limit)
    if keys:
        return _shown(keys, asked, MatchKind.WORDS, visibility, limit)
    return _by_spelling(asked, visibility, limit)


def _by_words(asked: Sequence[str], visibility: Visibility, *, is_unfinished: bool, limit: int) -> list[int]:
    """Give the keys of memories with all the words, the last of which may be a beginning."""
    exact = [[word] for word in asked]
    keys = newest_with(exact, visibility, limit=WINDOW)
    # A whole word is found in less time than a beginning; "the" alone fills the window.
    if not is_unfinished or len(keys) >= WINDOW:
        return keys
    last = asked[-1]
    is_cut = last.endswith(ENDINGS)  # the index takes what looks like an ending off: "pos" begins like "po"
    begun = newest_with([*exact[:-1], [f"{last}*"]], visibility, limit=LOOKED_AT if is_cut else WINDOW)
    keys = _united(keys, _having(begun, [_bare(last)], bool, read_as=_bare) if is_cut else begun)
    if len(keys) < limit and len(last) > SAFE_STEM:
        # The index holds stems: of "deployment" nothing is left that begins with "deploym".
        stem = last[: max(SAFE_STEM, len(last) - LONGEST_ENDING)]
        wider = newest_with([*exact[:-1], [f"{stem}*"]], visibility, limit=LOOKED_AT)
        keys = _united(keys, _having(wider, [last], bool))
    return keys


def _by_forms(typed: str, formed: Sequence[str], visibility: Visibility) -> list[int]:
    """Give the keys of memories with all that was typed where some of it is no word of the index: `C++`, 端口, an emoji."""
    beside = [[word] for word in words(words_beside(typed))[:MAX_WORDS]]
    if beside and typed.endswith(beside[-1][0]):
        beside[-1].append(f"{beside[-1][0]}*")
    return newest_with(beside, visibility, forms=formed, limit=WINDOW)


def _united(keys: Sequence[int], more: Sequence[int]) -> list[int]:
    return list(dict.fromkeys([*keys, *more]))


def _having(
    keys: Sequence[int],
    beginnings: Sequence[str],
    fits: Callable[[Collection[str]], bool],
    *,
    read_as: Callable[[str], str] = str,
) -> list[int]:
    """Give those of the keys whose memory's words with one of these beginnings fit; `read_as` says what a text is taken for."""
    texts = beginnings_of(keys, CHECKED_CHARS)
    return [key for key in keys if key in texts and fits(words_with(read_as(texts[key]), beginnings))]


def _bare(text: str) -> str:
    """Give a text without its accents; most have none."""
    return text if text.isascii() else without_marks(text)


def _by_id(actor: Actor, typed: str, visibility: Visibility) -> list[Suggestion]:
    """Give the memory whose id was typed."""
    try:
        memory = find_memory(actor, typed)
    except (InvalidInput, NotFound):
        return []
    return _shown([memory.key], [], MatchKind.ID, visibility, 1)


def _by_spelling(asked: Sequence[str], visibility: Visibility, limit: int) -> list[Suggestion]:
    """Look for words that differ late, which are the most, and only then for those that differ in their beginning."""
    late = [similar_words(word) for word in asked]
    keys = newest_with(late, visibility, limit=WINDOW) if any(len(group) > 1 for group in late) else []
    keys = keys or _alike(asked, visibility)
    if not keys:
        late = [[*group, *early_edits(group[0])] if is_long(group[0]) else group for group in late]
        keys = newest_with(late, visibility, limit=WINDOW)
    return _shown(keys, [word for group in late for word in group], MatchKind.SPELLING, visibility, limit)


def _alike(asked: Sequence[str], visibility: Visibility) -> list[int]:
    """Give the newest memories whose own words, not their stems, are nearly what was typed."""
    typed = [word for word in asked if is_long(word)]
    if not typed:
        return []
    wide = [[f"{word[:KEPT_LETTERS]}*"] if is_long(word) else [word] for word in asked]
    if not is_long(asked[-1]) and len(asked[-1]) >= LEAST_PREFIX:
        wide[-1] = [f"{asked[-1]}*"]
    keys = newest_with(wide, visibility, limit=LOOKED_AT)
    beginnings = [word[:KEPT_LETTERS] for word in typed]
    return _having(
        keys, beginnings, lambda own: all(any(is_like(word, other) for other in own) for word in typed)
    )


def similar_words(word: str) -> list[str]:
    """Give the word and those that it may be mistyped for. They are every group's: to search with, not to show."""
    if not is_long(word):
        return [word]
    edits = allowed_edits(word)
    terms = words_between(
        word[:KEPT_LETTERS],
        shortest=max(KEPT_LETTERS, len(word) - edits - KEPT_LETTERS),
        longest=len(word) + edits,
        limit=MAX_TERMS,
    )
    return list(dict.fromkeys([word, *nearest(word, terms, edits=edits, limit=MAX_SIMILAR)]))


def _by_meaning(typed: str, visibility: Visibility, limit: int) -> list[int]:
    """Give the keys of the memories nearest in meaning; none without the model, and none that is not near at all."""
    encoder = available_encoder()
    if encoder is None or indexed_model() not in ("", encoder.model_id) or not typed:
        return []
    hits = search_index().nearest(encoder.encode_query(typed), visibility, limit=limit)
    return [hit.key for hit in hits if hit.score >= RELATED]


def _shown(
    keys: Sequence[int], asked: Sequence[str], how: MatchKind, visibility: Visibility, limit: int
) -> list[Suggestion]:
    """Give the first memories in the order of `keys`, or with words to look for, those that they fit best.

    What left the Visibility after the search is left out.
    """
    if asked:
        looks = looks_of(keys, FITTED_CHARS)
        keys = sorted(looks, key=lambda key: _fit(looks[key], asked), reverse=True)
    rows = read_shown(keys[:limit])
    memories = [rows[key] for key in keys[:limit] if key in rows and is_visible(rows[key], visibility)]
    return [Suggestion(memory, snippet(memory.content, asked), how) for memory in memories]


def _fit(look: PrefixMatch, asked: Sequence[str]) -> tuple[bool, bool, bool, int, bool, int]:
    """Say how well a memory fits, as what is greater fits better: live, named so, beginning so, whole words, kept, new."""
    own = words(look.content)
    starts = bool(own) and own[0].startswith(asked[0])
    whole = len(set(own) & set(asked))
    is_live = look.state == State.LIVE
    return is_live, starts and look.type == Type.ENTITY, starts, whole, bool(look.pinned), look.key


def snippet(content: str, asked: Sequence[str]) -> str:
    """Give a line of the text around the first of the words."""
    line = " ".join(content.split())
    low = line.lower()
    places = [place for word in asked if (place := low.find(word)) >= 0]
    start = max(0, min(places, default=0) - SNIPPET_LEAD)
    if start:
        start = line.rfind(" ", 0, start + 1) + 1
    cut = line[start : start + SNIPPET_CHARS]
    return f"{'…' if start else ''}{cut}{'…' if start + SNIPPET_CHARS < len(line) else ''}"
