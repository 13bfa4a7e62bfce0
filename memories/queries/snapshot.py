"""A memory's fields as JSON, for the audit log, exports and runs."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from operator import attrgetter, itemgetter
from typing import Any
from uuid import UUID

from memories.draft.registry import RECORD_FIELDS
from memories.models import Memory
from storage.canonical_json import ReadyJson, encode_rows

FIELDS = tuple(field.name for field in RECORD_FIELDS)
_VALUES = attrgetter(*FIELDS)
_HELD = itemgetter(*FIELDS)  # from an unsaved row's own dict, bypassing the model's descriptors
_CONVERTED = (datetime, UUID)
# Related rows that a snapshot names, for select_related.
RELATED_ROWS = ("group", "thread", "root", "superseded_by", "token")


def snapshot(memory: Memory) -> dict[str, Any]:
    """Every field that is not derived, as JSON values; related rows by id or name."""
    values = [as_json(v) if isinstance(v, _CONVERTED) else v for v in _VALUES(memory)]
    thread, root = _related_row(memory, "thread"), _related_row(memory, "root")
    successor, token = _related_row(memory, "superseded_by"), _related_row(memory, "token")
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
    """`{"after": snapshot}` of each row, as the audit log records many new rows."""
    if len(rows) == 1:  # columns pay from two on
        return [ReadyJson.of({"after": snapshot(rows[0])})]
    columns: dict[str, Sequence[Any]] = {"id": [str(row.id) for row in rows]}
    values = zip(*map(_HELD, map(vars, rows)), strict=True)
    columns |= zip(FIELDS, map(_column_as_json, values), strict=True)
    columns["group"] = [row.group.slug for row in rows]
    columns["thread"] = _related_column(rows, "thread", lambda thread: thread.name, "")
    for name in ("root", "superseded_by", "token"):
        columns[name] = _related_column(rows, name, lambda target: str(target.id), None)
    return encode_rows("after", columns)


def _column_as_json(values: Sequence[Any]) -> Sequence[Any]:
    """A column's values after as_json(); values shared by many rows, and empty ones, are one object."""
    if len({*map(id, values)}) == 1:
        return [as_json(values[0])] * len(values)
    converted: dict[Any, Any] = {}
    found = []
    for value in values:
        identity = id(value) if value else type(value)
        if identity not in converted:
            converted[identity] = as_json(value)
        found.append(converted[identity])
    return found


def _related_column(
    rows: Sequence[Memory], name: str, render: Callable[[Any], str], default: Any
) -> Sequence[Any]:
    """The rendered related row of each row, `default` without one; no lookups if no row has one."""
    key = f"{name}_id"
    if all(vars(row)[key] is None and name not in row._state.fields_cache for row in rows):
        return [default] * len(rows)
    return [render(target) if (target := _related_row(row, name)) else default for row in rows]


def _related_row(memory: Memory, name: str) -> Any:
    """The related row of this name; most memories have none, and the model's own lookup takes ten times as long."""
    if getattr(memory, f"{name}_id") is None and name not in memory._state.fields_cache:
        return None
    return getattr(memory, name)


def changes(before: dict[str, Any], after: dict[str, Any]) -> dict[str, list[Any]]:
    """`{field: [before, after]}` for the fields that differ."""
    return {name: [before.get(name), value] for name, value in after.items() if before.get(name) != value}


def as_json(value: Any) -> Any:
    """A field's value as JSON: times in ISO 8601 UTC, ids as text."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, UUID):
        return str(value)
    return value
