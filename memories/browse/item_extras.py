"""What comes with a recalled memory, as JSON values: conflicts, equals, the turns around it."""

from typing import Any

from access.groups.guarding import safe_to_show
from memories.models import Memory
from memories.queries.conflicts import OpenConflict
from memories.queries.labels import label_of
from memories.queries.snapshot import as_json
from memories.recall.around import NearTurn


def alike_json(memory: Memory) -> dict[str, Any]:
    """Where a memory that says the same is."""
    thread = {"thread": memory.thread.name} if memory.thread else {}
    return {"id": str(memory.id), "group": memory.group.slug} | thread


def turn_json(turn: NearTurn) -> dict[str, Any]:
    """A turn beside a hit; its text has the speaker if the thread names any."""
    memory = turn.memory
    return {
        "id": str(memory.id),
        "offset": turn.offset,
        "date": as_json(memory.moment),
        "author": memory.author_name,
        "label": label_of(memory),
        "content": safe_to_show(turn.text),
        "is_cut": turn.is_cut,
    }


def conflict_json(conflict: OpenConflict) -> dict[str, Any]:
    """An open conflict of a memory: the other memory's id, the value of each, and who verified the other one."""
    shown = {"id": str(conflict.other), "own": conflict.own_value, "other": conflict.other_value}
    return shown | ({"verified_by": conflict.verified_by} if conflict.verified_by else {})
