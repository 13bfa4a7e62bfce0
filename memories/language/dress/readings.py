"""What a stored value says: its strings at any depth, JSON in strings decoded, escapes undone.

The check for withdrawn texts, the erasing of a purge and its certificate read values here, so that none of them finds
what another misses; those of a purge read through markup and web addresses as well, which the check takes off with all other
dress. Each reading is shorter than the text before it, and there are few, so the work grows with the
length alone; a text without a backslash has itself as its only reading.
"""

import html
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import unquote

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
ENCODED: Final = ("\\u", "\\x", "%", "&")
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


def bare_readings(text: str) -> Iterator[str]:
    """The readings without markup within sentences, and with the letters that a web address or HTML encodes."""
    return _undone(text, _MARKUP)


def placed_readings(text: str) -> Iterator[tuple[str, Sequence[int]]]:
    """bare_readings(), each with the place in the text where each of its letters begins, and that of the end."""
    places: Sequence[int] = range(len(text) + 1)
    before = ""
    for reading in bare_readings(text):
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
        if depth < MAX_LEVELS and (read := json_in(value)) is not None:
            yield from strings_in(read, path, depth + 1)
        yield path, _LONE_SURROGATE.sub(_UNREADABLE, value) if depth else value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield f"{path}.{name}", str(name)
            yield from strings_in(part, f"{path}.{name}", depth)
    elif isinstance(value, list | tuple):
        for at, part in enumerate(value):
            yield from strings_in(part, f"{path}[{at}]", depth)


def json_in(text: str) -> Any:
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
