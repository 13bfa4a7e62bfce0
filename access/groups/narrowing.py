"""Turning a group's global memories into its own, and back; the memories' package does the work on its rows."""

from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from access import audit
from access.actor import ADMIN, Actor
from access.additions import additions
from access.answers import Answer
from access.audit.operations import Operation
from access.audit.retry import one_change
from access.errors import Conflict
from access.groups import find_group
from access.models import Group


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
