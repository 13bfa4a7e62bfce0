"""The values of an export's records, as their columns hold them."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest

from access.models import Group
from memories.models import Memory
from sources.importing.rows import parse_value

ID = "0198f3c2-1111-7222-8333-444455556666"


@pytest.mark.parametrize(
    ("name", "raw", "expected"),
    [
        ("content", "The port is 8081.", "The port is 8081."),
        ("source", "", ""),
        ("type", "semantic", "semantic"),
        ("id", ID, UUID(ID)),
        ("run", None, None),
        ("importance", 7, 7),
        ("importance", "7", 7),
        ("access_count", 30_001, 30_001),
        ("confidence", 0.25, 0.25),
        ("confidence", 1, 1.0),
        ("pinned", True, True),
        ("pinned", "f", False),
        ("tags", [], []),
        ("metadata", {"a": [None]}, {"a": [None]}),
        ("created_at", "2026-05-03T12:00:00+00:00", datetime(2026, 5, 3, 12, tzinfo=UTC)),
        (
            "valid_from",
            "2026-05-03 12:00:00.5+02:00",
            datetime(2026, 5, 3, 12, 0, 0, 500_000, tzinfo=timezone(timedelta(hours=2))),
        ),
        ("valid_to", None, None),
    ],
)
def test_a_value_comes_in_as_its_column_holds_it(name: str, raw: Any, expected: Any) -> None:
    value = parse_value(Memory, name, raw)
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("model", "name", "raw", "said"),
    [
        (Memory, "content", "a\x00b", "NUL"),
        (Memory, "content", 5, "'content' is 5"),
        (Memory, "content", None, "'content' is None"),
        (Memory, "source", "x" * 201, "at most 200 characters"),
        (Memory, "type", "song", "not one of its values"),
        (Memory, "type", "", "not one of its values"),
        (Memory, "id", "nope", "not a valid UUID"),
        (Memory, "access_count", -1, "greater than or equal to 0"),
        (Memory, "access_count", 2**70, "less than or equal"),
        (Memory, "confidence", "much", "must be a float"),
        (Memory, "created_at", "2026-05-03T12:00:00", "no time zone"),
        (Memory, "created_at", "yesterday", "created_at"),
        (Memory, "colour", "red", "no column 'colour'"),
        (Group, "slug", "no slug!", "slug"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(model: Any, name: str, raw: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_value(model, name, raw)
