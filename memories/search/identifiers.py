"""Identifiers in a question, such as HAR-1203, 4.8.1, /etc/hosts or port 8443: a text has one or does not."""

import re
from functools import lru_cache

from memories.language.word_tables import parse_words, read_sections

_SPACE_BEFORE = r"(?<![\w/.@-])"
# Each kind by its own form. Dates and plain numbers are no identifiers: many texts have them by chance.
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
# Of four digits that are no year, or of two parts, as ports and versions are.
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
MAX_IDENTIFIERS = 8  # of a question; one that names more is a text


def identifiers_in(text: str) -> tuple[str, ...]:
    """The identifiers of a question, in order, each once."""
    if _HINT.search(text) is None:
        return ()
    found = [match[0].removesuffix("()") for match in _IDENTIFIER.finditer(text)]
    found += [match[1] or match[2] for match in _NUMBERED.finditer(text)]
    kept = [one for one in found if not _DATE.fullmatch(one) and not _is_hyphened_word(one)]
    return tuple(dict.fromkeys(kept))[:MAX_IDENTIFIERS]


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


def _is_hyphened_word(identifier: str) -> bool:
    return identifier.lower().partition("-")[0] in _HYPHENED_WORDS and identifier.count("-") == 1
