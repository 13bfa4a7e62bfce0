"""A text without its dress: letters, digits and the signs that change a fact; two texts in other dress are equal here.

Dress is case, accents, punctuation, symbols, emoji, markup, HTML, list marks, quotes, hyphens, white space, look-alike
letters, and saying the whole text twice. markup.py removes what is around the words; signs.py spells them
plainly and keeps the signs that change a fact.
"""

import hashlib
from collections import Counter
from functools import lru_cache
from operator import itemgetter

from memories.language.cleaning import fold
from memories.language.dress.markup import without_markup
from memories.language.dress.signs import (
    has_letters_or_digits,
    is_in_one_case,
    is_kept,
    is_one_letter,
    keep_signs,
    mark_signs,
    spell_plainly,
    spelling,
    tokens_of,
    without_accents,
    without_private_marks,
)

__all__ = [
    "MIN_CHARS",
    "fold_hash",
    "has_letters_or_digits",
    "is_in_one_case",
    "is_kept",
    "is_same_in_other_dress",
    "spelling",
    "tokens_of",
    "undressed",
    "undressed_part",
    "undressed_whole",
    "without_accents",
    "without_markup",
]

MIN_CHARS = 8  # letters or digits; shorter texts are alike too often


def undressed(text: str) -> str:
    """The letters, digits and fact-changing signs of a text; empty if it has fewer than MIN_CHARS letters or digits."""
    kept = undressed_whole(text)
    return kept if sum(c.isalnum() for c in kept) >= MIN_CHARS else ""


@lru_cache(maxsize=32)  # a new text is hashed, marked and compared with several
def undressed_whole(text: str) -> str:
    """undressed() of a text of any length."""
    bare = _without_joints(without_markup(without_private_marks(text)))
    tokens = tokens_of(bare)
    if len(tokens) >= MIN_CHARS and sum(is_one_letter(token) for token in tokens) >= 0.9 * len(tokens):
        bare = "".join(tokens)  # s p a c e d or d.o.t.t.e.d letters
    return _without_repetition(undressed_part(bare))


def undressed_part(bare: str) -> str:
    """The letters, digits and signs of a part of a text without markup."""
    letters = "".join(bare.split())
    if letters.isascii() and letters.isalpha():  # most parts: nothing to spell plainly, no sign
        return letters.lower()
    return keep_signs(mark_signs(spell_plainly(bare)))


def fold_hash(text: str) -> str:
    """SHA-256 (hex) of the undressed text: finds the same text in other dress, never decides alone.

    Stored texts are looked up by it, so a change to undressed_whole() or fold() needs every stored hash recomputed.
    """
    return hashlib.sha256((undressed_whole(text) or fold(text)).encode()).hexdigest()


def is_same_in_other_dress(one: str, other: str) -> bool:
    """True if two texts have the same words, accents included, and the same signs that change a fact."""
    left, right = fold(one), fold(other)
    return left == right or (
        tokens_of(left) == tokens_of(right) and undressed_whole(one) == undressed_whole(other)
    )


def _without_repetition(kept: str) -> str:
    """One copy of an undressed text that is said several times; a sign may stand between the copies."""
    if len(kept) < 2 * MIN_CHARS:
        return kept
    for whole in (kept, f"{kept}."):
        period = (whole + whole).find(whole, 1)
        if period < len(whole):
            once = whole[:period].removesuffix("." if whole is not kept else "")
            return once if sum(c.isalnum() for c in once) >= MIN_CHARS else kept
    return kept


def _without_joints(text: str) -> str:
    """The text without a character after every letter, or a symbol in the place of every space."""
    joint = text[1:2]
    if joint and not joint.isalnum() and len(text) >= 2 * MIN_CHARS and set(text[1:-1:2]) == {joint}:
        return text[::2]
    words = text.split()
    symbols = Counter(word for word in words if not any(c.isalnum() for c in word))
    symbol, count = max(symbols.items(), key=itemgetter(1), default=("", 0))
    is_joint = count >= 0.4 * len(words) and len(words) > (MIN_CHARS if symbol == "+" else 6)
    return " ".join(word for word in words if word != symbol) if is_joint else text
