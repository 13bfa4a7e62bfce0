"""Moving a part of a group's memories to another group, and back; the memories' package does the work on its rows."""

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from access import audit
from access.actor import ADMIN, Actor
from access.additions import additions
from access.answers import Answer, ShownAs
from access.audit.chains import OWN
from access.audit.collect import one_change
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput
from access.groups import find_group
from access.models import AuditEntry, Group


@dataclass(frozen=True)
class StayingMemory(Answer):
    """A memory whose scope stays as it is, and why."""

    id: UUID
    why: str


@dataclass(frozen=True)
class ScopeChange:
    """How many memories of a group changed their scope, or would, and which stay."""

    group: str
    changed: int
    staying: tuple[StayingMemory, ...]
    is_undo: bool
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
        narrow, widen_back = additions("scope changes")
        changed, staying = widen_back(actor, group) if undo else narrow(actor, group)
        if changed:
            payload = {"action": "narrow", "undo": undo, "memories": changed, "staying": len(staying)}
            audit.append(
                actor, Operation.GROUP, group=group.id, subject=f"group:{group.slug}", payload=payload
            )
        transaction.set_rollback(dry_run)
    return ScopeChange(group.slug, changed, staying, undo, dry_run)


@dataclass(frozen=True)
class PartFilter:
    """Which memories of a group move: of one of these types and sources, with all of these tags. Empty: all."""

    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class PartMove(Answer):
    """How many memories moved, or would, with how many rows in all; which stay, and the run that undoes it.

    `notes` say what goes along and what stays behind.
    """

    source: Annotated[str, ShownAs(name="from")]
    target: Annotated[str, ShownAs(name="to")]
    moved: int
    rows: int
    staying: tuple[StayingMemory, ...] = ()
    notes: tuple[str, ...] = ()
    run: UUID | None = None
    is_undo: Annotated[bool, ShownAs(name="undo")] = False
    dry_run: bool = False


@dataclass(frozen=True)
class LeftBehind:
    """What a purge of the traces of moved memories destroyed in their former group, or would; counts of rows.

    `memories` counts versions, `elsewhere` those that moved where the actor may not curate: nothing of them was touched.
    `others` counts rows of other kinds that quoted a text: names and titles, reasons, instructions, proposals.
    `remains` names where a text may still be: nothing is promised about that.
    """

    group: str
    memories: int
    log_payloads: int
    recalls: int
    checkpoints: int
    remains: tuple[str, ...] = ()
    elsewhere: int = 0
    dry_run: bool = False
    others: int = 0


def move_memories(
    actor: Actor,
    slug: str,
    *,
    to: str,
    wanted: PartFilter | None = None,
    reason: str = "",
    dry_run: bool = False,
) -> PartMove:
    """Move a group's current memories, or those that the filter names, to another group. One transaction.

    A dry run does the same and rolls it back.

    Raises:
        GroupNotFound, NotPermitted: the actor may not curate both groups.
        InvalidInput: no memory can have a type, tag or source of the filter, or there are too many.
        Conflict: both are the same.
    """
    done: PartMove = additions("part moves")[0](actor, slug, to, wanted or PartFilter(), reason, dry_run)
    return done


def move_memories_back(actor: Actor, slug: str, *, run: str, dry_run: bool = False) -> PartMove:
    """Undo a move of memories from this group, by the run that it named; all of it or nothing.

    Raises:
        InvalidInput: it is no run id.
        NotFound: no move from this group has it.
        Conflict: something of it moved on or was purged, or the group would not take it back now.
    """
    try:
        named = UUID(run)
    except ValueError:
        raise InvalidInput(
            f"'{run}' is no run id.", hint="The move's answer names it.", field="run"
        ) from None
    done: PartMove = additions("part moves")[1](actor, slug, named, dry_run)
    return done


def has_moved_away(group: Group) -> bool:
    """True if the group's log says that a memory or a conversation was moved to another group."""
    rows = AuditEntry.objects.filter(origin=OWN, group=group.id)
    memories = Q(operation=Operation.MOVE, payload_row__payload__has_key="moved_to")
    conversations = Q(operation=Operation.THREAD, payload_row__payload__moved__0=group.slug)
    return rows.filter(memories | conversations).exists()


def purge_left_behind(
    actor: Actor, slug: str, *, memory: str = "", reason: str = "", dry_run: bool = False
) -> LeftBehind:
    """Destroy what memories that moved away left in a group: log payloads, logged recalls, quotes in checkpoints.

    It cannot be undone. A dry run does the same and rolls it back. `memory` is the id of one of them; empty: all.

    Raises:
        GroupNotFound, NotPermitted: the actor is an agent, or may not curate the group.
        NotFound: that memory did not move away from the group, or is where the actor may not curate.
    """
    done: LeftBehind = additions("part moves")[2](actor, slug, memory, reason, dry_run)
    return done
