"""Counts in words."""

import pytest

from memories.language.cleaning import format_count
from sources.format import counts_text


@pytest.mark.parametrize(
    ("count", "noun", "said"),
    [
        (1, "memory", "1 memory"),
        (0, "memory", "0 memories"),
        (2, "alias", "2 aliases"),
        (1, "alias", "1 alias"),
        (3, "conflict", "3 conflicts"),
        (1, "row", "1 row"),
    ],
)
def test_one_is_not_told_of_as_many(count: int, noun: str, said: str) -> None:
    assert format_count(count, noun) == said


def test_an_export_is_told_of_by_its_kinds() -> None:
    counts = {"group": 2, "memory": 17, "link": 1, "alias": 1, "log": 5}
    assert counts_text(counts) == "2 groups, 17 memories, 1 link, 1 alias, 5 log rows"
    assert counts_text({}) == "nothing"
