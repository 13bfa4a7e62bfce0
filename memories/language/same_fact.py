"""Whether two texts state the same fact. Similar is not the same: a digit, a name or a "not" makes another fact."""

import re
import unicodedata
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from memories.language.cleaning import fold
from memories.language.dress import is_same_in_other_dress
from memories.language.word_forms import (
    DETERMINERS,
    NEGATION,
    OPPOSITES,
    SOFT_NEGATION,
    STOP,
    UNITS,
    bearing_words,
    content_words,
    stem,
    strip_endings,
)

_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
# An identifier has a digit, an underscore, a slash, a dot inside, or camel case.
_IDENTIFIER = re.compile(r"[\w.+#@/\\:-]+")
_TRAILING = "./\\:@-"
_CAMEL = re.compile(r"[a-z][A-Z]")
_SIGN = re.compile(r"!=|!(?=\w)|[?%&^\\]")
_WORD = re.compile(r"[^\W\d_][\w'-]*")
_FULL_NAME = re.compile(r"(?:^|[.!?:]\s|\n)([^\W\d_a-z][\w'-]*) (?=([^\W\d_a-z][a-z]))")
_SPACE = re.compile(r"\s+")
# Up to sixteen neighbours are compared inside the write transaction; the cost grows with their length.
MAX_COMPARED_CHARS = 4_000
# The new text is compared with several; the next stores evict it.
_cached = lru_cache(maxsize=32)
# These best separate 300 paraphrases and 2,160 facts about ten things (bench/proof/duplicates/prove.py).
_MAX_OWN_WORDS = 1
_MIN_SHARED = 0.4


class Sameness(Enum):
    """Result of comparing two similar texts."""

    SAME = "same"
    UNSURE = "unsure"
    DIFFERENT = "different"


@dataclass(frozen=True)
class Comparison:
    """Whether two texts state the same fact, and why. `is_guarded`: a word suggests a difference without proving it."""

    sameness: Sameness
    why: str
    is_guarded: bool = False


def compare(old: str, new: str, *, cosine: float, same_cosine: float) -> Comparison:
    """Compare two texts with similar vectors.

    Numbers, dates, versions, identifiers, paths, units, names, negation and opposites must agree, and word order must
    not swap who does what. SAME needs the same content words and tense, and a cosine of `same_cosine` or more; the rest
    is UNSURE, for a person to decide. Only the first MAX_COMPARED_CHARS are compared: longer texts that agree there are
    UNSURE as well. The work is linear in the texts' length.
    """
    is_folded = is_same_in_other_dress(old, new)
    old, new = _spaced(old), _spaced(new)
    is_long = not is_folded and max(len(old), len(new)) > MAX_COMPARED_CHARS
    if is_long:
        old, new = old[:MAX_COMPARED_CHARS], new[:MAX_COMPARED_CHARS]
    against = _find_exact_difference(old, new) or (None if is_folded else _find_difference(old, new))
    if against is not None:
        return against
    if is_folded:
        return Comparison(Sameness.SAME, "the same words")
    if is_long:
        return Comparison(
            Sameness.UNSURE, f"similar in their first {MAX_COMPARED_CHARS:,} characters (cosine {cosine:.3f})"
        )
    is_close = cosine >= same_cosine and _find_names(old) == _find_names(new)
    if is_close and bearing_words(fold(old)) == bearing_words(fold(new)):
        return Comparison(Sameness.SAME, f"nearly the same words (cosine {cosine:.3f})")
    return Comparison(Sameness.UNSURE, f"similar in meaning (cosine {cosine:.3f})")


def share_words(old: str, new: str) -> bool:
    """True if one text may paraphrase the other, by their shared words.

    All but MAX_OWN_WORDS content words of one are in the other, and the shared ones are MIN_SHARED of all.
    """
    left, right = (
        {strip_endings(w) for w in content_words(fold(text[:MAX_COMPARED_CHARS]))} for text in (old, new)
    )
    own = min(len(left - right), len(right - left))
    return own <= _MAX_OWN_WORDS and len(left & right) >= _MIN_SHARED * len(left | right)


def _find_exact_difference(old: str, new: str) -> Comparison | None:
    """A difference that counts even between equal folded texts: folding hides a power's digit, a path's case."""
    cased = _find_case_variants(old, new)
    for what, find in (("numbers", find_numbers), ("identifiers", _find_identifiers), ("units", _find_units)):
        left, right = find(old) - cased, find(new) - cased
        if left != right:
            return Comparison(Sameness.DIFFERENT, f"{what} differ: {_format_difference(left, right)}")
    if find_signs(old) != find_signs(new):
        return _doubt(f"signs differ: {_format_difference(find_signs(old), find_signs(new))}")
    return _doubt(f"written in different case: {', '.join(sorted(cased))}") if cased else None


