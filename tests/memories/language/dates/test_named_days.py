"""A text's days are the same from its column as from its text, and a column that other rules wrote does not count."""

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest
from django.utils import timezone

from memories.language.dates.named_days import day_reader, keep_days, named_days

TEXTS = (
    "We met yesterday and leave on 3 May 2024.",
    "The lift stood still on the 31st of October.",
    "Since last week nothing.",
    "On 4/3/2023 the lease began.",
    "No time at all.",
)
MOMENT = datetime(2024, 3, 1, 22, 30, tzinfo=UTC)
DAY = date(2024, 3, 1)


def test_the_days_are_counted_from_the_texts_own_day() -> None:
    kept = keep_days("We met yesterday and leave on 3 May 2024.", MOMENT)
    assert kept == f"{day_reader()} 2024-03-01 2024-02-29 2024-05-03"
    assert named_days("other words", DAY, kept) == [date(2024, 2, 29), date(2024, 5, 3)]


@pytest.mark.parametrize("text", TEXTS)
def test_column_and_text_name_the_same_days(text: str) -> None:
    assert named_days(text, DAY, keep_days(text, MOMENT)) == named_days(text, DAY, None)


def test_in_another_time_zone_the_text_is_read() -> None:
    kept = keep_days("Yesterday.", MOMENT)
    with timezone.override("Europe/Berlin"):
        later = keep_days("Yesterday.", datetime(2024, 3, 1, 23, 30, tzinfo=UTC))
    assert named_days("Yesterday.", date(2024, 3, 2), kept) == [DAY]
    assert named_days("Yesterday.", DAY, later) == [date(2024, 2, 29)]


@pytest.mark.parametrize("kept", ["", " ", "of-older-rules 2024-03-01 2001-01-01", "nonsense"])
def test_what_other_rules_read_is_read_anew(kept: str) -> None:
    assert named_days("Yesterday.", DAY, kept) == [date(2024, 2, 29)]


def test_the_order_of_numbers_in_dates_is_one_of_the_rules(settings: Any) -> None:
    kept = keep_days(TEXTS[3], MOMENT)
    assert named_days(TEXTS[3], DAY, kept) == [date(2023, 3, 4)]
    settings.LOCI = replace(settings.LOCI, retrieval=replace(settings.LOCI.retrieval, date_order="mdy"))
    assert named_days(TEXTS[3], DAY, kept) == [date(2023, 4, 3)]
