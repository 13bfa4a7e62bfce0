"""Quotes: a text's words inside another text, whatever the case, width, line breaks and punctuation between them."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final

from django.db.models import F, Func, IntegerField, JSONField, Q, QuerySet, TextField
from django.db.models.functions import Cast, Length

from memories.language.cleaning import fold

REDACTION: Final = "[purged]"
MAX_SEARCHED: Final = 24  # words looked for in the database; above it, reading all rows is faster
KEY_WORDS: Final = 3  # the longest words of a text: a value without any of them does not quote it
MAX_KEY_CHARS: Final = 64
# Scripts without spaces: each letter counts as a word.
_UNSPACED: Final = "\u0e00-\u0eff\u0f00-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_WORD: Final = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_ASCII_WORD: Final = re.compile(r"[a-z0-9]+")  # of a plain text: seven times as fast
_fold_letter: Final = lru_cache(maxsize=4096)(fold)


class Quotes:
    """Finds texts, as whole words, inside other texts, and blanks them there."""

    def __init__(self, texts: Iterable[str]) -> None:
        given = set(texts) - {""}
        # A text without a letter or digit, such as an emoji, is found as it is.
        self.signs = {text for text in given if not fold_words(text).strip()}
        self.texts = {fold_words(text) for text in given - self.signs}
        self._by_word: dict[str, set[str]] = {}
        for text in self.texts:
            for word in sorted(text.split(), key=len)[-KEY_WORDS:]:
                self._by_word.setdefault(word, set()).add(text)

    def find(self, value: str) -> list[str]:
        """The texts, folded, that a value contains; the longest first, since it may contain others."""
        # Look-alike letters are folded only where another long word of the text is found: folding is slow.
        plain = unicodedata.normalize("NFKC", value).casefold()
        words = self._by_word.keys() & (_ASCII_WORD if plain.isascii() else _WORD).findall(plain)
        signs = [sign for sign in self.signs if sign in value]
        if not words:
            return signs
        wanted, folded = set[str]().union(*(self._by_word[word] for word in words)), fold_words(value)
        return sorted((*signs, *(text for text in wanted if text in folded)), key=len, reverse=True)

    def are_in(self, value: Any) -> bool:
        """True if a text, or a string anywhere in a JSON value, contains one of the texts."""
        return any(self.find(text) for text in _strings(value))

    def blank(self, value: Any) -> Any:
        """A text or JSON value with REDACTION in place of each of the texts."""
        if isinstance(value, str):
            for text in self.find(value):
                value = value.replace(text, REDACTION) if text in self.signs else _blank_one(value, text)
            return value
        if isinstance(value, list):
            return [self.blank(part) for part in value]
        if isinstance(value, dict):
            return {self.blank(name): self.blank(part) for name, part in value.items()}
        return value

    def rows(self, rows: QuerySet[Any], *columns: str) -> list[tuple[Any, ...]]:
        """The primary keys and columns of the rows one of whose columns contains one of the texts."""
        if not self.texts | self.signs:
            return []
        may = self._may_hold(rows, columns) if len(self.texts) <= MAX_SEARCHED else rows
        found = may.order_by().values_list("pk", *columns).iterator(chunk_size=2000)
        return [row for row in found if any(map(self.are_in, row[1:]))]

    def _may_hold(self, rows: QuerySet[Any], columns: Iterable[str]) -> QuerySet[Any]:
        """The rows with an ASCII word of each text, or with any other letters, which only Python folds right."""
        plain = {
            max((word for word in text.split() if word.isascii()), key=len, default="") for text in self.texts
        }
        found = Q()
        for column in columns:
            name = f"text_of_{column}"
            size = Func(F(name), function="OCTET_LENGTH", output_field=IntegerField())
            rows = rows.alias(**{name: Cast(column, TextField())})
            rows = rows.alias(**{f"size_of_{column}": size, f"chars_of_{column}": Length(name)})
            found |= Q(**{f"size_of_{column}__gt": F(f"chars_of_{column}")})
            if isinstance(rows.model._meta.get_field(column), JSONField):
                found |= Q(**{f"{name}__contains": "\\u"})  # SQLite's JSON has other letters escaped
            for sign in self.signs:
                found |= Q(**{f"{name}__contains": sign})
            for word in plain - {""}:
                found |= Q(**{f"{name}__icontains": word[:MAX_KEY_CHARS]})
        return rows.filter(found)


def fold_words(text: str) -> str:
    """The words of a text, folded, with a space around each."""
    return f" {' '.join(_WORD.findall(fold(text)))} "


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)
    elif isinstance(value, dict):
        yield from value
        for part in value.values():
            yield from _strings(part)


def _blank_one(value: str, text: str) -> str:
    """The value with REDACTION in place of a folded text and the stop after it."""
    letters, places = list[str](), list[int]()
    for place, letter in enumerate(value):
        folded = " " if letter.isspace() else _fold_letter(letter)
        letters.append(folded)
        places += [place] * len(folded)
    words = list(_WORD.finditer("".join(letters)))
    joined, count, at, kept = f" {' '.join(word[0] for word in words)} ", text.count(" ") - 1, 0, list[str]()
    start = joined.find(text)
    while start >= 0:
        first = joined.count(" ", 0, start)
        begin, end = places[words[first].start()], places[words[first + count - 1].end() - 1] + 1
        end += value[end : end + 1] in tuple(".!?…。！？")
        kept += [value[at:begin], REDACTION]
        at, start = end, joined.find(text, start + len(text) - 1)
    return "".join([*kept, value[at:]])
