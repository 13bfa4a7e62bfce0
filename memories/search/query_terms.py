"""User text → a safe match expression: every term is quoted, so nothing reaches the engine as syntax."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from memories.language.word_forms import is_unspaced, list_forms
from memories.language.word_tables import parse_words, read_sections

MAX_TERMS = 32
MAX_FORMS = 64  # additional terms: pairs of letters, parts of identifiers
# Letters and digits of any script; everything else separates, as in the index's tokenizer.
_WORD = re.compile(r"[^\W_]+", re.UNICODE)
_QUOTED = re.compile(r"[\"“”]([^\"“”]+)[\"“”]")
# Paths, versions, addresses, snake_case, error-codes: parts that belong together in this order.
_JOINED = re.compile(r"(?<![^\s(\[{<'\"])[/~.]*\w+(?:[._/:@\\-]+\w+)+")
_ACRONYMS = re.compile(r"\b([A-Z]{2,})s\b")  # plural ones, which are no identifiers of two parts: ADRs
_HAS_SIGN = re.compile(r"[\d_/\\@]|\w\.\w")
STOP_WORDS = parse_words(read_sections("stop_words")["stop words"])


@dataclass(frozen=True)
class Match:
    """A keyword query. `terms` are words or phrases, each matched whole; one match is enough."""

    terms: tuple[str, ...]

    @property
    def expression(self) -> str:
        """The FTS5 expression over content, context and word forms, not the filter column."""
        return expression_of(self.terms, "content context forms")


def expression_of(terms: Iterable[str], columns: str) -> str:
    """The FTS5 expression of texts that have one of the terms in one of the columns."""
    return f"{{{columns}}} : ({' OR '.join(map(_quoted, terms))})"


def words(text: str) -> list[str]:
    """Words of a text in lower case, in order."""
    return [word.lower() for word in _WORD.findall(text)]


def words_starting_with(text: str, beginnings: Collection[str]) -> set[str]:
    """Words of a text that begin with one of `beginnings`, which are in lower case."""
    if not text.isascii():
        return {word for word in words(text) if word.startswith(tuple(beginnings))}
    # Most texts have none: searching for the letters takes a tenth of the time of splitting into words.
    low, found = text.lower(), set[str]()
    for beginning in beginnings:
        at = low.find(beginning)
        while at >= 0:
            word = _WORD.match(low, at)
            if word and (at == 0 or not low[at - 1].isalnum()):
                found.add(word[0])
            at = low.find(beginning, at + 1)
    return found


def match_for(text: str) -> Match | None:
    """The keyword query of a text: quoted phrases, words other than stop words (all if there are no others), other forms.

    None if the text has no words.
    """
    phrases = [" ".join(words(quoted)) for quoted in _QUOTED.findall(text)]
    content = content_words(text)
    spaced = [word for word in content if word.isascii() or not is_unspaced(word)]
    terms = list(dict.fromkeys([*filter(None, phrases), *spaced]))[:MAX_TERMS]
    forms = [*joined_phrases(text), *list_forms(_ACRONYMS.sub(r"\1", text))]
    every = list(dict.fromkeys([*terms, *forms]))[: len(terms) + MAX_FORMS] if forms else terms
    # The index has the last letter of a run as a form; a query uses a single letter only if it has nothing else.
    every = [term for term in every if not is_letter(term)] or every
    return Match(tuple(every)) if every else None


def content_words(text: str) -> list[str]:
    """Words of a text other than stop words, in lower case; all if there are no others."""
    found = words(text)
    return [word for word in found if word not in STOP_WORDS] or found


def joined_phrases(text: str) -> list[str]:
    """Words of several parts as phrases: `3.11.2` → 3 11 2, `src/api_v2.py` → src api v2 py."""
    return [" ".join(words(one)) for one in _JOINED.findall(text) if _HAS_SIGN.search(one)]


def _quoted(term: str) -> str:
    """The term quoted for FTS5; a single letter of a script without spaces matches every pair that it begins."""
    return f'"{term}"*' if is_letter(term) else f'"{term}"'


def is_letter(term: str) -> bool:
    """True for a single letter of a script without spaces."""
    return len(term) == 1 and not term.isascii() and is_unspaced(term)
