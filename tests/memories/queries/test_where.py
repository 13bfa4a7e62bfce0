"""`where`: one table of filters for every interface that takes them as an object."""

from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import jsonschema
import pytest

from access.errors import InvalidInput
from access.visibility import Narrowing
from memories.queries.where import WHERE, parse_where, where_schema


def test_the_table_has_every_filter_and_no_other() -> None:
    assert list(WHERE) == [field.name for field in fields(Narrowing)]
    jsonschema.Draft202012Validator.check_schema(where_schema())


def test_all_filters_are_read() -> None:
    narrowing = parse_where(
        {
            "types": ["semantic", "episodic"],
            "scope": "group",
            "tags": [" DB ", "db"],
            "min_confidence": 0.5,
            "min_importance": 7,
            "thread": " release  8 ",
            "source": "wiki",
            "as_of": "2026-05-03",
            "known_at": "2026-05-03T14:30+02:00",
            "after": "2026-01-01",
            "before": "2026-02-01",
        }
    )
    assert narrowing == Narrowing(
        types=frozenset({"semantic", "episodic"}),
        scope="group",
        tags=frozenset({"db"}),
        min_confidence=0.5,
        min_importance=7,
        thread="release 8",
        source="wiki",
        as_of=datetime(2026, 5, 3, tzinfo=UTC),
        known_at=datetime(2026, 5, 3, 12, 30, tzinfo=UTC),
        after=datetime(2026, 1, 1, tzinfo=UTC),
        before=datetime(2026, 2, 1, tzinfo=UTC),
    )


def test_nulls_and_empty_texts_do_not_narrow() -> None:
    assert parse_where({}) == parse_where(dict.fromkeys(WHERE)) == Narrowing()
    assert parse_where({"as_of": "", "thread": "", "scope": "", "tags": []}) == Narrowing()


@pytest.mark.parametrize(
    ("where", "field", "message"),
    [
        ({"type": ["semantic"]}, "where", "There is no filter 'type'."),
        ({"types": "semantic"}, "types", "'types' must be a list of texts."),
        ({"types": ["rumour"]}, "types", "'rumour' is not a valid type."),
        ({"scope": "all"}, "scope", "'all' is not a valid scope."),
        ({"tags": [7]}, "tags", "'tags' must be text."),
        ({"min_confidence": "high"}, "min_confidence", "it must be a number from 0 to 1."),
        ({"min_importance": 11}, "min_importance", "it must be a number from 0 to 10."),
        ({"min_importance": 2.5}, "min_importance", "'min_importance' must be a whole number."),
        ({"thread": ["a"]}, "thread", "'thread' must be text."),
        ({"source": "x" * 1001}, "source", "at most 1000 are allowed."),
        ({"after": "yesterday"}, "after", "'yesterday' in after is not a date."),
    ],
)
def test_a_wrong_filter_is_named(where: dict[str, Any], field: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_where(where)
    assert caught.value.field == field
    assert message in caught.value.message


def test_an_unknown_filter_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(
        InvalidInput, match=r"'where' takes types, scope, tags, min_confidence, .*, before, include_orphans\."
    ):
        parse_where({"type": ["semantic"]})
