"""Dates in words."""

import pytest

from memories.language.dates.spans import NamedDate
from memories.language.dates.written import read_times


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
