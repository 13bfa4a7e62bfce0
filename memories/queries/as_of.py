"""The past of one memory: which version of its chain was true, and believed, at a moment; and from when to when."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from access.errors import NotFound
from access.visibility import Visibility
from memories.models import Memory
from memories.queries.snapshot import RELATED_ROWS
from memories.queries.versions import head_of, versions_of
from memories.queries.visibility import as_q
from memories.types import NOT_WITHDRAWN


@dataclass(frozen=True)
class TimeSpan:
    """From when to when; None is open. The beginning belongs to it, the end does not."""

    start: datetime | None
    end: datetime | None

    def __str__(self) -> str:
        start = f"{self.start:%Y-%m-%d %H:%M} UTC" if self.start else "ever"
        return f"from {start} " + (f"until {self.end:%Y-%m-%d %H:%M} UTC" if self.end else "on")


def true_span(version: Memory) -> TimeSpan:
    """Give when the version was true (valid time)."""
    return TimeSpan(version.valid_from, version.valid_to)


def known_span(version: Memory) -> TimeSpan:
    """Give when Loci went by the version's text (record time): from its storing until it was corrected or withdrawn.

    What was superseded was not withdrawn: Loci still holds that it was true until then.
    """
    return TimeSpan(version.created_at, None if version.state in NOT_WITHDRAWN else version.retired_at)


def version_at(memory: Memory, visibility: Visibility) -> Memory | None:
    """Give the newest version of the memory's chain inside a Visibility that asks about the past; None: there is none.

    Where a memory was merged into another, or a summary took its place, the chain of that one answers in its stead.
    """
    found = _newest({version.key for version in versions_of(memory)}, visibility)
    if found is None:
        head = head_of(memory)
        if head.root_key != memory.root_key:
            found = _newest({version.key for version in versions_of(head)}, visibility)
    return found


def require_version_at(memory: Memory, visibility: Visibility) -> Memory:
    """Give what version_then() finds.

    Raises:
        NotFound: no version was true and known then; the hint says when the one asked for was.
    """
    found = version_at(memory, visibility)
    if found is None:
        raise NotFound(
            f"No version of this memory was {_asked(visibility)}.",
            hint=f"The one asked for was true {true_span(memory)}, and known {known_span(memory)}.",
            field="as_of" if visibility.as_of else "known_at",
        )
    return found


def _newest(keys: Collection[int], visibility: Visibility) -> Memory | None:
    rows = Memory.objects.select_related(*RELATED_ROWS)
    return rows.filter(as_q(visibility), key__in=keys).order_by("-key").first()


def _asked(v: Visibility) -> str:
    said = [f"true at {v.as_of:%Y-%m-%d %H:%M} UTC"] if v.as_of else []
    return " and ".join([*said, f"known at {v.known_at:%Y-%m-%d %H:%M} UTC"] if v.known_at else said)
