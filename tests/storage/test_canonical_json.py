"""JSON composed from columns equals json.dumps() of each object, letter for letter."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from storage.canonical_json import CANONICAL, ReadyJson, canonical_json, encode_rows

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.lists(st.text(max_size=3), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3), max_size=3),
)
TABLES = st.integers(1, 5).flatmap(
    lambda count: st.dictionaries(
        st.text(max_size=5), st.lists(VALUES, min_size=count, max_size=count), min_size=1, max_size=5
    )
)


def written(name: str, columns: dict[str, list[Any]]) -> list[ReadyJson]:
    """The same by json.dumps()."""
    rows = [{name: dict(zip(columns, row, strict=True))} for row in zip(*columns.values(), strict=True)]
    return [ReadyJson(CANONICAL.encode(row), json.dumps(row)) for row in rows]


@settings(max_examples=100, deadline=None)
@given(TABLES)
def test_it_is_what_json_dumps_writes(columns: dict[str, list[Any]]) -> None:
    assert encode_rows("after", columns) == written("after", columns)


def test_both_ways_of_writing_by_hand() -> None:
    kept = {"b": "same %s"}
    found = encode_rows("after", {"text": ["é", '"\x7f%'], "kept": [kept, kept], "a": [1, 1.0]})
    assert found == [
        ReadyJson(
            '{"after":{"a":1,"kept":{"b":"same %s"},"text":"é"}}',
            '{"after": {"text": "\\u00e9", "kept": {"b": "same %s"}, "a": 1}}',
        ),
        ReadyJson(
            '{"after":{"a":1.0,"kept":{"b":"same %s"},"text":"\\"\x7f%"}}',
            '{"after": {"text": "\\"\\u007f%", "kept": {"b": "same %s"}, "a": 1.0}}',
        ),
    ]


def test_equal_values_of_two_kinds_stay_what_they_are() -> None:
    found = encode_rows("x", {"n": [1, True, 1.0, 0, False]})
    assert [ready.canonical for ready in found] == [
        '{"x":{"n":1}}', '{"x":{"n":true}}', '{"x":{"n":1.0}}', '{"x":{"n":0}}', '{"x":{"n":false}}'
    ]  # fmt: skip


def test_the_object_comes_back_and_any_other_is_hashed_as_before() -> None:
    [ready] = encode_rows("after", {"text": ["é"], "n": [None]})
    assert ready.value() == {"after": {"text": "é", "n": None}}
    assert canonical_json(ready) == canonical_json(ready.value()) == '{"after":{"n":null,"text":"é"}}'
