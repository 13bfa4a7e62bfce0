"""Words that a mistyped one may stand for: one edit in its first letters, or up to two later on."""

from collections.abc import Iterable

MIN_LETTERS = 4  # shorter words are like too many others
TWO_EDITS_FROM = 6  # letters
PREFIX_LETTERS = 3  # of a word's beginning, by which similar ones are looked up
LETTERS = "abcdefghijklmnopqrstuvwxyz"
# Endings that the index leaves out of its words, roughly; a typed word is compared with and without.
ENDINGS = ("ing", "ed", "es", "s", "e", "ly", "ion")


def is_long(word: str) -> bool:
    """Say whether a word is long enough for a fault in it to be told from another word."""
    return len(word) >= MIN_LETTERS and word.isalpha()


def allowed_edits(word: str) -> int:
    """Give how many edits away a word may be."""
    return 2 if len(word) >= TWO_EDITS_FROM else 1


def early_edits(word: str) -> list[str]:
    """Give the words one edit away within the first letters: swapped, left out, put in, replaced."""
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


def nearest(word: str, terms: Iterable[str], *, edits: int, limit: int) -> list[str]:
    """Give the terms that are at most so many edits away, the nearest first."""
    forms = {word, *(_without(word, ending) for ending in ENDINGS)}
    found = [(min(distance(form, term, most=edits) for form in forms), term) for term in terms]
    return [term for far, term in sorted(found) if far <= edits][:limit]


def distance(one: str, other: str, *, most: int) -> int:
    """Give how many letters must be put in, left out, replaced or swapped (Damerau 1964); `most` + 1 for more."""
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
    """Say whether another word, or its beginning, is what this one may be mistyped for, later than its first letters."""
    edits = allowed_edits(word)
    if other[:PREFIX_LETTERS] != word[:PREFIX_LETTERS] or len(other) < len(word) - edits:
        return False
    # The beginnings of short words are like too many others'.
    begun = other[: len(word)] if len(word) >= TWO_EDITS_FROM else other
    return min(distance(word, other, most=edits), distance(word, begun, most=edits)) <= edits


def _without(word: str, ending: str) -> str:
    stem = word.removesuffix(ending)
    if word.endswith("y") and len(word) > MIN_LETTERS:
        return word[:-1] + "i"
    return stem if len(stem) >= MIN_LETTERS - 1 else word
