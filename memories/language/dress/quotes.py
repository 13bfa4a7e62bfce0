"""Texts quoted in stored values: what a value says, which texts it quotes, and the value without them.

A value says its strings at any depth, JSON in strings decoded, escapes undone. The check for withdrawn texts, the erasing
of a purge and its certificate read values here, so that none of them finds what another misses. Each reading is shorter than
the text before it, and there are few, so the work grows with the length alone; a text without a backslash has itself as its
only reading.
"""

import html
import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final
from urllib.parse import unquote

from django.db.models import F, Func, IntegerField, Q, QuerySet, TextField
from django.db.models.functions import Cast, Length

from memories.language.cleaning import fold_letters

MAX_LEVELS: Final = 5  # of JSON in strings of JSON, and of escapes of escapes
_ESCAPE: Final = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([^ux]))",
    re.S,
)
# Within a sentence: tags, comments, ends of links and notes; a letter in a web address, and one in HTML.
_MARKUP: Final = re.compile(
    _ESCAPE.pattern
    + r"|(</?[a-z][^<>]{0,300}>|<!--[^<>]{0,300}-->|\]\([^()\s]{0,300}\)|\]\[[\w -]{0,40}\]|\[\^[\w-]{1,20}\]"
    r"|\[/?(?:b|i|u|s|code|quote|url|color|size)(?:=[^\[\]\n]{0,100})?\])"
    r"|(%[0-7][\da-f]|%[cd][\da-f]%[89ab][\da-f]|%e[\da-f](?:%[89ab][\da-f]){2}|%f[0-4](?:%[89ab][\da-f]){3})"
    r"|(&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z]{2,31}\d{0,2});)",
    re.S | re.I | re.A,
)
# One of these is where a letter may be written otherwise.
_ENCODED: Final = ("\\u", "\\x", "%", "&")
_CONTROLS: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")  # JSON may have them escaped; UTF-8 has none
_UNREADABLE: Final = "\ufffd"


def readings(text: str) -> Iterator[str]:
    """The text, and what it says with one level of escapes undone after the other."""
    return _undone(text, _ESCAPE) if "\\" in text else iter((text,))


def _undone(text: str, pattern: re.Pattern[str]) -> Iterator[str]:
    yield text
    for _ in range(MAX_LEVELS):
        if (undone := pattern.sub(_letter, text)) == text:
            return
        text = undone
        yield text


def _bare_readings(text: str) -> Iterator[str]:
    """The readings without markup within sentences, and with the letters that a web address or HTML encodes."""
    return _undone(text, _MARKUP)


def placed_readings(text: str) -> Iterator[tuple[str, Sequence[int]]]:
    """_bare_readings(), each with the place in the text where each of its letters begins, and that of the end."""
    places: Sequence[int] = range(len(text) + 1)
    before = ""
    for reading in _bare_readings(text):
        if before:
            at, now = 0, list[int]()
            for found in _MARKUP.finditer(before):  # each becomes one letter
                now += places[at : found.start() + 1]
                at = found.end()
            places = [*now, *places[at:]]
        yield reading, places
        before = reading


def strings_in(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """The strings of a JSON value, names of keys and JSON in strings included, each with its path."""
    if isinstance(value, str):
        if depth < MAX_LEVELS and (read := _json_in(value)) is not None:
            yield from strings_in(read, path, depth + 1)
        yield path, _LONE_SURROGATE.sub(_UNREADABLE, value) if depth else value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield f"{path}.{name}", str(name)
            yield from strings_in(part, f"{path}.{name}", depth)
    elif isinstance(value, list | tuple):
        for at, part in enumerate(value):
            yield from strings_in(part, f"{path}[{at}]", depth)


def _json_in(text: str) -> Any:
    """The JSON object, list or string that a text is; None if it is none."""
    if text.lstrip()[:1] not in ("{", "[", '"'):
        return None
    try:
        return json.loads(text, parse_int=float)  # Python refuses integers of thousands of digits
    except (ValueError, RecursionError):
        return None


def _letter(found: re.Match[str]) -> str:
    """The one letter that an escape or a code stands for; a space for markup."""
    high, low, unit, byte, other, *more = found.groups()
    if any(more):
        markup, percent, entity = more
        return " " if markup else (unquote(percent) if percent else html.unescape(entity) or " ")[0]
    if high:
        return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)
    if unit or byte:
        return _LONE_SURROGATE.sub(_UNREADABLE, chr(int(unit or byte, 16)))
    return _CONTROLS.get(other, other)


