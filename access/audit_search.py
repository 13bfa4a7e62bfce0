"""Search and export of the audit log, limited to the groups that the caller may enter."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TextIO
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from access import audit
from access.actor import Actor
from access.audit import HEADS, OWN, find_row
from access.audit.operations import Operation
from access.audit.retention import link_heads
from access.errors import InvalidInput
from access.groups import find_group
from access.models import AuditEntry, Group
from access.visibility import check_may_read

BATCH_ROWS = 2000  # in memory
_EXPORTED_FIELDS = (
    "origin", "chain", "seq", "at", "operation", "memory_id", "group", "subject", "actor", "via", "token", "client", "run",
    "digest", "hash",
)  # fmt: skip


@dataclass(frozen=True)
class LogFilter:
    """Filters of the audit log; empty fields do not narrow.

    `actor` is a user with all tokens, or one token as "user/token". `since` is inclusive, `until` is exclusive.
    """

    memories: tuple[UUID, ...] = ()
    group: str = ""
    actor: str = ""
    operation: str = ""
    run: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None


def find_log_entries(
    actor: Actor, filters: LogFilter | None = None, *, origin: str | None = OWN
) -> QuerySet[AuditEntry]:
    """The matching rows that the actor may see, with their payloads; rows of imported chains too if `origin` is None.

    Of this store's chains, the chain of heads is left out unless the filter asks for its operation.

    Raises:
        NotPermitted: the actor may not read.
        GroupNotFound: no group of that name exists that the actor may enter.
        InvalidInput: `until` is not after `since`.
    """
    check_may_read(actor)
    chosen = filters or LogFilter()
    if chosen.since and chosen.until and chosen.until <= chosen.since:
        raise InvalidInput("'until' is not after 'since'.", field="until")
    wanted: dict[str, Any] = {
        "memory_id__in": chosen.memories,
        "operation": chosen.operation,
        "run": chosen.run,
        "at__gte": chosen.since,
        "at__lt": chosen.until,
        "group": find_group(actor, chosen.group).id if chosen.group else None,
    }
    rows = AuditEntry.objects.filter(**{name: value for name, value in wanted.items() if value})
    if chosen.actor:
        rows = rows.filter(Q(actor=chosen.actor) | Q(actor__startswith=f"{chosen.actor}/"))
    rows = visible_log(actor, rows.select_related("payload_row"))
    return rows if origin is None else without_links(rows.filter(origin=origin), chosen.operation)


def visible_log(actor: Actor, rows: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
    """The rows about groups that the actor may enter; a superuser sees all rows."""
    if actor.all_groups:
        return rows
    return rows.filter(group__in=list(Group.objects.filter(key__in=actor.roles).values_list("id", flat=True)))


def find_visible_row(actor: Actor, name: str) -> AuditEntry | None:
    """The row of this store's log with this name; None if the actor may not see it or it does not exist."""
    entry = find_row(name)
    own = AuditEntry.objects.filter(pk=entry.pk) if entry is not None else AuditEntry.objects.none()
    return entry if visible_log(actor, own).exists() else None


def without_links(rows: QuerySet[AuditEntry], operation: str) -> QuerySet[AuditEntry]:
    """The rows without the chain of heads, which grows every minute, unless its operation is asked for."""
    return rows if operation == Operation.HEADS else rows.exclude(chain=HEADS)


def export_log(
    actor: Actor,
    out: TextIO,
    filters: LogFilter | None = None,
    *,
    on_rows: Callable[[int], object] | None = None,
) -> int:
    """Write the rows of every chain as JSON lines, oldest first, and log the export. Returns the number of rows.

    A line holds the fields that the row's hash covers and the payload with its salt, so that anybody can verify a whole
    chain. Rows are streamed: the size of the log does not matter.
    """
    if actor.all_groups:
        link_heads(actor)
    count = 0
    for line in export_lines(find_log_entries(actor, filters, origin=None)):
        out.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
        count += 1
        if on_rows is not None and count % BATCH_ROWS == 0:
            on_rows(BATCH_ROWS)
    audit.append(actor, Operation.EXPORT, subject="audit log", payload={"counts": {"log": count}})
    return count


def export_lines(rows: QuerySet[AuditEntry]) -> Iterator[dict[str, Any]]:
    """The rows as dicts for JSON, by chain and number."""
    for entry in rows.order_by("origin", "chain", "seq").iterator(chunk_size=BATCH_ROWS):
        row = {name: _as_json(getattr(entry, name)) for name in _EXPORTED_FIELDS}
        payload = getattr(entry, "payload_row", None)
        said = payload and {"salt": payload.salt, "payload": payload.payload}
        yield {"kind": "log", "row": row, "said": said}


def _as_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def payload_changes(payload: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The changes in a payload as `{field: (before, after)}`: its `changes`, else the difference of `before` and `after`.

    A verb logs the changed fields; a store logs the whole row before and after.
    """
    changes = payload.get("changes")
    if isinstance(changes, Mapping):
        return {
            name: (values[0], values[1])
            for name, values in changes.items()
            if isinstance(values, list) and len(values) == 2
        }
    before, after = payload.get("before"), payload.get("after")
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return {}
    return {name: (before.get(name), value) for name, value in after.items() if before.get(name) != value}


def written_today(actor: Actor, entries: QuerySet[AuditEntry]) -> list[AuditEntry]:
    """The entries that the actor wrote today.

    All tokens of a user count as that user, and so does the user in the browser.
    """
    day = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    user = _user_of(actor.name)
    today = entries.filter(at__gte=day).only("memory_id", "actor")
    return [entry for entry in today if _user_of(entry.actor) == user]


def _user_of(actor_name: str) -> str:
    """The user part of an actor's name, "user" or "user/token"; Django allows no slash in a user's name."""
    return actor_name.partition("/")[0]
