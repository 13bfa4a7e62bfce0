"""The table of marks in docs/dev/architecture.md is compared with a fresh count by `.ci/run`; here is what counts as equal."""

import pytest

from bench.house import are_near


@pytest.mark.parametrize(
    ("told", "counted", "is_near"),
    [
        ("| lines | 84,000 |", "| lines | 85,000 |", True),
        ("| lines | 84,000 |", "| lines | 87,000 |", False),
        ("| files | 62 / 60 |", "| files | 63 / 60 |", True),
        ("| files | 62 / 60 |", "| files | 62 / 70 |", False),
        ("| cycles | 0 |", "| cycles | 3 |", False),
        ("| files | 62 |", "| rooms | 62 |", False),
    ],
)
def test_numbers_that_differ_little_are_near(told: str, counted: str, *, is_near: bool) -> None:
    assert are_near(told, counted) == is_near
