"""A group's global memories become its own, and global again."""

from dataclasses import dataclass
from typing import Annotated

from django.db import transaction
from django.db.models import Q

from access.actor import ADMIN, Actor
from access.answers import Answer, ShownAs
from access.audit import Operation, one_change
from access.errors import Conflict
from access.groups import find_group, log_group
from access.models import AuditEntry, Group
from memories.lifecycle.regroup.plan import StayingMemory
from memories.lifecycle.undo.reverse import Terms, reverse
from memories.lifecycle.undo.rows import MEMORY, FormerRow
from memories.models import Memory
from memories.queries.snapshot import RELATED_ROWS
from memories.store.change import change_rows
from memories.store.threads import filter_tokens, refresh_around
from memories.types import Scope, State, Type
from storage.bulk import batches

UNDONE = "the group was made global again"


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
        changed, staying = _widen_back(actor, group) if undo else _narrow_memories(actor, group)
        if changed:
            log_group(actor, group, action="narrow", undo=undo, memories=changed, staying=len(staying))
        transaction.set_rollback(dry_run)
    return ScopeChange(group.slug, changed, staying, undo, dry_run)


def _narrow_memories(actor: Actor, group: Group) -> tuple[int, tuple[StayingMemory, ...]]:
    """Make the group's global memories its own, each with a log row, inside the caller's transaction.

    A memory stays global if its text is live as the group's own already: it would be there twice.
    """
    live = Q(group=group, scope=Scope.GROUP, state=State.LIVE) & ~Q(type=Type.EPISODIC)
    own = Memory.objects.filter(live).values_list("type", "content_hash", "id")
    twins = {(type_, hash_): id_ for type_, hash_, id_ in own}
    changing, staying = list[Memory](), list[StayingMemory]()
    rows = Memory.objects.filter(group=group, scope=Scope.GLOBAL).select_related(*RELATED_ROWS)
    for row in rows.order_by("key"):
        twin = twins.get((row.type, row.content_hash)) if row.state == State.LIVE else None
        if twin is None:
            changing.append(row)
        else:
            why = f"its text is live as {twin} with the scope {Scope.GROUP}"
            staying.append(StayingMemory(row.id, why))
    # The filter is the same for all memories of one group and scope.
    values = {"scope": Scope.GROUP, "filter": filter_tokens(Memory(group=group, scope=Scope.GROUP))}
    narrowed = [
        row for batch in batches(changing) for row in change_rows(actor, Operation.NARROW, batch, values)
    ]
    refresh_around([row for row in narrowed if row.thread_id is not None])
    return len(changing), tuple(staying)


def _widen_back(actor: Actor, group: Group) -> tuple[int, tuple[StayingMemory, ...]]:
    """Make global again what _narrow_memories() made the group's own, each with a log row, in the caller's transaction.

    A memory stays if its text is live as a global one, was withdrawn since, or if a newer version is the group's own.
    """
    narrowed = Memory.objects.filter(group=group, scope=Scope.GROUP, id__in=_narrowed_ids(group))
    # The newest first: what stays keeps its former versions.
    rows = {row.key: row for row in narrowed.order_by("-key")}
    later = narrowed.filter(superseded_by__scope=Scope.GROUP).values_list("superseded_by", flat=True)
    own = set(later) - rows.keys()
    changed, staying = 0, dict[int, StayingMemory]()
    for row in rows.values():
        if row.superseded_by_id in staying or row.superseded_by_id in own:
            staying[row.key] = StayingMemory(row.id, "a newer version of it is the group's own")
            continue
        values = {"scope": (Scope.GLOBAL, Scope.GROUP)}
        done = reverse(actor, [FormerRow(MEMORY, row.key, values=values)], Terms(UNDONE, partial=True))
        changed += done.restored
        staying |= {each.row: StayingMemory(row.id, each.why) for each in done.kept}
    return changed, tuple(staying.values())


def _narrowed_ids(group: Group) -> list[str]:
    """The ids of the memories whose last change of scope made them the group's own."""
    rows = AuditEntry.objects.filter(operation=Operation.NARROW, group=group.id, memory_id__isnull=False)
    last: dict[str, str] = {}
    for entry in rows.order_by("key").select_related("payload_row").iterator():
        last[str(entry.memory_id)] = entry.payload.get("changes", {}).get("scope", ["", ""])[1]
    return [id_ for id_, scope in last.items() if scope == Scope.GROUP]
