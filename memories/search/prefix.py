"""What search as you type reads of the memories that it found."""

from collections.abc import Sequence
from typing import NamedTuple

from storage.compiled_queries import fetch
from storage.dialect import dialect

_BEGINNINGS = "SELECT key, substr(content, 1, %s) FROM memories_memory WHERE key {in_list}"
_LOOKS = """
SELECT key, substr(content, 1, %s), state, type, pinned FROM memories_memory WHERE key {in_list}
"""


class PrefixMatch(NamedTuple):
    """Sort fields of a memory; `content` is the beginning of its text."""

    key: int
    content: str
    state: str
    type: str
    pinned: int


def read_beginnings(keys: Sequence[int], chars: int) -> dict[int, str]:
    """The first `chars` characters of memories' texts, by key."""
    sql = _BEGINNINGS.format(in_list=dialect().in_list)
    return dict(fetch(sql, [chars, dialect().list_param(keys)]))


def read_sort_fields(keys: Sequence[int], chars: int) -> dict[int, PrefixMatch]:
    """Sort fields of memories with the first `chars` characters of their texts, by key."""
    sql = _LOOKS.format(in_list=dialect().in_list)
    return {row[0]: PrefixMatch(*row) for row in fetch(sql, [chars, dialect().list_param(keys)])}
