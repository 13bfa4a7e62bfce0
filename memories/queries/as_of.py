"""The past of one memory: which version of its chain was true and known at a moment, and in which periods."""

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
    """A half-open period: `start` is included, `end` is not; None is open."""

    start: datetime | None
    end: datetime | None

    def __str__(self) -> str:
        start = f"{self.start:%Y-%m-%d %H:%M} UTC" if self.start else "ever"
        return f"from {start} " + (f"until {self.end:%Y-%m-%d %H:%M} UTC" if self.end else "on")


def true_span(version: Memory) -> TimeSpan:
    """When the version was true (valid time)."""
    return TimeSpan(version.valid_from, version.valid_to)


def known_span(version: Memory) -> TimeSpan:
    """When Loci believed the version's text (record time): from storing until correction or withdrawal.

    A superseded version was not withdrawn: Loci still believes that it was true until then.
    """
    return TimeSpan(version.created_at, None if version.state in NOT_WITHDRAWN else version.retired_at)


def version_at(memory: Memory, visibility: Visibility) -> Memory | None:
    """The newest version of the memory's chain inside a Visibility of the past, if any.

    A merged or compacted memory without one answers with the chain of its successor.
    """
    found = newest_version(memory, visibility)
    if found is None:
        head = head_of(memory)
        if head.root_key != memory.root_key:
            found = newest_version(head, visibility)
    return found


def require_version_at(memory: Memory, visibility: Visibility) -> Memory:
    """The same as version_at().

    Raises:
        NotFound: no version was true and known then; the hint has the given version's periods.
    """
    found = version_at(memory, visibility)
    if found is None:
        moments = [
            f"{word} at {moment:%Y-%m-%d %H:%M} UTC"
            for word, moment in (("true", visibility.as_of), ("known", visibility.known_at))
            if moment
        ]
        raise NotFound(
            f"No version of this memory was {' and '.join(moments)}.",
            hint=f"The given version was true {true_span(memory)}, and known {known_span(memory)}.",
            field="as_of" if visibility.as_of else "known_at",
        )
    return found


def newest_version(memory: Memory, visibility: Visibility) -> Memory | None:
    """The newest version of the memory's own chain inside the Visibility, if any."""
    rows = Memory.objects.select_related(*RELATED_ROWS)
    keys = {version.key for version in versions_of(memory)}
    return rows.filter(as_q(visibility), key__in=keys).order_by("-key").first()
