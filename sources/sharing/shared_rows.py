"""The rows of an export for other programs: the memories that recall returns, and the relations between them."""

from collections.abc import Callable, Iterator
from typing import Final
from uuid import UUID

from django.db.models import QuerySet

from access.actor import Actor
from access.models import Group
from memories.models import Memory
from memories.queries.visibility import RECALLED, as_q, listed_by
from memories.types import State
from relations.models import Relation

CHUNK_ROWS: Final = 500


class SharedRows:
    """What is exported: the live memories of some groups that the actor may see, group by group, oldest first."""

    def __init__(
        self, actor: Actor, groups: list[Group], on_progress: Callable[[int], object] | None = None
    ) -> None:
        self.groups = groups
        self._on_progress = on_progress
        seen = as_q(listed_by(actor, None, states=frozenset({State.LIVE}), trusts=RECALLED))
        self._memories = Memory.objects.filter(seen)

    def memories(self, group: Group) -> Iterator[Memory]:
        """The memories of one group."""
        rows = self._of(group).select_related("group", "thread").order_by("key")
        for memory in rows.iterator(chunk_size=CHUNK_ROWS):
            yield memory
            if self._on_progress is not None:
                self._on_progress(1)

    def source_refs(self, group: Group) -> Iterator[str]:
        """The source_refs of a group's memories that have one."""
        yield from self._of(group).exclude(source_ref="").values_list("source_ref", flat=True)

    def relations(self, group: Group) -> Iterator[Relation]:
        """The relations of one group that count, between memories of which any version is exported."""
        rows = Relation.objects.filter(group=group, retired_at=None, valid_to=None)
        yield from rows.select_related("subject", "object").order_by("key").iterator(chunk_size=CHUNK_ROWS)

    def _of(self, group: Group) -> QuerySet[Memory]:
        return self._memories.filter(group=group)


def author_of(memory: Memory) -> str:
    """Who said it, as imports keep it."""
    speaker = memory.metadata.get("speaker")
    return speaker if isinstance(speaker, str) else ""


def is_uuid(text: str) -> bool:
    """True for the text of an id."""
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
