"""Whether two texts say the same. Near in meaning is not the same: a digit, a name or a "not" makes another fact."""

import re
import unicodedata
from dataclasses import dataclass
from enum import Enum

from memories.text import fold

_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
# A word that carries identity: with a digit, an underscore, a slash, a dot inside, or camel case.
_IDENTIFIER = re.compile(r"[\w.+#@/\\:-]+")
_NOT_AT_ITS_END = "./\\:@-"
_CAMEL = re.compile(r"[a-z][A-Z]")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nothing|nobody|neither|nor|without|cannot|can't|won't|don't|doesn't|didn't|isn't|aren't"
    r"|wasn't|weren't|shouldn't|mustn't|hardly|unless|except|stop(?:ped|s)?|disabled?|removed?|deprecated|false)\b"
    r"|n't\b",
    re.I,
)
_OPPOSITES = (
    ("before", "after"), ("above", "below"), ("increase", "decrease"), ("increased", "decreased"),
    ("enable", "disable"), ("enabled", "disabled"), ("allow", "deny"), ("allowed", "denied"),
    ("open", "closed"), ("start", "stop"), ("always", "never"), ("true", "false"), ("on", "off"),
    ("minimum", "maximum"), ("min", "max"), ("first", "last"), ("left", "right"), ("up", "down"),
    ("more", "less"), ("internal", "external"), ("public", "private"), ("primary", "secondary"),
    ("staging", "production"), ("dev", "prod"), ("read", "write"), ("client", "server"), ("in", "out"),
    ("likes", "dislikes"), ("loves", "hates"), ("accept", "reject"), ("accepted", "rejected"),
    ("monday", "tuesday"), ("morning", "evening"), ("am", "pm"), ("north", "south"), ("east", "west"),
)  # fmt: skip
_UNITS = frozenset(
    [
        "ms",
        "s",
        "sec",
        "second",
        "seconds",
        "minute",
        "minutes",
        "min",
        "hour",
        "hours",
        "h",
        "day",
        "days",
        "week",
        "weeks",
        "month",
        "months",
        "year",
        "years",
        "b",
        "kb",
        "mb",
        "gb",
        "tb",
        "kib",
        "mib",
        "gib",
        "bytes",
        "byte",
        "bit",
        "bits",
        "hz",
        "khz",
        "mhz",
        "ghz",
        "mm",
        "cm",
        "m",
        "km",
        "inch",
        "inches",
        "ft",
        "feet",
        "mile",
        "miles",
        "g",
        "kg",
        "lb",
        "lbs",
        "usd",
        "eur",
        "gbp",
        "dollar",
        "dollars",
        "euro",
        "euros",
        "pound",
        "pounds",
        "yen",
        "%",
        "percent",
        "celsius",
        "fahrenheit",
        "utc",
        "cet",
        "cest",
        "est",
        "edt",
        "pst",
        "pdt",
        "gmt",
        "ist",
        "jst",
        "px",
        "em",
        "rem",
        "pt",
    ]
)
_STOP = frozenset(
    [
        "a",
        "an",
        "the",
        "of",
        "to",
        "in",
        "on",
        "at",
        "by",
        "for",
        "with",
        "and",
        "or",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "being",
        "it",
        "its",
        "this",
        "that",
        "these",
        "those",
        "as",
        "from",
        "we",
        "our",
        "us",
        "i",
        "my",
        "me",
        "you",
        "your",
        "he",
        "she",
        "they",
        "them",
        "their",
        "has",
        "have",
        "had",
        "do",
        "does",
        "did",
        "will",
        "would",
        "can",
        "could",
        "should",
        "just",
        "also",
        "very",
        "really",
        "so",
        "then",
        "than",
        "there",
        "here",
        "which",
        "who",
        "whom",
    ]
)

_TENSE = frozenset(["was", "were", "had", "did", "will", "would", "could", "should", "may", "might", "must"])
# Short words that turn a statement around: who, which way, both or either.
_TURNING = frozenset(
    [
        "to",
        "from",
        "by",
        "for",
        "with",
        "and",
        "or",
        "can",
        "than",
        "i",
        "my",
        "me",
        "you",
        "your",
        "he",
        "she",
        "they",
        "them",
        "their",
        "who",
        "whom",
    ]
)
_SIGN = re.compile(r"!=|!(?=\w)|[?%&^\\]")
_WORD = re.compile(r"[^\W\d_][\w'-]*")
_SPACE = re.compile(r"\s+")
# Sixteen near texts may be compared inside the transaction that writes; each costs by its length.
MAX_COMPARED_CHARS = 4_000


class Sameness(Enum):
    """What comparing two near texts says."""

    SAME = "same"
    UNSURE = "unsure"
    DIFFERENT = "different"


@dataclass(frozen=True)
class Comparison:
    """Whether two texts say the same, and what told so."""

    sameness: Sameness
    why: str