REDACTION: Final = "[purged]"
_MAX_SEARCHED: Final = 24  # words looked for in the database; above it, reading all rows is faster
_KEY_WORDS: Final = 3  # the longest words of a text: a value without any of them does not quote it
MAX_KEY_CHARS: Final = 64
# Scripts without spaces: each letter counts as a word.
_UNSPACED: Final = "\u0e00-\u0eff\u0f00-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_WORD: Final = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_ASCII_WORD: Final = re.compile(r"[a-z0-9]+")  # of a plain text: seven times as fast
_JSON_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_JSON_VALUE: Final = re.compile(rf"{_JSON_STRING.pattern}|[^\s\"\[\]{{}},:]+")
_fold_letter: Final = lru_cache(maxsize=4096)(fold_letters)


class Quotes:
    """Finds texts, as whole words, inside other texts, and blanks them there."""

    def __init__(self, texts: Iterable[str]) -> None:
        given = set(texts) - {""}
        # A text without a letter or digit, such as an emoji, is found as it is.
        self.signs = {text for text in given if not _fold_words(text).strip()}
        self.texts = {_fold_words(text) for text in given - self.signs}
        self._by_word: dict[str, set[str]] = {}
        for text in self.texts:
            for word in sorted(text.split(), key=len)[-_KEY_WORDS:]:
                self._by_word.setdefault(word, set()).add(text)

    def find(self, value: str) -> bool:
        """True if a text contains one of the texts, in any of its readings."""
        return any(self._find_plain(said) for said in _bare_readings(value))

    def are_in(self, value: Any) -> bool:
        """True if a text, or a string anywhere in a JSON value, contains one of the texts."""
        return any(self.find(text) for _, text in strings_in(value))

    def blank(self, value: Any) -> Any:
        """A text or JSON value with REDACTION in place of each of the texts; JSON in a string stays JSON."""
        if isinstance(value, str):
            return self._blank_text(value) if self.find(value) else value
        if isinstance(value, list):
            return [self.blank(part) for part in value]
        if isinstance(value, dict):
            return {self.blank(name): self.blank(part) for name, part in value.items()}
        return value

    def _find_plain(self, value: str) -> list[str]:
        """The texts, folded, that a value contains as it is."""
        # Look-alike letters are folded only where another long word of the text is found: folding is slow.
        plain = unicodedata.normalize("NFKC", value).casefold()
        words = self._by_word.keys() & (_ASCII_WORD if plain.isascii() else _WORD).findall(plain)
        signs = [sign for sign in self.signs if sign in value]
        if not words:
            return signs
        wanted, folded = set[str]().union(*(self._by_word[word] for word in words)), _fold_words(value)
        return [*signs, *(text for text in wanted if text in folded)]

    def _spans(self, value: str) -> list[tuple[int, int]]:
        """The positions of the texts in a value, in any of its readings."""
        found = list[tuple[int, int]]()
        for said, places in placed_readings(value):
            for text in self._find_plain(said):
                spans = (
                    (each.span() for each in re.finditer(re.escape(text), said))
                    if text in self.signs
                    else _spans_of(said, text)
                )
                found += [(places[begin], places[end]) for begin, end in spans]
        return _joined(found)

    def _blank_text(self, value: str, depth: int = 0) -> str:
        """The value without the texts. Of JSON each string is blanked by itself, and of what spans several values each."""
        is_json = depth < MAX_LEVELS and _json_in(value) is not None
        if is_json:
            value = _JSON_STRING.sub(lambda found: self._blank_string(found[0], depth + 1), value)
        spans = self._spans(value)
        if is_json:
            ends = [end for _, end in spans]

            def blanked(found: re.Match[str]) -> str:
                at = bisect_right(ends, found.start())
                is_part = at < len(spans) and spans[at][0] < found.end()
                return f'"{REDACTION}"' if is_part else found[0]

            return _JSON_VALUE.sub(blanked, value) if spans else value
        at, kept = 0, list[str]()
        for begin, end in spans:
            kept += [value[at:begin], REDACTION]
            at = end
        return "".join([*kept, value[at:]])

    def _blank_string(self, literal: str, depth: int) -> str:
        """A string of JSON, as it is written there."""
        if not self.find(literal):
            return literal
        text = json.loads(literal)
        blanked = self._blank_text(text, depth)
        is_ascii = literal.isascii() or "\\u" in literal  # which may be half of a letter
        return literal if blanked == text else json.dumps(blanked, ensure_ascii=is_ascii)

    def rows(self, rows: QuerySet[Any], *columns: str) -> list[tuple[Any, ...]]:
        """The primary keys and columns of the rows one of whose columns contains one of the texts."""
        if not self.texts | self.signs:
            return []
        may = self._may_hold(rows, columns) if len(self.texts) <= _MAX_SEARCHED else rows
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
            for escape in _ENCODED:  # a letter of the word may be written so
                found |= Q(**{f"{name}__contains": escape})
            for sign in self.signs:
                found |= Q(**{f"{name}__contains": sign})
            for word in plain - {""}:
                found |= Q(**{f"{name}__icontains": word[:MAX_KEY_CHARS]})
        return rows.filter(found)


