"""Reading what an agent sends, piece by piece."""

from datetime import UTC, datetime
from typing import Any

import pytest

from access.errors import Conflict, InvalidInput
from loci_site.api.schemas.requests import MemoryIn
from loci_site.mcp.calls import (
    check_names,
    drop_nulls,
    error_text,
    explain_failure,
    find_domain_error,
    parse_moment,
)
from loci_site.mcp.tools import trim_schema
from memories.language import cleaning as moments
from sources.importing.formats.texts import draft_of


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-05-03", datetime(2026, 5, 3, tzinfo=UTC)),
        (" 2026-05-03T14:30 ", datetime(2026, 5, 3, 14, 30, tzinfo=UTC)),
        ("2026-05-03T14:30Z", datetime(2026, 5, 3, 14, 30, tzinfo=UTC)),
        ("2026-05-03T00:30+02:00", datetime(2026, 5, 2, 22, 30, tzinfo=UTC)),
        ("9999-12-31T23:59:59", datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
        ("", None),
        ("  ", None),
    ],
)
def test_a_moment_is_read(text: str, moment: datetime | None) -> None:
    assert parse_moment(text, field="as_of") == moment


@pytest.mark.parametrize(
    "text", ["2026-13-01", "2026-02-30", "03.05.2026", "now", "2026", "9999-12-31T23:59-12:00", "2026-05-03T25:00"]
)  # fmt: skip
def test_what_is_no_moment_names_the_field_and_the_form(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_moment(text, field="as_of")
    assert caught.value.field == "as_of"
    assert text in caught.value.message
    assert "ISO 8601" in caught.value.hint


@pytest.mark.parametrize("text", ["2026-05-03", "2026-05-03T14:30", "2026-05-03T00:30+02:00"])
def test_every_way_in_reads_a_moment_alike(text: str) -> None:
    read = {
        parse_moment(text, field="valid_from"),
        MemoryIn.model_validate({"content": "x", "valid_from": text}).valid_from,
        moments.parse_moment(text, field="valid_from"),
        draft_of({"id": 1, "text": "x", "group": "ledger", "timestamp": text}).valid_from,
    }
    assert len(read) == 1


def test_the_nearest_argument_is_named() -> None:
    with pytest.raises(
        InvalidInput, match="Did you mean tags\\? Its arguments are content, tags\\."
    ) as raised:
        check_names("store_memory", ["content", "tag"], ["content", "tags"])
    assert raised.value.field == "tag"
    with pytest.raises(InvalidInput, match="has no argument 'zzz'\\. Its arguments are content, tags\\."):
        check_names("store_memory", ["zzz"], ["content", "tags"])


def test_known_arguments_pass() -> None:
    check_names("store_memory", ["tags"], ["content", "tags"])


def test_a_null_is_dropped_and_nothing_else() -> None:
    assert drop_nulls({"a": None, "b": 0, "c": "", "d": False, "e": []}) == {
        "b": 0,
        "c": "",
        "d": False,
        "e": [],
    }


def test_an_error_is_said_with_its_hint_its_code_and_its_field() -> None:
    error = InvalidInput("confidence is 7.", hint="Use 0 to 1.", field="confidence")
    assert error_text(error) == "confidence is 7. Use 0 to 1. [invalid_input, confidence]"
    assert error_text(Conflict("It is so already.")) == "It is so already. [conflict]"


def test_what_is_no_unicode_is_spelt_out() -> None:
    assert error_text(InvalidInput("'\ud800' is no type.")) == "'\\ud800' is no type. [invalid_input]"


def test_the_reason_is_found_behind_what_wraps_it() -> None:
    reason = Conflict("It is so already.")
    outer = RuntimeError("wrapped")
    outer.__cause__ = ValueError("again")
    outer.__cause__.__cause__ = reason
    assert find_domain_error(outer) is reason
    assert find_domain_error(RuntimeError("alone")) is None


def test_a_fault_of_ours_is_logged_under_its_reference(caplog: pytest.LogCaptureFixture) -> None:
    text = explain_failure(RuntimeError("the password is swordfish"), what="recall_memory")
    assert "swordfish" not in text
    reference = text.split("reference ")[1].split(".")[0]
    assert (len(reference), reference in caplog.text, "swordfish" in caplog.text) == (8, True, True)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"title": "A", "type": "string"}, {"type": "string"}),
        ({"properties": {"title": {"title": "T", "type": "string"}}}, {"properties": {"title": {"type": "string"}}}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}, {"type": "integer"}),
        (
            {"anyOf": [{"type": "object"}, {"type": "string"}]},
            {"anyOf": [{"type": "object"}, {"type": "string"}]},
        ),
        ({"type": "array", "items": {"title": "I", "type": "string"}, "default": []}, {"type": "array", "items": {"type": "string"}}),
        ({"type": "number", "default": 0.7}, {"type": "number", "default": 0.7}),
        ({"$defs": {"title": {"title": "X"}}}, {"$defs": {"title": {}}}),
    ],
)  # fmt: skip
def test_a_schema_is_trimmed_of_what_says_nothing(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    assert trim_schema(schema) == expected
