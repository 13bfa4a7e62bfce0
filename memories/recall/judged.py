"""What ranking looks at of a candidate: seven of a memory's forty columns, read without building whole rows."""

from collections.abc import Iterable
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from access.prepared import Prepared
from memories.keyed_rows import rows_of
from memories.models import Memory


class Judged(NamedTuple):
    """A candidate's columns that surroundings.py and ranking.py read."""

    key: int
    content: str
    thread_id: int | None
    position: int | None
    valid_from: datetime | None
    confidence: float
    trust: str


def read_judged(keys: Iterable[int]) -> dict[int, Judged]:
    """Give those of the memories that are there, by key; one query."""
    return {row[0]: Judged(*row) for row in rows_of(_judged, [*keys])}


@cache
def _judged(count: int) -> Prepared[tuple[Any, ...]]:
    return Prepared(
        lambda *keys: Memory.objects.filter(key__in=keys).values_list(*Judged._fields).order_by(), count
    )
