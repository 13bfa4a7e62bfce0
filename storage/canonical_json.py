"""JSON that was written out beforehand: many objects of the same shape, of which a part is the same in all.

Each is written twice: as the log hashes it, with sorted keys and every letter as it is, and as Django's JSON columns hold
it. Both are letter for letter what json.dumps() gives.
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
    """An object as JSON: `canonical` is what is hashed, `stored` what the column holds."""

    canonical: str
    stored: str

    def value(self) -> Any:
        """Give the object."""
        return json.loads(self.canonical)


def canonical_json(value: Any) -> str:
    """Give what is hashed of a value."""
    return value.canonical if isinstance(value, ReadyJson) else CANONICAL.encode(value)


def encode_rows(name: str, columns: Mapping[str, Sequence[Any]]) -> list[ReadyJson]:
    """Give `{name: {…}}` for each row of some columns, whose values JSON has or are texts, numbers, lists, objects."""
    shared, own = dict[str, Any](), dict[str, Sequence[Any]]()
    for key, values in columns.items():
        if len({*map(id, values)}) == 1:
            shared[key] = values[0]
        else:
            own[key] = values
    count = max(map(len, columns.values()))
    canonical = _written(name, columns, shared, own, count, is_stored=False)
    stored = _written(name, columns, shared, own, count, is_stored=True)
    return [*map(ReadyJson, canonical, stored)]


def _written(
    name: str,
    names: Mapping[str, Any],
    shared: Mapping[str, Any],
    own: Mapping[str, Sequence[Any]],
    count: int,
    *,
    is_stored: bool,
) -> list[str]:
    encode, text = (
        (_STORED.encode, encode_basestring_ascii) if is_stored else (CANONICAL.encode, encode_basestring)
    )
    between, after = (", ", ": ") if is_stored else (",", ":")
    order = [*names] if is_stored else sorted(names)
    parts = [
        _escaped(text(key)) + after + ("%s" if key in own else _escaped(encode(shared[key]))) for key in order
    ]
    template = f"{{{_escaped(text(name))}{after}{{{between.join(parts)}}}}}"
    columns = [_texts(own[key], text, encode) for key in order if key in own]
    # A loop of Python's own: others wait for the interpreter, and it lets them in between two rows.
    return [template % row for row in (zip(*columns, strict=True) if columns else [()] * count)]


def _texts(values: Sequence[Any], text: Callable[[str], str], encode: Callable[[Any], str]) -> Iterable[str]:
    if {*map(type, values)} == {str}:
        return map(text, values)
    return [text(value) if type(value) is str else encode(value) for value in values]


def _escaped(text: str) -> str:
    return text.replace("%", "%%")
