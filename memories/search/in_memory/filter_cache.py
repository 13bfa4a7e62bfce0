"""The rows that the last few Visibilities allow, cached until something changes: agents keep asking in the same groups."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from access.visibility import Visibility

MOST_KEPT = 16
MOST_KEPT_ROWS = 1_000_000  # 8 MB
T = TypeVar("T")


@dataclass(frozen=True)
class AllowedMask(Generic[T]):
    """What is allowed: how many rows, and until when (ms since 1970) all of them count."""

    allowed: T
    rows: int
    until: int


@dataclass(frozen=True)
class _CachedMask(Generic[T]):
    version: int
    since: int
    marked: AllowedMask[T]


class FilterCache(Generic[T]):
    """Marks by Visibility, of one table that changes. Readers need no lock.

    A change counts the version up before and after, so that nothing that was marked meanwhile is used later.
    """

    def __init__(self) -> None:
        self._version = 0
        self._kept: dict[Hashable, _CachedMask[T]] = {}

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Change the table within the block."""
        self._version += 1
        try:
            yield
        finally:
            self._version += 1
            self._kept = {}

    def of(self, v: Visibility, mark: Callable[[Visibility], AllowedMask[T]]) -> T:
        """What `mark` allows, from the cache if that still holds."""
        if names_times(v):
            return mark(v).allowed
        key = (v.groups, v.include_global, v.scope, v.states, v.trusts, v.types, v.retracted_types)
        now, version, known = milliseconds(v.now), self._version, self._kept
        kept = known.get(key)
        # What had ended at `since` has ended later as well; of what had not, the first to end is `until`.
        if kept is not None and kept.version == version and kept.since <= now <= kept.marked.until:
            return kept.marked.allowed
        marked = mark(v)
        held = sum(each.marked.rows for each in [*known.values()])
        if len(known) >= MOST_KEPT or held + marked.rows > MOST_KEPT_ROWS:
            known.clear()
        known[key] = _CachedMask(version, now, marked)
        return marked.allowed


def names_times(v: Visibility) -> bool:
    """Whether it names times, which differ with each caller: such masks are not cached."""
    return v.after is not None or v.before is not None or v.is_history


def milliseconds(moment: datetime) -> int:
    """Milliseconds since 1970."""
    return int(moment.timestamp() * 1000)
