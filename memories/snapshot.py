"""A memory's fields as JSON: what the audit log, exports and runs keep of it."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from memories.models import Memory

# In the order in which an export shows them; the stored search columns are derived and stay out.
FIELDS = (
    "content", "type", "scope", "position", "state", "trust", "tags", "metadata", "source", "source_ref",
    "confidence", "importance", "pinned", "access_count", "last_accessed", "decayed_at", "version", "valid_from",
    "valid_to", "valid_to_known_at", "created_at", "retired_at", "state_changed_at", "updated_at", "expires_at",
    "author_name", "client", "run",
)  # fmt: skip
# The rows beside it that a snapshot names: for select_related.
TIED = ("group", "thread", "root", "superseded_by", "token")


def snapshot(memory: Memory) -> dict[str, Any]:
    """Give every field that is not derived, as JSON values; ties to other rows by their ids and names."""
    fields = {name: as_json(getattr(memory, name)) for name in FIELDS}
    return {
        "id": str(memory.id),
        **fields,
        "group": memory.group.slug,
        "thread": memory.thread.name if memory.thread else "",
        "root": str(memory.root.id) if memory.root else None,
        "superseded_by": str(memory.superseded_by.id) if memory.superseded_by else None,
        "token": str(memory.token.id) if memory.token else None,
    }


def changes(before: dict[str, Any], after: dict[str, Any]) -> dict[str, list[Any]]:
    """Give `{field: [before, after]}` for the fields that differ."""
    return {name: [before.get(name), value] for name, value in after.items() if before.get(name) != value}


def as_json(value: Any) -> Any:
    """Give a field's value as JSON has it: times in ISO 8601 UTC, ids as text."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, UUID):
        return str(value)
    return value
