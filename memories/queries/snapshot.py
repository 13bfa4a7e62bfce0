"""A memory's fields as JSON: what the audit log, exports and runs keep of it."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from operator import attrgetter, itemgetter
from typing import Any
from uuid import UUID

from memories.models import Memory
from storage.canonical_json import ReadyJson, objects

# In the order in which an export shows them; the stored search columns are derived and stay out.
FIELDS = (
    "content", "type", "scope", "position", "state", "trust", "tags", "metadata", "source", "source_ref",
    "confidence", "importance", "pinned", "access_count", "last_accessed", "decayed_at", "version", "valid_from",
    "valid_to", "valid_to_known_at", "created_at", "retired_at", "state_changed_at", "updated_at", "expires_at",
    "author_name", "client", "run",
)  # fmt: skip
_VALUES = attrgetter(*FIELDS)
_HELD = itemgetter(*FIELDS)  # of an unsaved row's own dict: past the model's descriptors
_CONVERTED = (datetime, UUID)
# The rows beside it that a snapshot names: for select_related.
RELATED_ROWS = ("group", "thread", "root", "superseded_by", "token")


def snapshot(memory: Memory) -> dict[str, Any]:
    """Give every field that is not derived, as JSON values; ties to other rows by their ids and names."""
    values = [as_json(v) if isinstance(v, _CONVERTED) else v for v in _VALUES(memory)]
    thread, root = _tied(memory, "thread"), _tied(memory, "root")
    successor, token = _tied(memory, "superseded_by"), _tied(memory, "token")
    return {
        "id": str(memory.id),
        **dict(zip(FIELDS, values, strict=True)),
        "group": memory.group.slug,
        "thread": thread.name if thread else "",
        "root": str(root.id) if root else None,
        "superseded_by": str(successor.id) if successor else None,
        "token": str(token.id) if token else None,
    }


def after_snapshots(rows: Sequence[Memory]) -> list[ReadyJson]:
    """Give `{"after": snapshot}` of each row, as the log of many new rows says it."""
    columns: dict[str, Sequence[Any]] = {"id": [str(row.id) for row in rows]}
    held = zip(*map(_HELD, map(vars, rows)), strict=True)
    columns |= zip(FIELDS, map(_all_as_json, held), strict=True)
    columns["group"] = [row.group.slug for row in rows]
    columns["thread"] = _of_tied(rows, "thread", lambda thread: thread.name, "")
    for tie in ("root", "superseded_by", "token"):
        columns[tie] = _of_tied(rows, tie, lambda target: str(target.id), None)
    return objects("after", columns)


def _all_as_json(values: Sequence[Any]) -> Sequence[Any]:
    """Give a column's values as as_json() gives each; those that many rows share, and empty ones, are the same object."""
    if len({*map(id, values)}) == 1:
        return [as_json(values[0])] * len(values)
    known: dict[Any, Any] = {}
    found = []
    for value in values:
        place = id(value) if value else type(value)
        if place not in known:
            known[place] = as_json(value)
        found.append(known[place])
    return found


def _of_tied(rows: Sequence[Memory], name: str, said: Callable[[Any], str], nothing: Any) -> Sequence[Any]:
    """Give what is said of each row's tie; as a column of one object where none has one."""
    key = f"{name}_id"
    if all(vars(row)[key] is None and name not in row._state.fields_cache for row in rows):
        return [nothing] * len(rows)
    return [said(target) if (target := _tied(row, name)) else nothing for row in rows]


def _tied(memory: Memory, name: str) -> Any:
    """Give a row beside it; most memories have none, and asking the model for it takes ten times as long."""
    if getattr(memory, f"{name}_id") is None and name not in memory._state.fields_cache:
        return None
    return getattr(memory, name)


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