def _find_difference(old: str, new: str) -> Comparison | None:
    """A difference in negation, opposites, names or word order: certain (DIFFERENT) or a doubt for a person."""
    if _parity(NEGATION, old) != _parity(NEGATION, new):
        return Comparison(Sameness.DIFFERENT, "negation differs: one says the opposite")
    left, right = _find_opposites(old), _find_opposites(new)
    if any((one in left and other in right) or (other in left and one in right) for one, other in OPPOSITES):
        return Comparison(Sameness.DIFFERENT, f"opposites differ: {_format_difference(left, right)}")
    names, new_names = _find_names(old), _find_names(new)
    # A name may be in lower case in the other text.
    words = [frozenset(_WORD.findall(fold(text))) for text in (old, new)]
    if names - words[1] or new_names - words[0]:
        return Comparison(Sameness.DIFFERENT, f"names differ: {_format_difference(names, new_names)}")
    if _differs_in_first_word(old, new):
        return Comparison(Sameness.DIFFERENT, "names differ: only the first word differs")
    if _parity(SOFT_NEGATION, old) != _parity(SOFT_NEGATION, new):
        return _doubt("one may say the opposite")
    return _find_order_difference(old, new)


def _find_order_difference(old: str, new: str) -> Comparison | None:
    """The same content words in another order, which may swap who does what, or names in another order."""
    names = _find_names(old) | _find_names(new)
    left, right = content_words(fold(old)), content_words(fold(new))
    is_swapped = [word for word in left if word in names] != [word for word in right if word in names]
    if left != right and sorted(left) == sorted(right):
        if is_swapped:
            return Comparison(Sameness.DIFFERENT, "the same words in a different order")
        return _doubt("the same words in a different order")
    return _doubt("names in a different order") if is_swapped else None


def _differs_in_first_word(old: str, new: str) -> bool:
    """True if only the first words differ and so name two things; there, a name needs no capital."""
    left, right = fold(old).split(), fold(new).split()
    if min(len(left), len(right)) < 3 or left[1:] != right[1:] or left[0] == right[0]:
        return False
    return not {left[0], right[0]} & (DETERMINERS | STOP)


def _doubt(why: str) -> Comparison:
    return Comparison(Sameness.UNSURE, why, is_guarded=True)


def _spaced(text: str) -> str:
    """The text with each run of white space as one space or newline: a long run would slow the patterns down."""
    return _SPACE.sub(lambda run: "\n" if "\n" in run[0] else " ", text)


@_cached
def find_numbers(text: str) -> frozenset[str]:
    """Numbers as they are written, dates and versions included."""
    return frozenset(_NUMBER.findall(text))


@_cached
def _find_identifiers(text: str) -> frozenset[str]:
    """Identifiers, paths and other words with a digit, a sign inside or camel case."""
    words = (run.rstrip(_TRAILING).strip(".:-") for run in _IDENTIFIER.findall(text))
    return frozenset(w for w in words if len(w) > 1 and _is_identifier(w))


def _is_identifier(word: str) -> bool:
    if word.isalpha():  # nearly every word
        return bool(_CAMEL.search(word))
    has_digit = any(c.isdigit() for c in word) and not word.isdigit()
    return has_digit or bool(_CAMEL.search(word)) or any(c in word[1:] for c in "_/\\.@#+")


def _find_case_variants(old: str, new: str) -> frozenset[str]:
    """Identifiers of letters only that the other text writes in another case: PostgreSQL, postgresql.

    A path, a variable's name and anything with a digit or a sign may mean another thing in another case.
    """
    odd = _find_identifiers(old) ^ _find_identifiers(new)
    plain = {left.casefold() for left in _WORD.findall(old)} & {
        right.casefold() for right in _WORD.findall(new)
    }
    return frozenset(word for word in odd if word.isalpha() and word.casefold() in plain)


@_cached
def _find_names(text: str) -> frozenset[str]:
    """Capitalised words that do not begin a sentence, or that do and are followed by another name: Jane Smith."""
    words = _WORD.findall(text)
    starts = {m.group(1) for m in re.finditer(r"(?:^|[.!?:]\s|\n)[\"'(]*([^\W\d_][\w'-]*)", text)}
    full = {first for first, second in _FULL_NAME.findall(text) if first.casefold() not in STOP | DETERMINERS}
    inner = {w for w in words if w[0].isupper() and w not in starts} | full
    return frozenset(unicodedata.normalize("NFKC", w).casefold() for w in inner if w.casefold() != "i")


@_cached
def _find_units(text: str) -> frozenset[str]:
    """Units after a number, and currency signs."""
    after_number = re.findall(r"\d\s*([a-zA-Z%]+)", text)
    return frozenset(w.lower() for w in after_number if w.lower() in UNITS) | frozenset(
        re.findall(r"[$€£¥₹]", text)
    )


def _parity(pattern: re.Pattern[str], text: str) -> int:
    """1 for an odd number of matches: two negations cancel out."""
    return len(pattern.findall(text)) % 2


@_cached
def _find_opposites(text: str) -> frozenset[str]:
    """Words of a pair of opposites of which the text has only one."""
    found = re.findall(r"\w+", text.lower())
    words = {*found, *map(stem, found)}
    return frozenset(w for pair in OPPOSITES for w in pair if w in words and not set(pair) <= words)


@_cached
def find_signs(text: str) -> frozenset[str]:
    """Signs with a meaning: comparisons, arrows, ticks and crosses, question marks."""
    signs = (c for c in text if unicodedata.category(c) in ("Sm", "Sc", "So"))
    return frozenset(signs) | frozenset(_SIGN.findall(text))


def _format_difference(left: frozenset[str], right: frozenset[str]) -> str:
    """What each side has and the other lacks."""
    return f"{', '.join(sorted(left - right)) or '–'} | {', '.join(sorted(right - left)) or '–'}"
