"""Excerpts: a line of a text around the typed words, with the places to mark."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from memories.language.word_forms import spell_out

MAX_CHARS, LEAD_CHARS = 140, 40
SEARCHED_CHARS = 20_000  # of a text; a match further on is not shown


class Excerpt(NamedTuple):
    """A line of a text, and the ranges of characters (start, end) in it that match."""

    text: str
    marks: tuple[tuple[int, int], ...]


def excerpt_of(content: str, typed: Sequence[str]) -> Excerpt:
    """The line around the first word that begins like a typed one, whatever accents either has."""
    line = " ".join(content[:SEARCHED_CHARS].split())
    found = matches(line, typed)
    start = max(0, (found[0][0] if found else 0) - LEAD_CHARS)
    if start:
        start = line.rfind(" ", 0, start + 1) + 1
    end = start + MAX_CHARS
    lead = "…" if start else ""
    shift = len(lead) - start
    marks = tuple((at + shift, to + shift) for at, to in found if start <= at and to <= end)
    return Excerpt(f"{lead}{line[start:end]}{'…' if end < len(line) else ''}", marks)


def matches(text: str, typed: Sequence[str]) -> list[tuple[int, int]]:
    """Where words of the text begin like a typed one, in order, without overlaps."""
    plain, places = plainly(text)
    words = sorted({plainly(word)[0] for word in typed} - {""}, key=len, reverse=True)
    if not words:
        return []
    # Scripts without spaces have no beginnings of words; there any place counts.
    pattern = "|".join(rf"\b{re.escape(word)}" if word.isascii() else re.escape(word) for word in words)
    return [(places[found.start()], places[found.end() - 1] + 1) for found in re.finditer(pattern, plain)]


def plainly(text: str) -> tuple[str, list[int]]:
    """The text in small letters without accents, and for each of its characters the place in the text."""
    letters, places = list[str](), list[int]()
    for at, character in enumerate(text):
        for letter in character.lower() if character.isascii() else spell_out(character):
            letters.append(letter)
            places.append(at)
    return "".join(letters), places
