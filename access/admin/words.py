"""Stored words, such as states and names of fields, in the reader's language."""

from django.utils.text import capfirst
from django.utils.translation import pgettext

WORD = "word"  # the context of these words in the catalogues: not a label of the same spelling


def in_words(word: object) -> str:
    """The word as the reader says it, capitalised if it was; an unknown one as it is."""
    text = str(word)
    if not text:
        return ""
    found = pgettext(WORD, text)
    if found == text and text[0].isupper():
        small = text[0].lower() + text[1:]
        known = pgettext(WORD, small)
        return capfirst(known) if known != small else text
    return found
