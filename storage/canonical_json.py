"""JSON encoded in bulk: many objects of the same shape, part of whose values are shared.

Each has two encodings: the canonical one that the log hashes (sorted keys, no escapes of letters), and that of Django's
JSON columns. Both equal the output of json.dumps() byte for byte.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any

CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
_STORED = json.JSONEncoder()


@dataclass(frozen=True, slots=True)
class ReadyJson:
    """An encoded object: `canonical` is hashed, `stored` goes into the column."""

    canonical: str
    stored: str

    @classmethod
    def of(cls, value: Any) -> "ReadyJson":
        """The encoded object of one value."""
        return cls(CANONICAL.encode(value), _STORED.encode(value))

    def value(self) -> Any:
        """The decoded object."""
        return json.loads(self.canonical)


def canonical_json(value: Any) -> str:
    """The canonical encoding of a value, as it is hashed."""
    return value.canonical if isinstance(value, ReadyJson) else CANONICAL.encode(value)


def encode_rows(name: str, columns: Mapping[str, Sequence[Any]]) -> list[ReadyJson]:
    """`{name: {column: value, …}}` for each row of the columns; every value must be JSON-encodable."""
    shared, own = dict[str, Any](), dict[str, Sequence[Any]]()
    for key, values in columns.items():
        if len({*map(id, values)}) == 1:
            shared[key] = values[0]
        else:
            own[key] = values
    count = max(map(len, columns.values()))
    canonical = _encode_objects(name, columns, shared, own, count, is_stored=False)
    stored = _encode_objects(name, columns, shared, own, count, is_stored=True)
    return [*map(ReadyJson, canonical, stored)]


def _encode_objects(
    name: str,
    names: Mapping[str, Any],
    shared: Mapping[str, Any],
    own: Mapping[str, Sequence[Any]],
    count: int,
    *,
    is_stored: bool,
) -> list[str]:
    """Encode the rows through one template that holds the shared values; `is_stored` picks the encoding."""
    encode, text = (
        (_STORED.encode, encode_basestring_ascii) if is_stored else (CANONICAL.encode, encode_basestring)
    )
    between, after = (", ", ": ") if is_stored else (",", ":")
    order = [*names] if is_stored else sorted(names)
    parts = [
        _escape_percent(text(key)) + after + ("%s" if key in own else _escape_percent(encode(shared[key])))
        for key in order
    ]
    template = f"{{{_escape_percent(text(name))}{after}{{{between.join(parts)}}}}}"
    columns = [_encode_column(own[key], text, encode) for key in order if key in own]
    # A loop in Python, not C: it lets waiting threads take the interpreter between two rows.
    return [template % row for row in (zip(*columns, strict=True) if columns else [()] * count)]


def _encode_column(
    values: Sequence[Any], text: Callable[[str], str], encode: Callable[[Any], str]
) -> Iterable[str]:
    if {*map(type, values)} == {str}:
        return map(text, values)
    return [text(value) if type(value) is str else encode(value) for value in values]


def _escape_percent(text: str) -> str:
    """Escape a literal part of a %-template."""
    return text.replace("%", "%%")
