"""Finding rows of the audit log, and writing them out: only what was done in groups that the caller may enter."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TextIO
from uuid import UUID

from django.db.models import Q, QuerySet

from access import audit
from access.actor import READ, Actor
from access.audit import OWN
from access.audit.operations import Operation
from access.errors import InvalidInput, NotPermitted
from access.groups import find_group
from access.models import AuditEntry, Group

BATCH_ROWS = 2000  # in memory
EXPORTED_FIELDS = (
    "origin", "seq", "at", "operation", "memory_id", "group", "subject", "actor", "via", "token", "client", "run",
    "digest", "hash",
)  # fmt: skip


@dataclass(frozen=True)
class LogFilter:
    """Which rows are wanted; what is left empty does not narrow.

    `actor` is a user, with all tokens, or one token as "user/token". `since` is included, `until` is not.
    """

    memories: tuple[UUID, ...] = ()
    group: str = ""
    actor: str = ""
    operation: str = ""
    run: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None


def find_log_entries(
    actor: Actor, sought: LogFilter | None = None, *, origin: str | None = OWN
) -> QuerySet[AuditEntry]:
    """Give the rows that are wanted and the actor may see, with what they say; of every chain where `origin` is None.

    Raises:
        NotPermitted: the actor may not read.
        GroupNotFound: there is no group of that name that the actor may enter.
        InvalidInput: `until` does not lie after `since`.
    """
    if not actor.may(READ):
        raise NotPermitted("You may not read here.", hint="Use a token with the scope 'read'.")
    sought = sought or LogFilter()
    rows = AuditEntry.objects.filter(_condition(actor, sought)).select_related("payload_row")
    if not actor.all_groups:
        entered = Group.objects.filter(key__in=actor.roles).values_list("id", flat=True)
        rows = rows.filter(group__in=list(entered))
    return rows if origin is None else rows.filter(origin=origin)


def _condition(actor: Actor, sought: LogFilter) -> Q:
    if sought.since and sought.until and sought.until <= sought.since:
        raise InvalidInput("'until' does not lie after 'since'.", field="until")
    wanted: dict[str, Any] = {
        "memory_id__in": sought.memories,
        "operation": sought.operation,
        "run": sought.run,
        "at__gte": sought.since,
        "at__lt": sought.until,
    }
    condition = Q(**{name: value for name, value in wanted.items() if value})
    if sought.group:
        condition &= Q(group=find_group(actor, sought.group).id)
    if sought.actor:
        condition &= Q(actor=sought.actor) | Q(actor__startswith=f"{sought.actor}/")
    return condition


def export_log(
    actor: Actor,
    out: TextIO,
    sought: LogFilter | None = None,
    *,
    on_rows: Callable[[int], object] | None = None,
) -> int:
    """Write the rows of every chain as JSON lines, oldest first; give how many. The export is logged afterwards.

    A line holds what the row's hash covers, and what the row says with its salt: with a whole chain anybody can check
    it. Rows are read as they are written, so that a long log needs no memory.
    """
    count = 0
    for line in _lines(find_log_entries(actor, sought, origin=None)):
        out.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
        count += 1
        if on_rows is not None and count % BATCH_ROWS == 0:
            on_rows(BATCH_ROWS)
    audit.append(actor, Operation.EXPORT, subject="audit log", payload={"counts": {"log": count}})
    return count


def _lines(rows: QuerySet[AuditEntry]) -> Iterator[dict[str, Any]]:
    for entry in rows.order_by("origin", "seq").iterator(chunk_size=BATCH_ROWS):
        row = {name: _as_json(getattr(entry, name)) for name in EXPORTED_FIELDS}
        said = getattr(entry, "payload_row", None)
        yield {"kind": "log", "row": row, "said": said and {"salt": said.salt, "payload": said.payload}}


def _as_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def payload_changes(payload: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Give `{field: (before, after)}` of what a row says: its changes, else how its before and after differ."""
    said = payload.get("changes")
    if isinstance(said, Mapping):
        return {
            name: (both[0], both[1])
            for name, both in said.items()
            if isinstance(both, list) and len(both) == 2
        }
    before, after = payload.get("before"), payload.get("after")
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return {}
    return {name: (before.get(name), value) for name, value in after.items() if before.get(name) != value}
