"""A memory's history from the audit log: who changed it, when, through which face, and each field before and after."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext

from access.models import ApiToken, AuditEntry
from memories.draft import STORED
from memories.draft.registry import RECORD_FIELDS
from memories.models import Memory
from memories.queries.snapshot import as_json

MAX_ENTRIES: Final = 50
# Fields of interest to a person; the rest is bookkeeping, or in another row.
SHOWN_FIELDS: Final = tuple(field.name for field in RECORD_FIELDS if field.is_in_history)


@dataclass(frozen=True)
class _HistoryChange:
    """A field before and after, formatted for people; `—` for no value."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class HistoryEntry:
    """A row of the audit log. `is_purged`: a purge destroyed its payload."""

    at: datetime
    operation: str
    actor: str
    via: str
    token: str
    client: str
    memory_id: UUID
    reason: str = ""
    changes: tuple[_HistoryChange, ...] = ()
    is_new_text: bool = False
    is_purged: bool = False


def history_of(ids: Collection[UUID]) -> list[HistoryEntry]:
    """The newest MAX_ENTRIES changes of these versions of a memory, newest first; two queries."""
    rows = AuditEntry.objects.filter(origin="", memory_id__in=ids).select_related("payload_row")
    entries = list(rows.order_by("-key")[:MAX_ENTRIES])
    tokens = {entry.token for entry in entries if entry.token}
    names = dict(ApiToken.objects.filter(id__in=tokens).values_list("id", "name"))
    return [_read_entry(entry, names) for entry in entries]


def _read_entry(entry: AuditEntry, tokens: dict[UUID, str]) -> HistoryEntry:
    """The history entry of a log row; `tokens` holds token names by id."""
    payload: dict[str, Any] | None = entry.payload_row.payload if hasattr(entry, "payload_row") else None
    values = payload or {}
    changes = read_changes(values, SHOWN_FIELDS)
    content = changed_fields(values).get("content")
    return HistoryEntry(
        at=entry.at,
        operation=entry.operation,
        actor=entry.actor,
        via=entry.via,
        token=tokens.get(entry.token, "") if entry.token else "",
        client=entry.client,
        memory_id=entry.memory_id or UUID(int=0),
        reason=str(values.get("reason") or ""),
        changes=tuple(changes),
        is_new_text=content is not None and content[0] != content[1],
        is_purged=payload is None,
    )


def read_changes(payload: Mapping[str, Any], names: Collection[str] = ()) -> list[_HistoryChange]:
    """The fields that a log row changed, of these names or of all, formatted for people."""
    pairs = changed_fields(payload)
    changed = [name for name in names or pairs if name in pairs and pairs[name][0] != pairs[name][1]]
    return [_HistoryChange(name.replace("_", " "), *map(format_value, pairs[name])) for name in changed]


def changed_fields(payload: Mapping[str, Any]) -> dict[str, list[Any]]:
    """`{field: [before, after]}` as a log row has it, or of the whole memory before and after; empty for a new one."""
    changes = payload.get("changes")
    if changes and isinstance(changes, dict):  # a run's are the ends of its rows
        return changes
    before, after = payload.get("before"), payload.get("after")
    if not (before and isinstance(before, dict) and isinstance(after, dict)):
        return {}
    return {name: [before.get(name), after[name]] for name in after}


def format_value(value: Any) -> str:
    """A value of the log, formatted for people: times to the minute, lists separated by commas."""
    if value is None or value in ("", []):
        return "—"
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if isinstance(value, list):
        return gettext(", ").join(map(str, value))
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, str) and "T" in value:
        with suppress(ValueError):  # it is not a time
            return f"{datetime.fromisoformat(value):%Y-%m-%d %H:%M}"
    return str(value)


# Each place words these in its own way, or leaves them out.
_WORDED = frozenset(
    {
        "content", "type", "scope", "tags", "metadata", "source", "source_ref", "confidence", "importance", "valid_from",
        "valid_to", "expires_at", "outside",
    }
)  # fmt: skip
_FURTHER = tuple(field for field in STORED if field.name not in _WORDED)


def further_facts(memory: Memory) -> list[tuple[str, str]]:
    """The other fields that a draft sets, as (title, value)."""
    return [(field.title, format_value(as_json(getattr(memory, field.name)))) for field in _FURTHER]
