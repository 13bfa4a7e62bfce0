"""Spelling corrections for a mistyped word: one edit in its first letters, or up to two later on."""

from collections.abc import Iterable

MIN_LETTERS = 4  # shorter words resemble too many others
TWO_EDITS_FROM = 6  # letters
PREFIX_LETTERS = 3  # similar words are looked up by their first letters
LETTERS = "abcdefghijklmnopqrstuvwxyz"
# Roughly the endings that the index strips; a typed word is compared with and without them.
ENDINGS = ("ing", "ed", "es", "s", "e", "ly", "ion")


def is_long(word: str) -> bool:
    """True if the word is long enough to tell a typing error from another word."""
    return len(word) >= MIN_LETTERS and word.isalpha()


def allowed_edits(word: str) -> int:
    """Maximum edit distance of a correction."""
    return 2 if len(word) >= TWO_EDITS_FROM else 1


def early_edits(word: str) -> list[str]:
    """Words one edit away within the first letters: swapped, deleted, replaced or inserted letters."""
    found: dict[str, None] = {}
    for at in range(min(PREFIX_LETTERS + 1, len(word))):
        before, after = word[:at], word[at:]
        if len(after) > 1:
            found[before + after[1] + after[0] + after[2:]] = None
        found[before + after[1:]] = None
        found |= {before + letter + after[1:]: None for letter in LETTERS}
        found |= {before + letter + after: None for letter in LETTERS}
    found.pop(word, None)
    return [one for one in found if len(one) >= PREFIX_LETTERS]


def nearest(word: str, terms: Iterable[str], *, edits: int) -> list[str]:
    """Terms within `edits` of the word or of a form without its ending, nearest first."""
    forms = {word, *(strip_ending(word, ending) for ending in ENDINGS)}
    found = [(min(distance(form, term, most=edits) for form in forms), term) for term in terms]
    return [term for far, term in sorted(found) if far <= edits]


def distance(one: str, other: str, *, most: int) -> int:
    """Edit distance with transpositions (Damerau 1964), capped at `most` + 1."""
    if abs(len(one) - len(other)) > most or len(set(one) ^ set(other)) > 2 * most:
        return most + 1
    before, last = list[int](), list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        row = [i]
        for j, its in enumerate(other, start=1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != its))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == its:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before, last = last, row
    return last[-1]


def is_like(word: str, other: str) -> bool:
    """True if `word` may be a misspelling of `other` or of its beginning; the first letters must agree."""
    edits = allowed_edits(word)
    if other[:PREFIX_LETTERS] != word[:PREFIX_LETTERS] or len(other) < len(word) - edits:
        return False
    # The beginnings of short words resemble too many others.
    begun = other[: len(word)] if len(word) >= TWO_EDITS_FROM else other
    return min(distance(word, other, most=edits), distance(word, begun, most=edits)) <= edits


def strip_ending(word: str, ending: str) -> str:
    """The word as the index may have stemmed it: without the ending, or with a final y as i."""
    stem = word.removesuffix(ending)
    if word.endswith("y") and len(word) > MIN_LETTERS:
        return word[:-1] + "i"
    return stem if len(stem) >= MIN_LETTERS - 1 else word
