"""Whether two texts say the same. Near in meaning is not the same: a digit, a name or a "not" makes another fact."""

import re
import unicodedata
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from memories.language.cleaning import fold
from memories.language.function_words import (
    DETERMINERS,
    NEGATION,
    OPPOSITES,
    SOFT_NEGATION,
    STOP,
    UNITS,
    bearing_words,
    content_words,
    root,
)

_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
# A word that carries identity: with a digit, an underscore, a slash, a dot inside, or camel case.
_IDENTIFIER = re.compile(r"[\w.+#@/\\:-]+")
_NOT_AT_ITS_END = "./\\:@-"
_CAMEL = re.compile(r"[a-z][A-Z]")
_SIGN = re.compile(r"!=|!(?=\w)|[?%&^\\]")
_WORD = re.compile(r"[^\W\d_][\w'-]*")
_FULL_NAME = re.compile(r"(?:^|[.!?:]\s|\n)([^\W\d_a-z][\w'-]*) (?=([^\W\d_a-z][a-z]))")
_SPACE = re.compile(r"\s+")
# Sixteen near texts may be compared inside the transaction that writes; each costs by its length.
MAX_COMPARED_CHARS = 4_000
# The new text is compared with several; nothing is kept for longer than the next stores.
_once = lru_cache(maxsize=32)
# With these, 300 paraphrases and 2,160 facts about ten things are told apart best (bench/proof/duplicates.py).
MAX_OWN_WORDS = 1
MIN_SHARED = 0.4


class Sameness(Enum):
    """What comparing two near texts says."""

    SAME = "same"
    UNSURE = "unsure"
    DIFFERENT = "different"


@dataclass(frozen=True)
class Comparison:
    """Whether two texts say the same, and what told so. `is_guarded`: a word speaks against it, if not for sure."""

    sameness: Sameness
    why: str
    is_guarded: bool = False


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
    against = _exactly_against(old, new) or (None if is_folded else _against(old, new))
    if against is not None:
        return against
    if is_folded:
        return Comparison(Sameness.SAME, "the same words")
    if is_long:
        return Comparison(
            Sameness.UNSURE, f"alike in their first {MAX_COMPARED_CHARS:,} characters (cosine {cosine:.3f})"
        )
    is_as_near = cosine >= same_cosine and _names(old) == _names(new)
    if is_as_near and bearing_words(fold(old)) == bearing_words(fold(new)):
        return Comparison(Sameness.SAME, f"nearly the same words (cosine {cosine:.3f})")
    return Comparison(Sameness.UNSURE, f"near in meaning (cosine {cosine:.3f})")


def share_words(old: str, new: str) -> bool:
    """Say whether two texts share so many words that the one may be a paraphrase of the other.

    All content words of one but MAX_OWN_WORDS are in the other, and the shared ones are MIN_SHARED of all.
    """
    left, right = ({root(w) for w in content_words(fold(text[:MAX_COMPARED_CHARS]))} for text in (old, new))
    own = min(len(left - right), len(right - left))
    return own <= MAX_OWN_WORDS and len(left & right) >= MIN_SHARED * len(left | right)


def _exactly_against(old: str, new: str) -> Comparison | None:
    """Find what speaks against even where the folded texts are one: folding hides a power's digit, a path's case."""
    cased = _differ_in_case(old, new)
    for what, guard in (("numbers", _numbers), ("identifiers", _identifiers), ("units", _units)):
        left, right = guard(old) - cased, guard(new) - cased
        if left != right:
            return Comparison(Sameness.DIFFERENT, f"{what} differ: {_shown(left, right)}")
    if _signs(old) != _signs(new):
        return _doubt(f"signs differ: {_shown(_signs(old), _signs(new))}")
    return _doubt(f"written in another case: {', '.join(sorted(cased))}") if cased else None


def _against(old: str, new: str) -> Comparison | None:
    """Find what speaks against two texts saying the same: surely, or so that a person must decide."""
    if _parity(NEGATION, old) != _parity(NEGATION, new):
        return Comparison(Sameness.DIFFERENT, "negation differs: one says the opposite")
    left, right = _opposites(old), _opposites(new)
    if any((one in left and other in right) or (other in left and one in right) for one, other in OPPOSITES):
        return Comparison(Sameness.DIFFERENT, f"opposites differ: {_shown(left, right)}")
    if _are_other_names(old, new):
        return Comparison(Sameness.DIFFERENT, f"names differ: {_shown(_names(old), _names(new))}")
    if _begin_otherwise(old, new):
        return Comparison(Sameness.DIFFERENT, "names differ: only the first word is another")
    if _parity(SOFT_NEGATION, old) != _parity(SOFT_NEGATION, new):
        return _doubt("one may say the opposite")
    return _against_order(old, new)


