"""Rows of memories by key, with one query for any number of keys."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TypeVar

from memories.models import Memory
from storage.compiled_queries import CompiledQuery

MIN_KEYS = 16  # smallest compiled size; larger ones are doubled, so that few queries are compiled
T = TypeVar("T")


def read_memories(keys: Iterable[int]) -> dict[int, Memory]:
    """Existing memories by key, with their group and thread; one query."""
    return {row.key: row for row in read_rows(query_with_group, [*keys])}


def read_rows(query_for: Callable[[int], CompiledQuery[T]], keys: Sequence[int | str]) -> list[T]:
    """Rows of these keys; `query_for` returns the query for a number of keys."""
    if not keys:
        return []
    padded = pad_keys(keys)
    return query_for(len(padded)).rows(*padded)


def pad_keys(keys: Sequence[T], *, least: int = MIN_KEYS) -> list[T]:
    """Pad the keys to the next compiled size by repeating the last one, which is still found once."""
    count = least
    while count < len(keys):
        count *= 2
    return [*keys, *[keys[-1]] * (count - len(keys))]


@cache
def query_with_group(count: int) -> CompiledQuery[Memory]:
    """Query for `count` memories with their group and thread, unordered."""
    return CompiledQuery(
        lambda *keys: Memory.objects.select_related("group", "thread").filter(key__in=keys).order_by(),
        count,
    )
