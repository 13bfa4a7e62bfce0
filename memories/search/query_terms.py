"""User text → a safe match expression. Nothing of it reaches the engine as syntax: every term is quoted."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from memories.language.word_forms import is_unspaced, list_forms

MAX_TERMS = 32
MAX_FORMS = 64  # further terms: pairs of letters, parts of identifiers
# Words and digits of any script; everything else separates, as the index's own tokenizer has it.
_WORD = re.compile(r"[^\W_]+", re.UNICODE)
_QUOTED = re.compile(r"[\"“”]([^\"“”]+)[\"“”]")
# Paths, versions, addresses, snake_case, error-codes: parts that belong together, in this order.
_JOINED = re.compile(r"(?<![^\s(\[{<'\"])[/~.]*\w+(?:[._/:@\\-]+\w+)+")
_HAS_SIGN = re.compile(r"[\d_/\\@]|\w\.\w")
STOP_WORDS = frozenset(
    [
        "a",
        "about",
        "after",
        "all",
        "also",
        "am",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "because",
        "been",
        "before",
        "being",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "doing",
        "down",
        "during",
        "each",
        "few",
        "for",
        "from",
        "further",
        "had",
        "has",
        "have",
        "having",
        "he",
        "her",
        "here",
        "hers",
        "him",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "itself",
        "just",
        "let",
        "may",
        "me",
        "might",
        "more",
        "most",
        "my",
        "no",
        "nor",
        "not",
        "of",
        "off",
        "on",
        "once",
        "only",
        "or",
        "other",
        "our",
        "ours",
        "out",
        "over",
        "own",
        "s",
        "same",
        "she",
        "should",
        "so",
        "some",
        "such",
        "t",
        "than",
        "that",
        "the",
        "their",
        "theirs",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "through",
        "to",
        "too",
        "under",
        "until",
        "up",
        "very",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "whom",
        "whose",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
        "yours",
        "d",
        "ll",
        "m",
        "re",
        "ve",
        "don",
        "didn",
        "doesn",
        "isn",
        "wasn",
        "t",
    ]
)


@dataclass(frozen=True)
class Match:
    """What to search the keyword index for. `terms` are words or phrases, each matched whole; any of them counts."""

    terms: tuple[str, ...]

    @property
    def expression(self) -> str:
        """The FTS5 expression, over the text, its context and its words' other forms but not the filter column."""
        return "{content context forms} : (" + " OR ".join(map(_quoted, self.terms)) + ")"


def words(text: str) -> list[str]:
    """Give the words of a text in lower case, in order."""
    return [word.lower() for word in _WORD.findall(text)]


def words_starting_with(text: str, beginnings: Collection[str]) -> set[str]:
    """Give those of a text's words that begin with one of these, which are in lower case."""
    if not text.isascii():
        return {word for word in words(text) if word.startswith(tuple(beginnings))}
    # Most texts have none: looking for the letters takes a tenth of taking all the words out.
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
    """Give what to look for: quoted phrases, the words that are no stop words (all where all are), their other forms.

    None where the text has no word at all.
    """
    phrases = [" ".join(words(quoted)) for quoted in _QUOTED.findall(text)]
    found = words(text)
    telling = [word for word in found if word not in STOP_WORDS] or found
    spaced = [word for word in telling if word.isascii() or not is_unspaced(word)]
    terms = list(dict.fromkeys([*filter(None, phrases), *spaced]))[:MAX_TERMS]
    forms = [*joined_phrases(text), *list_forms(text)]
    every = list(dict.fromkeys([*terms, *forms]))[: len(terms) + MAX_FORMS] if forms else terms
    # The last letter of a run is a form in the index; of a question only one that stands alone is looked for.
    every = [term for term in every if not _is_letter(term)] or every
    return Match(tuple(every)) if every else None


def joined_phrases(text: str) -> list[str]:
    """Give what is written as one of several parts, as phrases: `3.11.2` → 3 11 2, `src/api_v2.py` → src api v2 py."""
    return [" ".join(words(one)) for one in _JOINED.findall(text) if _HAS_SIGN.search(one)]


def _quoted(term: str) -> str:
    """Give a term as FTS5 takes it; one letter of a script without spaces stands for each pair that it begins."""
    return f'"{term}"*' if _is_letter(term) else f'"{term}"'


def _is_letter(term: str) -> bool:
    return len(term) == 1 and not term.isascii() and is_unspaced(term)
