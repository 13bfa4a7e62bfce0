"""What was done to a memory, as the log tells: who, when, through what, and each field before and after."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from access.models import ApiToken, AuditEntry

MAX_ENTRIES: Final = 50
# What a person asks about; the rest of a row is bookkeeping, or told by another row.
SHOWN_FIELDS: Final = (
    "state", "trust", "scope", "confidence", "importance", "pinned", "tags", "valid_from", "valid_to", "expires_at",
)  # fmt: skip


@dataclass(frozen=True)
class HistoryChange:
    """One field, before and after, as a person reads it; `—` where there was none."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class HistoryEntry:
    """One row of the log. `is_purged` where what it said was destroyed."""

    at: datetime
    operation: str
    actor: str
    via: str
    token: str
    client: str
    memory_id: UUID
    reason: str = ""
    changes: tuple[HistoryChange, ...] = ()
    is_new_text: bool = False
    is_purged: bool = False


def history_of(ids: Collection[UUID]) -> list[HistoryEntry]:
    """Give what was done to these versions of a memory, newest first, at most MOST; two queries."""
    rows = AuditEntry.objects.filter(origin="", memory_id__in=ids).select_related("payload_row")
    entries = list(rows.order_by("-key")[:MAX_ENTRIES])
    tokens = {entry.token for entry in entries if entry.token}
    names = dict(ApiToken.objects.filter(id__in=tokens).values_list("id", "name"))
    return [_moment(entry, names) for entry in entries]


def _moment(entry: AuditEntry, tokens: dict[UUID, str]) -> HistoryEntry:
    payload: dict[str, Any] | None = entry.payload_row.payload if hasattr(entry, "payload_row") else None
    said = payload or {}
    before, after = said.get("before") or {}, said.get("after") or {}
    pairs = said.get("changes") or (
        {name: [before.get(name), after.get(name)] for name in after} if before and after else {}
    )
    changes = [HistoryChange(name.replace("_", " "), format_value(pairs[name][0]), format_value(pairs[name][1]))
               for name in SHOWN_FIELDS if name in pairs and pairs[name][0] != pairs[name][1]]  # fmt: skip
    content = pairs.get("content")
    return HistoryEntry(
        at=entry.at,
        operation=entry.operation,
        actor=entry.actor,
        via=entry.via,
        token=tokens.get(entry.token, "") if entry.token else "",
        client=entry.client,
        memory_id=entry.memory_id or UUID(int=0),
        reason=str(said.get("reason") or ""),
        changes=tuple(changes),
        is_new_text=content is not None and content[0] != content[1],
        is_purged=payload is None,
    )


def format_value(value: Any) -> str:
    """Give a value of the log as a person reads it: moments to the minute, lists by commas."""
    if value is None or value in ("", []):
        return "—"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, float):
        return f"{value:.2f}"
    return _minute(value) if isinstance(value, str) else str(value)


def _minute(text: str) -> str:
    try:
        return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M}" if "T" in text else text
    except ValueError:
        return text
