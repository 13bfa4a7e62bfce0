"""The past of one memory: which version of its chain was true and known at a moment, and in which periods."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from access.errors import NotFound
from access.visibility import Visibility
from memories.models import Memory
from memories.queries.snapshot import RELATED_ROWS
from memories.queries.versions import head_of
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


def versions_at(
    rows: Sequence[Memory], heads: Mapping[int, Memory], visibility: Visibility
) -> dict[int, Memory]:
    """The newest version of each row's chain inside a Visibility of the past, by the row's key; two queries.

    A merged memory without one answers with the chain of its successor.
    """
    found = newest_versions(rows, visibility)
    rest = [row for row in rows if row.key not in found and heads[row.key].root_key != row.root_key]
    later = newest_versions([heads[row.key] for row in rest], visibility)
    return found | {row.key: later[key] for row in rest if (key := heads[row.key].key) in later}


def require_version_at(memory: Memory, visibility: Visibility) -> Memory:
    """The newest version of the memory's chain inside a Visibility of the past.

    Raises:
        NotFound: no version was true and known then; the hint has the given version's periods.
    """
    found = versions_at([memory], {memory.key: head_of(memory)}, visibility).get(memory.key)
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


def newest_versions(rows: Sequence[Memory], visibility: Visibility) -> dict[int, Memory]:
    """The newest version of each row's own chain inside the Visibility, by the row's key; one query."""
    if not rows:
        return {}
    roots = {row.root_key for row in rows}
    chains = Memory.objects.select_related(*RELATED_ROWS).filter(Q(key__in=roots) | Q(root__in=roots))
    newest = {version.root_key: version for version in chains.filter(as_q(visibility)).order_by("key")}
    return {row.key: newest[row.root_key] for row in rows if row.root_key in newest}
