"""Dates in words."""

import pytest

from memories.recall.dates import written as dates_module
from memories.recall.dates.spans import NamedDate
from memories.recall.dates.written import asks_when, mentions_time, read_times


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("Who did she meet on May 3, 2023?", [NamedDate(2023, 5, 3)]),
        ("on 3 May 2023", [NamedDate(2023, 5, 3)]),
        ("on the 3rd of May", [NamedDate(None, 5, 3)]),
        ("in May 2023", [NamedDate(2023, 5, None)]),
        ("in Sept. 2021", [NamedDate(2021, 9, None)]),
        ("in Sep 2021", [NamedDate(2021, 9, None)]),
        ("on 2023-05-03", [NamedDate(2023, 5, 3)]),
        ("during 2019", [NamedDate(2019, None, None)]),
        ("May I ask?", [NamedDate(None, 5, None)]),  # a capital is all there is to go by
        ("you may go", []),
        ("on 45 May", [NamedDate(None, 5, None)]),
        ("nothing", []),
    ],
)
def test_dates_are_found_as_far_as_they_are_named(text: str, dates: list[NamedDate]) -> None:
    assert list(read_times(text).times) == dates


@pytest.mark.parametrize("question", ["When did she leave?", "What year was it?", "which day suits you"])
def test_a_question_for_a_time_is_known(question: str) -> None:
    assert asks_when(question)


@pytest.mark.parametrize("question", ["What does she like?", "How long is the whenever list?", ""])
def test_other_questions_ask_for_no_time(question: str) -> None:
    assert not asks_when(question)


@pytest.mark.parametrize(
    "text", ["We met yesterday.", "two weeks ago", "on Monday", "since June", "in 1999", "this morning"]
)
def test_a_text_that_speaks_of_a_time_is_known(text: str) -> None:
    assert mentions_time(text)


@pytest.mark.parametrize("text", ["I like tea.", "Port 8081x", "Lasting peace", ""])
def test_other_texts_tell_no_time(text: str) -> None:
    assert not mentions_time(text)


def test_what_was_found_is_remembered_without_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dates_module, "_MENTIONS", {})
    texts = ["The key is under the mat since Sunday.", "The key is under the mat."]
    assert [mentions_time(text) for text in texts] == [True, False]
    monkeypatch.setattr(dates_module, "search_time", lambda text: pytest.fail("it is known already"))
    assert [mentions_time(" ".join(text.split())) for text in texts] == [True, False]
    assert {type(mark) for mark in dates_module._MENTIONS} == {int}


def test_no_more_is_remembered_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dates_module, "_MENTIONS", {})
    monkeypatch.setattr(dates_module, "MAX_CACHED_TEXTS", 3)
    for number in range(10):
        assert not mentions_time(f"service {number}")
        assert len(dates_module._MENTIONS) <= 3


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ("this morning", True),
        ("This  morning", False),
        ("in 1999!", True),
        ("port 80801", False),
        ("\u0662\u0660\u0661\u0669", True),
    ],
)
def test_spans_and_years_are_told_by_their_whole_form(text: str, is_told: bool) -> None:
    assert mentions_time(text) is is_told
