"""Times in questions, by the lists of questions.py."""

from datetime import date, timedelta

import pytest

from memories.language.dates.spans import DaySpan, NamedDate, NamedTime, moments_of
from memories.language.dates.written import read_times
from tests.memories.language.dates.questions import (
    BOUNDS,
    NOW,
    RELATIVE,
    TIME_ALONE,
    TIME_AND_MORE,
    UNDATED,
    WRITTEN,
    WRONG,
)


def read(text: str) -> tuple[NamedTime, ...]:
    return read_times(text, today=NOW.date(), order="dmy").times


def written(time: NamedTime) -> str:
    """A time as the lists write it."""
    if isinstance(time, DaySpan):
        return str(time)
    if time.year is not None:
        return str(time.spans(NOW.date())[0])
    first = f"*-{time.month:02}-{time.day or 1:02}"
    if time.day is not None or time.month is None:
        return first
    last = date(2001, time.month % 12 + 1, 1) - timedelta(days=1)
    return f"{first}..*-{time.month:02}-{last.day}"


@pytest.mark.parametrize(("question", "expected"), [*WRITTEN.items(), *RELATIVE.items(), *BOUNDS.items()])
def test_the_time_of_a_question_is_read(question: str, expected: str) -> None:
    assert [written(time) for time in read(question)] == [expected]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What happened on 21 April this year?", [NamedDate(2026, 4, 21)]),
        ("what did we decide in March last year", [NamedDate(2025, 3)]),
        ("may this year be better", [DaySpan(date(2026, 1, 1), date(2026, 12, 31))]),
        # A weekday beside its date is that day, and no other one.
        ("What happened on Tuesday, 1 September 2026?", [NamedDate(2026, 9, 1)]),
        ("What did we note on Tuesday two weeks and a bit ago, 1 September?", [NamedDate(None, 9, 1)]),
    ],
)
def test_what_tells_more_of_a_date_is_no_other_time(question: str, expected: list[NamedTime]) -> None:
    assert list(read_times(question, today=date(2026, 9, 18), order="dmy").times) == expected


@pytest.mark.parametrize("question", UNDATED)
def test_a_question_without_a_time_gets_none(question: str) -> None:
    assert [str(time) for time in read(question)] == []


@pytest.mark.parametrize("question", TIME_ALONE)
def test_a_question_for_a_time_alone_is_known(question: str) -> None:
    assert read_times(question, today=NOW.date(), order="dmy").is_alone


@pytest.mark.parametrize("question", WRONG)
def test_a_question_for_what_went_wrong_is_known(question: str) -> None:
    found = read_times(question, today=NOW.date(), order="dmy")
    assert (found.is_alone, found.asks_wrong) == (False, True)


@pytest.mark.parametrize("question", [*TIME_AND_MORE, *UNDATED])
def test_a_question_that_asks_for_more_is_not_one_for_a_time_alone(question: str) -> None:
    assert not read_times(question, today=NOW.date(), order="dmy").is_alone


@pytest.mark.parametrize(
    ("question", "order", "expected"),
    [
        ("Who called on 4/3/2026?", "dmy", NamedDate(2026, 3, 4)),
        ("Who called on 4/3/2026?", "mdy", NamedDate(2026, 4, 3)),
        ("Who called on 25/6/2026?", "mdy", NamedDate(2026, 6, 25)),
        ("Who called on 6/25/2026?", "dmy", NamedDate(2026, 6, 25)),
        ("Who called on 4.3.2026?", "mdy", NamedDate(2026, 3, 4)),
    ],
)
def test_the_order_of_day_and_month_is_a_setting_where_both_are_possible(
    question: str, order: str, expected: NamedDate
) -> None:
    assert read_times(question, today=NOW.date(), order=order).times == (expected,)


@pytest.mark.parametrize("text", ["31.02.2024", "2026-13-01", "30 February 2024", "2026-W54", "00/00/2024"])
def test_a_day_that_no_calendar_has_is_no_day(text: str) -> None:
    assert not any(time.is_day for time in read(f"What happened on {text}?"))


def test_a_text_full_of_dates_is_read_up_to_a_limit() -> None:
    assert len(read(" ".join(f"{day}.{month}.2024" for month in range(1, 13) for day in range(1, 29)))) == 32


@pytest.mark.parametrize(
    "text", ["winter 9999", "Q4 9999", "5 years after 9998-01-01", "laſt ſpring", "in January", "29 February"]
)
@pytest.mark.parametrize("today", [date.min, NOW.date(), date.max])
def test_a_time_at_the_ends_of_the_calendar_or_in_other_letters_breaks_no_question(
    text: str, today: date
) -> None:
    for time in read_times(text, today=today).times:
        assert time.latest(today) in time.spans(today)
        assert [moments_of(span) for span in time.spans(today)]