def compare(old: str, new: str, *, cosine: float, same_cosine: float) -> Comparison:
    """Compare two texts that the vectors hold for near.

    Numbers, dates, versions, identifiers, paths, units, names, negation and opposites must agree, and word order must
    not swap who does what. The same is only what has the same content words and tense, above `same_cosine`; for
    anything else a person decides. Of longer texts the first MAX_COMPARED_CHARS are compared: where these agree, a
    person decides as well. The work grows with the texts' length and no faster.
    """
    is_folded = fold(old) == fold(new)
    old, new = _spaced(old), _spaced(new)
    is_long = not is_folded and max(len(old), len(new)) > MAX_COMPARED_CHARS
    if is_long:
        old, new = old[:MAX_COMPARED_CHARS], new[:MAX_COMPARED_CHARS]
    for what, guard in _EXACT_GUARDS if is_folded else _GUARDS:
        left, right = guard(old), guard(new)
        if left != right:
            return Comparison(Sameness.DIFFERENT, f"{what} differ: {_shown(left, right)}")
    if _signs(old) != _signs(new):
        return Comparison(Sameness.UNSURE, f"signs differ: {_shown(_signs(old), _signs(new))}")
    if is_folded:
        return Comparison(Sameness.SAME, "the same words")
    if _are_other_names(old, new):
        return Comparison(Sameness.DIFFERENT, f"names differ: {_shown(_names(old), _names(new))}")
    if _is_swapped(old, new):
        return Comparison(Sameness.DIFFERENT, "the same words in another order")
    if is_long:
        return Comparison(
            Sameness.UNSURE, f"alike in their first {MAX_COMPARED_CHARS:,} characters (cosine {cosine:.3f})"
        )
    is_as_near = cosine >= same_cosine and _names(old) == _names(new)
    if is_as_near and _bearing_words(old) == _bearing_words(new):
        return Comparison(Sameness.SAME, f"nearly the same words (cosine {cosine:.3f})")
    return Comparison(Sameness.UNSURE, f"near in meaning (cosine {cosine:.3f})")


def _spaced(text: str) -> str:
    """Give the text with each run of white space as one space or newline: no pattern meets a long run."""
    return _SPACE.sub(lambda run: "\n" if "\n" in run[0] else " ", text)


def _numbers(text: str) -> frozenset[str]:
    return frozenset(_NUMBER.findall(text))


def _identifiers(text: str) -> frozenset[str]:
    words = (run.rstrip(_NOT_AT_ITS_END).strip(".:-") for run in _IDENTIFIER.findall(text))
    return frozenset(w for w in words if len(w) > 1 and _is_identifier(w))


def _is_identifier(word: str) -> bool:
    has_digit = any(c.isdigit() for c in word) and not word.isdigit()
    return has_digit or bool(_CAMEL.search(word)) or any(c in word[1:] for c in "_/\\.@#+")


def _names(text: str) -> frozenset[str]:
    """Words with a capital that do not begin a sentence, and all words in capitals."""
    words = _WORD.findall(text)
    starts = {m.group(1) for m in re.finditer(r"(?:^|[.!?:]\s|\n)[\"'(]*([^\W\d_][\w'-]*)", text)}
    inner = {w for w in words if w[0].isupper() and w not in starts}
    return frozenset(unicodedata.normalize("NFKC", w).casefold() for w in inner if w.casefold() != "i")


def _units(text: str) -> frozenset[str]:
    after_number = re.findall(r"\d\s*([a-zA-Z%]+)", text)
    return frozenset(w.lower() for w in after_number if w.lower() in _UNITS) | frozenset(
        re.findall(r"[$€£¥₹]", text)
    )


def _negation(text: str) -> int:
    return len(_NEGATION.findall(text)) % 2


def _opposites(text: str) -> frozenset[str]:
    words = set(re.findall(r"\w+", text.lower()))
    return frozenset(w for pair in _OPPOSITES for w in pair if w in words and not set(pair) <= words)


def _are_other_names(old: str, new: str) -> bool:
    """Say whether one text has a name that the other lacks, in lower case as well."""
    words = [frozenset(_WORD.findall(fold(text))) for text in (old, new)]
    return bool(_names(old) - words[1] or _names(new) - words[0])


def _signs(text: str) -> frozenset[str]:
    """Give the signs that mean something: comparisons, arrows, ticks and crosses, question marks."""
    signs = (c for c in text if unicodedata.category(c) in ("Sm", "Sc", "So"))
    return frozenset(signs) | frozenset(_SIGN.findall(text))


# What folding may hide: a power written as a small digit, a path that differs in case.
_EXACT_GUARDS = (
    ("numbers", _numbers),
    ("identifiers", _identifiers),
)
_GUARDS = (
    *_EXACT_GUARDS,
    ("units", _units),
    ("negation", _negation),
    ("opposites", _opposites),
)


def _is_swapped(old: str, new: str) -> bool:
    """Say whether both hold the same content words, in another order."""
    left, right = _content_words(old), _content_words(new)
    return left != right and sorted(left) == sorted(right)


def _bearing_words(text: str) -> list[str]:
    """The words that bear the meaning, in order: content words by their stems, tense, and what turns a statement."""
    words = re.findall(r"[\w'-]+", fold(text))
    return [_stem(w) for w in words if w not in _STOP or w in _TENSE or w in _TURNING]


def _stem(word: str) -> str:
    return re.sub(r"(?:ies|es|s)$", "", word) if len(word) > 3 else word


def _content_words(text: str) -> list[str]:
    return [w for w in re.findall(r"[\w'-]+", fold(text)) if w not in _STOP]


def _shown(left: object, right: object) -> str:
    if isinstance(left, frozenset) and isinstance(right, frozenset):
        return f"{', '.join(sorted(left - right)) or '–'} | {', '.join(sorted(right - left)) or '–'}"
    return "one says the opposite"
