"""Terms of a query, quoted for FTS5's MATCH, and identifiers: words with a digit, an underscore, a capital inside or a path."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache

from memories.language.languages import language_of, stems_of, tables_of
from memories.language.word_forms import is_unspaced, list_forms, word_starts
from memories.language.word_tables import parse_words, read_sections

_MAX_TERMS = 32
MAX_FORMS = 64  # additional terms: pairs of letters, parts of identifiers
# Letters and digits of any script; everything else separates, as in the index's tokenizer.
_WORD = re.compile(r"[^\W_]+", re.UNICODE)
_QUOTED = re.compile(r"[\"“”]([^\"“”]+)[\"“”]")
# Paths, versions, addresses, snake_case, error-codes: parts that belong together in this order.
_JOINED = re.compile(r"(?<![^\s(\[{<'\"])[/~.]*\w+(?:[._/:@\\-]+\w+)+")
_ACRONYMS = re.compile(r"\b([A-Z]{2,})s\b")  # plurals, which are not identifiers of two parts: ADRs
_HAS_SIGN = re.compile(r"[\d_/\\@]|\w\.\w")
STOP_WORDS = parse_words(read_sections("stop_words")["stop words"])


@dataclass(frozen=True)
class Match:
    """A keyword query. `terms` are words or phrases, each matched whole; one match is enough. `stems` are searched as well."""

    terms: tuple[str, ...]
    stems: tuple[str, ...] = ()

    @property
    def searched(self) -> tuple[str, ...]:
        """The terms and the stems."""
        return (*self.terms, *self.stems)

    @property
    def expression(self) -> str:
        """The FTS5 expression over content, context and word forms, not the filter column."""
        return expression_of(self.searched, "content context forms")


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
        for at in word_starts(low, beginning):
            if word := _WORD.match(low, at):
                found.add(word[0])
    return found


def match_for(text: str) -> Match | None:
    """The keyword query of a text: quoted phrases, words other than stop words (all if there are no others), other forms.

    None if the text has no words.
    """
    phrases = [" ".join(words(quoted)) for quoted in _QUOTED.findall(text)]
    content = content_words(text)
    spaced = [word for word in content if word.isascii() or not is_unspaced(word)]
    terms = list(dict.fromkeys([*filter(None, phrases), *spaced]))[:_MAX_TERMS]
    tables = tables_of(language_of(text))
    bare = tables.stop_words.sub(" ", text) if tables else text
    forms = [*joined_phrases(text), *list_forms(_ACRONYMS.sub(r"\1", bare if words(bare) else text))]
    every = list(dict.fromkeys([*terms, *forms]))[: len(terms) + MAX_FORMS] if forms else terms
    # The index has the last letter of a run as a form; a query uses a single letter only if it has nothing else.
    every = [term for term in every if not is_letter(term)] or every
    stems = dict.fromkeys(stems_of(bare, language_of(text)))
    return Match(tuple(every), tuple(stem for stem in stems if stem not in every)) if every else None


def content_words(text: str) -> list[str]:
    """Words of a text other than stop words, in lower case; all if there are no others."""
    tables = tables_of(language_of(text))
    if tables is not None:
        return words(tables.stop_words.sub(" ", text)) or words(text)
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


_SPACE_BEFORE = r"(?<![\w/.@-])"
# Each kind by its own form. Dates and plain numbers are not identifiers: many texts have them by chance.
_KINDS = (
    r"[A-Za-z]{2,12}-\d{1,7}",  # tickets and decisions: HAR-1203, ADR-022
    r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*[-_]\d{1,4}(?:\.[a-z][a-z0-9.-]*)?",  # hosts: stg-web-03
    r"v?\d+\.\d+(?:\.\d+)+(?:[-+][\w.]+)?",  # versions and addresses of three or more parts: 4.8.1
    r"v\d+\.\d+",
    r"(?:~|\.{0,2})(?:/[\w.*@-]+){2,}/?",  # paths: /etc/hosts
    r"\w[\w.-]*(?:/[\w.-]+)*/[\w-]+\.[a-z]\w{0,5}",  # tools/release/cut.sh
    r"(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}",  # hashes
    r"[A-Z]{1,5}\d{3,6}",  # error codes: E2207
    r"[A-Za-z]\w*_\w+(?:\.\w+)*(?:\(\))?",  # names in code: plan_stops()
    r"[a-z][\w]*(?:\.[a-z]\w*)*\.[a-z]\w*_\w+",
    r"[a-z]{2,}[a-z0-9]*(?:[A-Z][a-z0-9]+)+|(?:[A-Z][a-z0-9]+){3,}",  # getUserName; YouTube is a plain name
)
_IDENTIFIER = re.compile(rf"{_SPACE_BEFORE}(?:{'|'.join(_KINDS)})(?![\w/]|[.-]\w)")
_NUMBERED = re.compile(
    r"\b(?:port|error|code|ticket|issue|pr|rfc|build|bug)s?\s+#?(\d{2,7})\b|#(\d{2,7})\b", re.I
)
# Of four digits that are not a year, or of two parts, as ports and versions are.
_EXACT_NUMBER = re.compile(
    r"(?<![\w.,/:#$€£-])(?!(?:1[5-9]|20|21)\d\d\b(?!\.\d))(?:\d{4,}|\d+\.\d+)(?![\w,/:-]|\.\d|\s?%)"
)
_QUESTION_WORD = re.compile(r"\b(?:what|which|whose|who|where|when|why|how)\b", re.I)
_DATE = re.compile(r"\d{4}-\d{1,2}(?:-\d{1,2})?|\d{1,2}\.\d{1,2}\.\d{4}|[0-3]\d\.[01]\d\.\d\d")
# Before a hyphen and a number these name no single thing: COVID-19, top-10.
_HYPHENED_WORDS = parse_words(read_sections("question_words")["before a number"])
# A digit, a sign or a capital inside a word: most questions have none and end here.
_HINT = re.compile(r"\d|_|/\w|[a-z][A-Z]")
_PARTS = re.compile(r"[^\W_]+")
_SIGNS = r"[-_./:\\@ ]?"
_MAX_IDENTIFIERS = 8  # of a question; one that names more is a text


def identifiers_in(text: str) -> tuple[str, ...]:
    """The identifiers of a question, in order, each once."""
    if _HINT.search(text) is None:
        return ()
    found = [match[0].removesuffix("()") for match in _IDENTIFIER.finditer(text)]
    found += [match[1] or match[2] for match in _NUMBERED.finditer(text)]
    kept = dict[str, None]()
    for one in found:
        word, *rest = one.lower().split("-")
        if not _DATE.fullmatch(one) and not (len(rest) == 1 and word in _HYPHENED_WORDS):
            kept[one] = None
    return tuple(kept)[:_MAX_IDENTIFIERS]


def exact_numbers_in(text: str) -> tuple[str, ...]:
    """The numbers of a question that a text has or does not: 9443 and 12.4, but no year, date, time or share.

    Only those of which something is asked, after a question word: "Is the port still 8082?" is answered by another port.
    """
    asked = _QUESTION_WORD.search(text)
    return tuple(dict.fromkeys(_EXACT_NUMBER.findall(text, asked.end()))) if asked else ()


def has_identifier(text: str, identifier: str) -> bool:
    """Whether a text has the identifier, in any case and with any sign between its parts, but not as a part of a longer one.

    4.8.1 is neither in 4.8.12 nor in 4.8.1.2; HAR-12 is not in HAR-1203.
    """
    last, pattern = _pattern_of(identifier)
    return last in text.lower() and pattern.search(text) is not None


@lru_cache(maxsize=256)
def _pattern_of(identifier: str) -> tuple[str, re.Pattern[str]]:
    """The last part, which a text must have, and the whole as a pattern."""
    bare = identifier.lower()
    bare = bare[1:] if re.match(r"v\d", bare) else bare
    parts = _PARTS.findall(bare)
    whole = _SIGNS.join(map(re.escape, parts))
    return parts[-1], re.compile(rf"(?<![^\W_])(?<!\d\.)v?{whole}(?![^\W_]|\.\d)", re.I)
