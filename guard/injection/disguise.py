"""Undoes disguises: spaced letters, digits for letters, joined words, Base64, ROT13, reversed text."""

import base64
import binascii
import codecs
import re
from collections.abc import Callable
from typing import Final

from guard.patterns import Pattern

MIN_LEET_WORDS: Final = 2  # one is a name: k8s, log4j, web3
MIN_PRINTABLE: Final = 0.9  # of what Base64 decodes to; less is no text
MAX_PASSAGES: Final = 50
# One pass that says whether there is anything to undress; most texts have nothing.
_ANY = Pattern(
    r"(?i)\b\w(?:[ .\-_*]\w){3}|[a-z]{2}(?:[._*+~|-]|/\*)+[a-z]{2,}(?:[._*+~|-]|/\*)+[a-z]|[a-z][013457@$]+[a-z]{2}|[013457@$][a-z]{3}"
    r"|[a-z0-9+/]{24}|snoitcurtsni|tpmorp|erongi|droges|selur|rot-?13"
)
_ROT13 = Pattern(r"(?i)rot-?13")
_BACKWARDS = Pattern(r"(?i)snoitcurtsni|tpmorp|erongi|droges|selur")
_LEET = Pattern(
    r"(?i)\b(?:[a-z]{1,20}[013457@$]{1,3}[a-z]{2,20}|[013457@$]{1,3}[a-z]{3,20})[a-z013457@$]{0,20}\b"
)
_LEET_LETTERS: Final = str.maketrans("013457@$", "oieastas")
_SIGNS = re.compile(r"(?:[._*+~|-]|/\*+/)+")


def undressed(text: str) -> tuple[str, tuple[int, int]] | None:
    """The disguised passages of a text in plain letters, and the span they cover; None without any."""
    if not _ANY.is_found(text):
        return None
    whole = (0, len(text))
    if _ROT13.is_found(text):
        return codecs.decode(text, "rot13"), whole
    if _BACKWARDS.is_found(text):
        return text[::-1], whole
    if len(leet := [*_LEET.spans(text)]) >= MIN_LEET_WORDS:
        return in_letters(text, leet), whole
    told = [
        (span, plain)
        for pattern, reveal in _DRESSES
        for span in [*pattern.spans(text)][:MAX_PASSAGES]
        if (plain := reveal(text[slice(*span)]))
    ]
    if not told:
        return None
    span = min(start for (start, _), _ in told), max(end for (_, end), _ in told)
    return ". ".join(plain for _, plain in told), span


def in_letters(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with digits in these words replaced by the letters they stand for."""
    parts, at = list[str](), 0
    for start, end in spans:
        parts += text[at:start], text[start:end].replace("11", "ll").translate(_LEET_LETTERS)
        at = end
    return "".join((*parts, text[at:]))


def close_up(spaced: str) -> str:
    """Spaced letters joined to words; two or more separators end a word."""
    return " ".join(re.sub(r"[ .\-_*]", "", word) for word in re.split(r"[ .\-_*]{2,}", spaced))


def separate(joined: str) -> str:
    """Joined words separated by spaces."""
    return _SIGNS.sub(" ", joined)


def decode(raw: str) -> str:
    """The text that Base64 encodes; empty if it is not text."""
    try:
        told = base64.b64decode(raw + "=" * (-len(raw) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
    printable = sum(character.isprintable() for character in told)
    return told if told and printable >= MIN_PRINTABLE * len(told) else ""


_DRESSES: Final[tuple[tuple[Pattern, Callable[[str], str]], ...]] = (
    (Pattern(r"\b[A-Za-z0-9+/]{24,900}={0,2}"), decode),
    (Pattern(r"\b\w(?:[ .\-_*]\w){3,40}(?:[ .\-_*]{2,4}\w(?:[ .\-_*]\w){1,40}){0,20}\b"), close_up),
    (Pattern(r"[A-Za-z]{2,20}(?:(?:[._*+~|-]|/\*+/)[A-Za-z]{2,20}){3,30}"), separate),
)
