"""Each field of a draft is checked, and the error names the field and what is allowed."""

import time
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from access.errors import InvalidInput, LociError, TooLarge
from memories.draft import Draft, check_draft, is_web_source

NAIVE = datetime(2026, 1, 1)  # noqa: DTZ001 - what is to be refused
BEYOND = datetime(9999, 12, 31, 23, 59, tzinfo=timezone(timedelta(hours=-14)))


@pytest.mark.parametrize(
    ("fields", "field", "said"),
    [
        ({"content": ""}, "content", "is empty"),
        ({"type": "fact"}, "type", "episodic, semantic, procedural, entity"),
        ({"scope": "world"}, "scope", "global, group"),
        ({"confidence": 7}, "confidence", "from 0 to 1"),
        ({"confidence": float("nan")}, "confidence", "from 0 to 1"),
        ({"confidence": True}, "confidence", "from 0 to 1"),
        ({"confidence": "high"}, "confidence", "from 0 to 1"),
        ({"importance": 0}, "importance", "from 1 to 10"),
        ({"importance": 11}, "importance", "from 1 to 10"),
        ({"position": -1}, "position", "from 0 to 1000000000"),
        ({"position": 2**31 - 1}, "position", "from 0 to 1000000000"),
        ({"position": 1.5}, "position", "a whole number"),
        ({"importance": 5.5}, "importance", "a whole number"),
        ({"tags": tuple(f"t{n}" for n in range(1000))}, "tags", "at most"),
        ({"tags": ("x" * 61,)}, "tags", "at most 60"),
        ({"thread": "x" * 201}, "thread", "at most 200"),
        ({"source": "x" * 201}, "source", "at most 200"),
        ({"source_ref": "x" * 301}, "source_ref", "at most 300"),
        ({"metadata": {"a": float("nan")}}, "metadata", "not JSON"),
        ({"metadata": {"a": object()}}, "metadata", "not JSON"),
        ({"metadata": {"a": "\x00"}}, "metadata", "NUL"),
        ({"metadata": {"a": "\ud800"}}, "metadata", "not JSON"),
        ({"metadata": {"a": "x" * 1_000_000}}, "metadata", "at most"),
        ({"valid_from": BEYOND}, "valid_from", "outside the calendar"),
        ({"expires_at": BEYOND}, "expires_at", "outside the calendar"),
        ({"valid_from": NAIVE}, "valid_from", "no time zone"),
        ({"valid_to": NAIVE}, "valid_to", "no time zone"),
        ({"expires_at": NAIVE}, "expires_at", "no time zone"),
    ],
)
def test_a_wrong_field_is_named(fields: dict[str, Any], field: str, said: str) -> None:
    with pytest.raises(LociError) as error:
        check_draft(Draft(**({"content": "A fact."} | fields)))
    assert isinstance(error.value, InvalidInput)
    assert error.value.field == field
    assert said in str(error.value)


def test_an_end_does_not_lie_before_the_beginning() -> None:
    start, end = datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
    with pytest.raises(InvalidInput) as error:
        check_draft(Draft("A fact.", valid_from=start, valid_to=end))
    assert error.value.field == "valid_to"


def test_too_much_is_told_with_the_limit() -> None:
    with pytest.raises(TooLarge) as error:
        check_draft(Draft("x" * 5_000_000))
    assert (error.value.field, error.value.status) == ("content", 413)


def test_what_is_right_comes_back_clean() -> None:
    draft = check_draft(
        Draft(" A\x07 fact. ", tags=("B", "b", " a "), thread=" t\n1 ", confidence=1, importance=10)
    )
    assert (draft.content, draft.removed_characters) == ("A fact.", 1)
    assert (draft.tags, draft.thread) == (("B", "a"), "t 1")


def test_a_text_about_nul_is_no_nul() -> None:
    literal = "in JSON it is written \\u0000"
    assert check_draft(Draft("x", metadata={"note": literal})).metadata == {"note": literal}
    for nul in ("\x00", "\\\x00"):
        with pytest.raises(InvalidInput, match="NUL"):
            check_draft(Draft("x", metadata={"note": nul}))


def test_a_draft_that_is_clean_already_is_not_made_again() -> None:
    draft = Draft("Tea at four.", tags=("tea",), metadata={"n": 1}, source="wiki", source_ref="a")
    assert check_draft(draft) is draft
    assert check_draft(Draft(" Tea\x07 at four. ", tags=("Tea",))) == Draft(
        "Tea at four.", tags=("Tea",), removed_characters=1
    )


def test_only_a_web_page_or_a_capture_is_html() -> None:
    assert [
        is_web_source(each) for each in ("https://x.test/a", "capture:firefox", "notes.md", "hook:git")
    ] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    "source",
    [" https://x.test/a", "HTTPS://X.test", "\u200bhttps://x.test", "https\u2060://x.test", "Web:reader", "ftp://x.test/a", "www.x.test",
     "\uff48ttps://x.test"],
)  # fmt: skip
def test_the_spelling_of_an_address_does_not_matter(source: str) -> None:
    assert is_web_source(source)


def test_a_heap_of_marks_in_a_source_is_refused_at_once() -> None:
    """Sorting these marks, which normalising does, takes seconds, in which no other thread runs."""
    heap, began = "a" + "\u0301\u0316" * 40_000, time.process_time()
    with pytest.raises(InvalidInput, match="at most 200") as refused:
        check_draft(Draft("The port is 8081.", source=heap))
    assert refused.value.field == "source"
    assert time.process_time() - began < 1
