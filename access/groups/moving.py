"""Moving a part of a group's memories to another group, and back; the memories' package does the work on its rows."""

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from django.db.models import Q

from access.actor import Actor
from access.additions import additions
from access.answers import Answer, ShownAs
from access.audit.chains import OWN
from access.audit.operations import Operation
from access.errors import InvalidInput
from access.groups.narrowing import StayingMemory
from access.models import AuditEntry, Group


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