def _against_order(old: str, new: str) -> Comparison | None:
    """Find the same content words in another order, which may turn who does what around, and names in another order."""
    names = _names(old) | _names(new)
    orders = [[word for word in content_words(fold(text)) if word in names] for text in (old, new)]
    left, right = content_words(fold(old)), content_words(fold(new))
    if left != right and sorted(left) == sorted(right):
        if orders[0] != orders[1]:
            return Comparison(Sameness.DIFFERENT, "the same words in another order")
        return _doubt("the same words in another order")
    return _doubt("names in another order") if orders[0] != orders[1] else None


def _doubt(why: str) -> Comparison:
    return Comparison(Sameness.UNSURE, why, is_guarded=True)


def _spaced(text: str) -> str:
    """Give the text with each run of white space as one space or newline: no pattern meets a long run."""
    return _SPACE.sub(lambda run: "\n" if "\n" in run[0] else " ", text)


@_once
def _numbers(text: str) -> frozenset[str]:
    return frozenset(_NUMBER.findall(text))


@_once
def _identifiers(text: str) -> frozenset[str]:
    words = (run.rstrip(_NOT_AT_ITS_END).strip(".:-") for run in _IDENTIFIER.findall(text))
    return frozenset(w for w in words if len(w) > 1 and _is_identifier(w))


def _is_identifier(word: str) -> bool:
    if word.isalpha():  # nearly every word
        return bool(_CAMEL.search(word))
    has_digit = any(c.isdigit() for c in word) and not word.isdigit()
    return has_digit or bool(_CAMEL.search(word)) or any(c in word[1:] for c in "_/\\.@#+")


def _differ_in_case(old: str, new: str) -> frozenset[str]:
    """Give the identifiers, of letters alone, that the other text writes in another case: PostgreSQL, postgresql.

    A path, a variable's name and whatever has a digit or a sign in it may mean another thing in another case.
    """
    odd = _identifiers(old) ^ _identifiers(new)
    plain = {left.casefold() for left in _WORD.findall(old)} & {
        right.casefold() for right in _WORD.findall(new)
    }
    return frozenset(word for word in odd if word.isalpha() and word.casefold() in plain)


@_once
def _names(text: str) -> frozenset[str]:
    """Words with a capital that do not begin a sentence; one that does, where another name follows: Jane Smith."""
    words = _WORD.findall(text)
    starts = {m.group(1) for m in re.finditer(r"(?:^|[.!?:]\s|\n)[\"'(]*([^\W\d_][\w'-]*)", text)}
    full = {first for first, second in _FULL_NAME.findall(text) if first.casefold() not in STOP | DETERMINERS}
    inner = {w for w in words if w[0].isupper() and w not in starts} | full
    return frozenset(unicodedata.normalize("NFKC", w).casefold() for w in inner if w.casefold() != "i")


@_once
def _units(text: str) -> frozenset[str]:
    after_number = re.findall(r"\d\s*([a-zA-Z%]+)", text)
    return frozenset(w.lower() for w in after_number if w.lower() in UNITS) | frozenset(
        re.findall(r"[$€£¥₹]", text)
    )


def _parity(pattern: re.Pattern[str], text: str) -> int:
    return len(pattern.findall(text)) % 2


@_once
def _opposites(text: str) -> frozenset[str]:
    words = set(re.findall(r"\w+", text.lower()))
    return frozenset(w for pair in OPPOSITES for w in pair if w in words and not set(pair) <= words)


def _are_other_names(old: str, new: str) -> bool:
    """Say whether one text has a name that the other lacks, in lower case as well."""
    words = [frozenset(_WORD.findall(fold(text))) for text in (old, new)]
    return bool(_names(old) - words[1] or _names(new) - words[0])


@_once
def _signs(text: str) -> frozenset[str]:
    """Give the signs that mean something: comparisons, arrows, ticks and crosses, question marks."""
    signs = (c for c in text if unicodedata.category(c) in ("Sm", "Sc", "So"))
    return frozenset(signs) | frozenset(_SIGN.findall(text))


def _begin_otherwise(old: str, new: str) -> bool:
    """Say whether only the first words differ, so that they name two: a name needs no capital to be told by there."""
    left, right = fold(old).split(), fold(new).split()
    if min(len(left), len(right)) < 3 or left[1:] != right[1:] or left[0] == right[0]:
        return False
    return not {left[0], right[0]} & (DETERMINERS | STOP)


def _shown(left: frozenset[str], right: frozenset[str]) -> str:
    return f"{', '.join(sorted(left - right)) or '–'} | {', '.join(sorted(right - left)) or '–'}"
