"""JSON files of any size, one element at a time: the file is never in memory as a whole."""

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, Final, NamedTuple

READ_BYTES: Final = 2**20
_MAX_ELEMENT_CHARS: Final = 2**24  # longest element; a conversation of a year has a few million characters
_SPACE: Final = re.compile(r"[ \t\r\n]*")


class JsonFault(ValueError):
    """The file is not JSON, is cut off, or has an element that is too large; the message says where."""


class _JsonItem(NamedTuple):
    """A value of the outermost object or list. `key` is "" in a list; elements of a list in an object have its key."""

    key: str
    value: Any
    is_element: bool = False


def read_items(file: BinaryIO) -> Iterator[_JsonItem]:
    """The values of a file's outermost object or list in order; lists in an object one level down element by element.

    A list that is empty is one item with the value []. Items before a fault are returned.

    Raises:
        JsonFault: see there.
    """
    return _JsonStream(file).items()


def peek(file: BinaryIO, *, items: int = 20) -> dict[str, Any]:
    """The first values of a file by their keys, of a list the first element; empty if the file is not JSON.

    The element of an outermost list has the key "".
    """
    found: dict[str, Any] = {}
    try:
        for number, item in enumerate(read_items(file)):
            if number == items or (item.is_element and item.key in found):
                break
            found[item.key] = item.value
    except JsonFault:
        pass
    return found


class _JsonStream:
    """A window on the file's text that moves forward."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")()
        self._parse = json.JSONDecoder().raw_decode
        self._text, self._at, self._before, self._is_over = "", 0, 0, False

    def items(self) -> Iterator[_JsonItem]:
        match self._next():
            case "[":
                yield from self._elements("")
            case "{":
                yield from self._members()
            case _:
                raise JsonFault("it is not a JSON object or list")
        if self._next():
            raise JsonFault(f"there is more after its end, at character {self._place()}")

    def _elements(self, key: str) -> Iterator[_JsonItem]:
        self._take("[")
        if self._next() == "]":
            self._at += 1
            yield _JsonItem(key, [])
            return
        while True:
            yield _JsonItem(key, self._value(), is_element=True)
            if self._take(",]") == "]":
                return

    def _members(self) -> Iterator[_JsonItem]:
        self._take("{")
        if self._next() == "}":
            self._at += 1
            return
        while True:
            key = self._value()
            if not isinstance(key, str):
                raise JsonFault(f"a key is missing at character {self._place()}")
            self._take(":")
            if self._next() == "[":
                yield from self._elements(key)
            else:
                yield _JsonItem(key, self._value())
            if self._take(",}") == "}":
                return

    def _take(self, wanted: str) -> str:
        found = self._next()
        if not found or found not in wanted:
            raise JsonFault(
                self._cut() if not found else f"unexpected {found!r} at character {self._place()}"
            )
        self._at += 1
        return found

    def _next(self) -> str:
        """The next character that is not a space, not taken; empty at the end of the file."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]  # it matches anywhere
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more(READ_BYTES):
                return ""

    def _value(self) -> Any:
        """Parse the next value; reads on, twice as much each time, until it is complete."""
        self._next()
        while True:
            try:
                value, end = self._parse(self._text, self._at)
            except RecursionError:
                raise JsonFault(f"it is nested too deeply at character {self._place()}") from None
            except ValueError as error:
                problem = str(error)
            else:
                # A number at the end of the window may go on.
                if end < len(self._text) or not self._more(READ_BYTES):
                    self._at = end
                    return value
                continue
            held = len(self._text) - self._at
            if held > _MAX_ELEMENT_CHARS:
                raise JsonFault(f"an element at character {self._place()} is too large, or broken: {problem}")
            if not self._more(max(held, READ_BYTES)):
                raise JsonFault(self._cut() if held else "the file ends too early")

    def _more(self, size: int) -> bool:
        """Read on; False at the end of the file."""
        if self._is_over:
            return False
        raw = self._file.read(size)
        self._is_over = not raw
        try:
            text = self._decode.decode(raw, final=not raw)
        except UnicodeDecodeError:
            raise JsonFault("it is not UTF-8") from None
        self._before += self._at
        self._text, self._at = self._text[self._at :] + text, 0
        return bool(raw)

    def _place(self) -> int:
        return self._before + self._at + 1

    def _cut(self) -> str:
        return f"the file is broken or cut off at character {self._place()}"
