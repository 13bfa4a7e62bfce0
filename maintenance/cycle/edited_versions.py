"""Versions that edits made of the memories that a run changed: they carry what the run changed, so undo follows them."""

from collections.abc import Collection, Iterator

from django.db.models import QuerySet

from maintenance.models import Run
from memories.models import Memory
from memories.types import State


def edits_since(run: Run) -> QuerySet[Memory]:
    """The versions that an edit replaced since the run started, oldest first."""
    replaced = Memory.objects.filter(
        state=State.SUPERSEDED, superseded_by__isnull=False, retired_at__gte=run.started_at
    )
    return replaced.order_by("key")


def with_edited_versions(keys: Collection[int], run: Run) -> set[int]:
    """Keys of memories, and of the versions that edits made of them since the run started."""
    found = set(keys)
    for old, new in edits_since(run).values_list("key", "superseded_by"):
        if old in found and new is not None:
            found.add(new)
    return found


def edited_versions(memory: Memory, run: Run) -> Iterator[Memory]:
    """The versions that edits made of a memory since the run started, in order."""
    seen = {memory.pk}
    while memory.state == State.SUPERSEDED and memory.retired_at and memory.retired_at >= run.started_at:
        key = memory.superseded_by_id
        later = Memory.objects.select_related("group").filter(pk=key).first() if key else None
        if later is None or later.pk in seen:
            return
        yield later
        seen.add(later.pk)
        memory = later
