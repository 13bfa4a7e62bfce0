"""Computed columns of a list, and the words in them: a typed version of unfold's decorator, and stored words in the reader's language."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, TypeVar

from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import get_language, gettext, pgettext
from unfold.decorators import display

# Contexts in the catalogues: stored words, which are not labels of the same spelling, and names of interfaces.
WORD, INTERFACE = "word", "interface"
_MAX_WORDS = 2_000  # cached, of all languages: a page shows the same few in every row
Label = str | Promise  # a text, or one that is translated where it is shown

_Column = TypeVar("_Column", bound=Callable[..., Any])


def column(
    heading: Label,
    *,
    ordering: str | None = None,
    labels: dict[str, str] | None = None,
    empty: Label | None = None,
    is_flag: bool = False,
) -> Callable[[_Column], _Column]:
    """A decorator that sets the heading of a list's column.

    `ordering` is the field to sort by; `labels` shows the value as a label and maps values to success, info, warning or
    danger; `empty` replaces None; `is_flag` shows booleans as icons.
    """
    wrap: Callable[[_Column], _Column] = display(
        description=heading, ordering=ordering, label=labels, empty_value=empty, boolean=is_flag or None
    )
    return wrap


def field_column(heading: Label, name: str, **how: Any) -> Callable[[Any, Any], Any]:
    """A list's column of a field under a heading of its own, sorted by it; `how` as in column()."""
    return column(heading, ordering=name, **how)(lambda admin, row: getattr(row, name))


def in_words(word: object) -> str:
    """The word as the reader says it, capitalised if it was; an unknown one as it is."""
    text = str(word)
    return _word_in(get_language(), text) if text else ""


def interface_name(via: object) -> str:
    """The interface of a call in the reader's language: the admin is not the role of that name."""
    return pgettext(INTERFACE, str(via)) if via else ""


def join_list(parts: Iterable[object]) -> str:
    """Words in one line, with the comma of the reader's language between them."""
    return gettext(", ").join(map(str, parts))


def join_clauses(parts: Iterable[object]) -> str:
    """Clauses of one sentence, with the semicolon of the reader's language between them."""
    return gettext("; ").join(map(str, parts))


def in_brackets(text: object) -> str:
    """A remark after a text, in the brackets of the reader's language; empty without one."""
    return gettext(" ({text})").format(text=text) if text else ""


def shorten(text: str, chars: int) -> str:
    """The start of a text, `chars` long at most. Django's own counts composed characters, a hundred times slower."""
    return text if len(text) <= chars else f"{text[: chars - 1]}…"


@lru_cache(maxsize=_MAX_WORDS)
def _word_in(language: str | None, text: str) -> str:
    """The word in the active language, which is `language`."""
    found = pgettext(WORD, text)
    if found == text and text[0].isupper():
        small = text[0].lower() + text[1:]
        known = pgettext(WORD, small)
        return capfirst(known) if known != small else text
    return found
