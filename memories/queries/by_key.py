"""Rows of memories by their keys, with one query whatever their number."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TypeVar

from memories.models import Memory
from storage.compiled_queries import CompiledQuery

MIN_KEYS = 16  # keys that a query is made for; more are rounded up, so that few queries are compiled
T = TypeVar("T")


def read_memories(keys: Iterable[int]) -> dict[int, Memory]:
    """Give those of the memories that are there with their group and thread, by key; one query."""
    return {row.key: row for row in read_rows(_shown, [*keys])}


def read_rows(prepared: Callable[[int], CompiledQuery[T]], keys: Sequence[int | str]) -> list[T]:
    """Give the rows of these keys; `prepared` gives the query for so many."""
    if not keys:
        return []
    asked = pad_keys(keys)
    return prepared(len(asked)).rows(*asked)


def pad_keys(keys: Sequence[int | str]) -> list[int | str]:
    """Give some keys with the last one as often again as makes their number one that queries are made for.

    A key that is asked for twice is found once.
    """
    count = MIN_KEYS
    while count < len(keys):
        count *= 2
    return [*keys, *[keys[-1]] * (count - len(keys))]


@cache
def _shown(count: int) -> CompiledQuery[Memory]:
    return CompiledQuery(
        lambda *keys: Memory.objects.select_related("group", "thread").filter(key__in=keys).order_by(),
        count,
    )
