"""A group's global memories become its own, and global again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from access import audit
from access.actor import ADMIN, Actor
from access.answers import Answer, ShownAs
from access.audit import AuditEvent, Operation
from access.audit.collect import one_change
from access.errors import Conflict
from access.groups import find_group, log_group
from access.models import AuditEntry, Group
from memories.lifecycle.regroup.plan import StayingMemory
from memories.lifecycle.undo.reverse import Terms, reverse
from memories.lifecycle.undo.rows import MEMORY, FormerRow
from memories.models import Memory
from memories.queries.snapshot import as_json
from memories.store.threads import filter_tokens, refresh_around
from memories.types import Scope, State, Type

BATCH_ROWS = 500
UNDONE = "the group was made global again"
Staying = dict[int, StayingMemory]


@dataclass(frozen=True)
class ScopeChange(Answer):
    """How many memories of a group changed their scope, or would, and which stay."""

    group: str
    changed: int
    staying: tuple[StayingMemory, ...]
    is_undo: Annotated[bool, ShownAs(name="undo")]
    dry_run: bool


@one_change
def narrow_group(actor: Actor, slug: str, *, undo: bool = False, dry_run: bool = False) -> ScopeChange:
    """Make a group's global memories its own, in every state; `undo` makes those global again. One transaction.

    A dry run does the same and rolls it back.

    Raises:
        GroupNotFound, NotPermitted: the group does not exist or the actor is not its admin.
        Conflict: `undo` in a private group, which has no global memories.
    """
    found = find_group(actor, slug, right=ADMIN)
    with transaction.atomic():
        group = Group.objects.select_for_update().get(pk=found.pk)
        if undo and group.private:
            raise Conflict(
                f"'{group.slug}' is private and has no global memories.",
                hint=f"Open it first: loci group update {group.slug} --private no.",
                field="private",
            )
        changed, staying = widen_back(actor, group) if undo else narrow_memories(actor, group)
        if changed:
            log_group(actor, group, action="narrow", undo=undo, memories=changed, staying=len(staying))
        transaction.set_rollback(dry_run)
    return ScopeChange(group.slug, changed, staying, undo, dry_run)


def narrow_memories(actor: Actor, group: Group) -> tuple[int, tuple[StayingMemory, ...]]:
    """Make the group's global memories its own, each with a log row, inside the caller's transaction.

    A memory stays global if its text is live as the group's own already: it would be there twice.
    """
    rows = list(Memory.objects.filter(group=group, scope=Scope.GLOBAL).order_by("key"))
    staying = staying_twins(group, rows, scope=Scope.GROUP)
    changing = [row for row in rows if row.key not in staying]
    change_scopes(actor, group, changing, scope=Scope.GROUP)
    return len(changing), tuple(staying.values())


def widen_back(actor: Actor, group: Group) -> tuple[int, tuple[StayingMemory, ...]]:
    """Make global again what narrow_memories() made the group's own, each with a log row, in the caller's transaction.

    A memory stays if its text is live as a global one, was withdrawn since, or if a newer version is the group's own.
    """
    narrowed = Memory.objects.filter(group=group, scope=Scope.GROUP, id__in=narrowed_ids(group))
    rows = {
        row.key: row for row in narrowed.order_by("-key")
    }  # the newest first: what stays keeps its former versions
    changed, staying = 0, Staying()
    for row in rows.values():
        successor = row.superseded_by_id
        if successor in staying or (successor is not None and successor not in rows and is_own(successor)):
            staying[row.key] = StayingMemory(row.id, "a newer version of it is the group's own")
            continue
        values = {"scope": (Scope.GLOBAL, Scope.GROUP)}
        done = reverse(actor, [FormerRow(MEMORY, row.key, values=values)], Terms(UNDONE, partial=True))
        changed += done.restored
        staying |= {each.row: StayingMemory(row.id, each.why) for each in done.kept}
    return changed, tuple(staying.values())


def is_own(key: int) -> bool:
    """True if the memory is its group's own."""
    return Memory.objects.filter(key=key, scope=Scope.GROUP).exists()


def narrowed_ids(group: Group) -> list[str]:
    """The ids of the memories whose last change of scope made them the group's own."""
    rows = AuditEntry.objects.filter(operation=Operation.NARROW, group=group.id, memory_id__isnull=False)
    last: dict[str, str] = {}
    for entry in rows.order_by("key").select_related("payload_row").iterator():
        last[str(entry.memory_id)] = entry.payload.get("changes", {}).get("scope", ["", ""])[1]
    return [id_ for id_, scope in last.items() if scope == Scope.GROUP]


def staying_twins(group: Group, rows: Sequence[Memory], *, scope: str) -> Staying:
    """The rows whose text is live in that scope of the group already."""
    live = Q(group=group, scope=scope, state=State.LIVE) & ~Q(type=Type.EPISODIC)
    twins = {
        (type_, hash_): id_
        for type_, hash_, id_ in Memory.objects.filter(live).values_list("type", "content_hash", "id")
    }
    return {
        row.key: StayingMemory(
            row.id, f"its text is live as {twins[row.type, row.content_hash]} with the scope {scope}"
        )
        for row in rows
        if row.state == State.LIVE and (row.type, row.content_hash) in twins
    }


def change_scopes(actor: Actor, group: Group, rows: Sequence[Memory], *, scope: str) -> None:
    """Set the scope of rows, refresh what searches read of them, and log each."""
    now = timezone.now()
    for at in range(0, len(rows), BATCH_ROWS):
        batch = rows[at : at + BATCH_ROWS]
        events = [
            AuditEvent(Operation.NARROW, row.id, group.id, payload={"changes": {
                "scope": [row.scope, scope], "updated_at": [as_json(row.updated_at), as_json(now)],
            }})
            for row in batch
        ]  # fmt: skip
        for row in batch:
            row.scope, row.updated_at = scope, now
        # The filter is the same for all memories of one group and scope.
        Memory.objects.filter(pk__in=[row.pk for row in batch]).update(
            scope=scope, filter=filter_tokens(batch[0]), updated_at=now
        )
        audit.append_many(actor, events)
    refresh_around([row for row in rows if row.thread_id is not None])