def _fold_words(text: str) -> str:
    """The words of a text, folded, with a space around each."""
    return f" {' '.join(_WORD.findall(fold_letters(text)))} "


def _spans_of(value: str, text: str) -> Iterator[tuple[int, int]]:
    """The position of a folded text in a value, including the full stop after it."""
    letters, places = list[str](), list[tuple[int, int]]()
    for place in _places_of_letters(value):
        folded = _fold_letter(value[slice(*place)])
        letters.append(folded)
        places += [place] * len(folded)
    words = list(_WORD.finditer("".join(letters)))
    joined, count = f" {' '.join(word[0] for word in words)} ", text.count(" ") - 1
    start, first, counted = joined.find(text), 0, 0
    while start >= 0:
        first, counted = first + joined.count(" ", counted, start), start
        begin, end = places[words[first].start()][0], places[words[first + count - 1].end() - 1][1]
        yield begin, end + (value[end : end + 1] in tuple(".!?…。！？"))
        start = joined.find(text, start + len(text) - 1)


def _places_of_letters(value: str) -> Iterator[tuple[int, int]]:
    """The begin and end of each letter with what joins it: folded one by one, they are the folded value."""
    begin = 0
    for at, sign in enumerate(value):
        if at and not _joins(value[at - 1], sign):
            yield begin, at
            begin = at
    if value:
        yield begin, len(value)


@lru_cache(maxsize=4096)
def _joins(before: str, sign: str) -> bool:
    """True if normalising may make one letter of a sign and what is before it: a mark, or a part of a Hangul syllable."""
    first = unicodedata.normalize("NFKD", sign)[0]
    if unicodedata.category(first)[0] == "M":
        return True
    last = unicodedata.normalize("NFKD", before)[-1]
    return "\u1160" <= first <= "\u11ff" and "\u1100" <= last <= "\u11ff"


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in their order, those that overlap as one."""
    found = list[tuple[int, int]]()
    for begin, end in sorted(spans):
        if found and begin < found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((begin, end))
    return found
