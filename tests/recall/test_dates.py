"""Dates in words."""

import pytest

from memories.recall.dates import NamedDate, asks_when, named_dates, tells_when


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("Who did she meet on May 3, 2023?", [NamedDate(2023, 5, 3)]),
        ("on 3 May 2023", [NamedDate(2023, 5, 3)]),
        ("on the 3rd of May", [NamedDate(None, 5, 3)]),
        ("in May 2023", [NamedDate(2023, 5, None)]),
        ("in Sept. 2021", [NamedDate(2021, None, None)]),  # short forms of months have three letters
        ("in Sep 2021", [NamedDate(2021, 9, None)]),
        ("before 2023-05-03", [NamedDate(2023, 5, 3)]),
        ("during 2019", [NamedDate(2019, None, None)]),
        ("May I ask?", [NamedDate(None, 5, None)]),  # a capital is all there is to go by
        ("you may go", []),
        ("on 45 May", [NamedDate(None, 5, None)]),
        ("nothing", []),
    ],
)
def test_dates_are_found_as_far_as_they_are_named(text: str, dates: list[NamedDate]) -> None:
    assert list(named_dates(text)) == dates


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
    assert tells_when(text)


@pytest.mark.parametrize("text", ["I like tea.", "Port 8081x", "Lasting peace", ""])
def test_other_texts_tell_no_time(text: str) -> None:
    assert not tells_when(text)
