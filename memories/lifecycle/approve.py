"""The consequences of an approval: the memory supersedes what it was written to replace and joins its chain.

Whatever takes the place of another takes over its references: relations, evidence, names and links.
"""

from typing import Final

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext

from access.actor import Actor
from access.audit.operations import Operation
from memories.language.cleaning import first_words
from memories.models import FindingStatus, Link, LinkStatus, Memory, MemoryFinding
from memories.models.link import ON_APPROVAL
from memories.queries.versions import head_of, versions_of
from memories.queries.visibility import has_begun
from memories.store.change import change_row
from memories.store.supersede import (
    point_to_successor,
    replace_memory,
    settle_on_approval,
    was_called_off_after,
)
from memories.store.threads import refresh_around
from memories.types import State
from relations.models import EntityAlias, Relation, RelationEvidence

# Fields that a correction inherits from the former version beyond those of a draft: it keeps the former times.
CARRIED_FIELDS: Final = (
    "thread_id", "position", "valid_to", "valid_to_known_at", "pinned", "access_count", "last_accessed", "decayed_at",
)  # fmt: skip
_SHOWN_WORDS: Final = 12


def carry_out_approval(actor: Actor, memory: Memory) -> tuple[str, ...]:
    """Supersede the memories that this one was written to replace, if still live; what was done, a sentence for each.

    Runs inside the caller's transaction. The memory becomes the next version of what it replaces: relations, links
    and names move to that chain's root. A correction that was queued as an edit means that the old text was never
    right, so the old row's record time ends. A memory that was retracted meanwhile gets this one as its successor.
    """
    done: list[str] = []
    for link in settle_on_approval(actor, memory, timezone.now()):
        operation, old = link.evidence[ON_APPROVAL], head_of(link.target)
        if old.key == memory.key or old.state not in (State.LIVE, State.RETRACTED):
            continue
        if old.state == State.LIVE:
            # The right text of a plan that was withdrawn since is a plan itself: it corrects nothing that holds today.
            is_plan = not has_begun(memory, timezone.now()) and was_called_off_after(old, memory.created_at)
            how = Operation.SUPERSEDE if is_plan else Operation(operation)
            _replace_by_approved(actor, old, memory, operation=how, is_first=not done)
            name = f"“{first_words(old.content, _SHOWN_WORDS)}”" if actor.is_person else str(old.id)
            done.append(gettext("{id} is superseded").format(id=name))
        else:
            if not done:
                join_chain(actor, old, memory)
            point_to_successor(actor, old, memory)
            memory.refresh_from_db()
            done.append(gettext("{id} was retracted and now leads to it").format(id=old.id))
    return tuple(done)


def approve_text(actor: Actor, memory: Memory) -> tuple[str, ...]:
    """carry_out_approval() for a person's decision: what a scan found in the text is decided too."""
    rows = MemoryFinding.objects.filter(memory=memory, status__in=[FindingStatus.OPEN, FindingStatus.HELD])
    rows.update(status=FindingStatus.KEPT, settled_by=actor.name[:300])
    return carry_out_approval(actor, memory)


def _replace_by_approved(
    actor: Actor, old: Memory, memory: Memory, *, operation: Operation, is_first: bool
) -> None:
    """Put the approved memory in the place of `old`; it joins only one chain, that of the first one it replaces."""
    values = {}
    if operation == Operation.EDIT:
        values = {name: getattr(old, name) for name in CARRIED_FIELDS}
    elif old.thread_id is not None and old.thread_id == memory.thread_id:
        values = {"position": old.position}
    if is_first:
        join_chain(actor, old, memory)
    Memory.objects.filter(pk=memory.pk).update(**values)
    memory.refresh_from_db()
    replace_memory(actor, old, memory, operation=operation)
    refresh_around([memory])


def join_chain(actor: Actor, old: Memory, memory: Memory) -> None:
    """Make the memory's rows the next versions of the old chain and move all references to the old root."""
    chain, root = versions_of(memory), memory.root_key
    if root == old.root_key:
        return
    for number, row in enumerate(chain, start=1):
        values = {"root": old.root_key, "version": old.version + number}
        change_row(actor, Operation.SUPERSEDE, row, values)
    move_references(root, old.root_key, joins=True)


def move_references(root: int, to: int, *, joins: bool = False) -> int:
    """Point all references from one root to another, inside the caller's transaction; return how many rows changed.

    A relation that the other root already has is retired, and its evidence moves to the one that stays. A name or
    link that the other root already has stays where it is; an open link between the two roots, or one that waited for
    an approval, is closed. `joins`: the root becomes a version of the other chain, so what would stay is deleted.
    """
    known = RelationEvidence.objects.filter(memory=to).values("relation")
    changed = RelationEvidence.objects.filter(memory=root).exclude(relation__in=known).update(memory=to)
    changed += move_relations(root, to)
    names = EntityAlias.objects.filter(memory=to).values("fold")
    changed += EntityAlias.objects.filter(memory=root).exclude(fold__in=names).update(memory=to)
    changed += _move_links(root, to)
    if joins:
        Link.objects.filter(Q(source=root) | Q(target=root)).delete()
        EntityAlias.objects.filter(memory=root).delete()
        RelationEvidence.objects.filter(memory=root).delete()
    return changed


def move_relations(root: int, to: int) -> int:
    """Move the relations; retire those that would relate a thing to itself or that the other root already has."""
    current = Relation.objects.filter(Q(subject=to) | Q(object=to), retired_at=None, valid_to=None)
    existing = {(r.group_id, r.subject_id, r.predicate, r.object_id): r for r in current}
    moved, over, changed = list[int](), list[int](), 0
    for row in Relation.objects.filter(Q(subject=root) | Q(object=root)).order_by("key"):
        subject, object_ = (to if end == root else end for end in (row.subject_id, row.object_id))
        twin = existing.get((row.group_id, subject, row.predicate, object_))
        is_twin = twin is not None and row.retired_at is None and row.valid_to is None
        if subject != object_ and not is_twin:
            moved.append(row.pk)
            continue
        over.append(row.pk)
        if twin is not None and twin.pk != row.pk:  # its evidence proves the one that stays
            known = RelationEvidence.objects.filter(relation=twin).values("memory")
            proofs = RelationEvidence.objects.filter(relation=row).exclude(memory__in=known)
            changed += proofs.update(relation=twin)
    changed += Relation.objects.filter(pk__in=over, retired_at=None).update(retired_at=timezone.now())
    rows = Relation.objects.filter(pk__in=moved)
    return changed + rows.filter(subject=root).update(subject=to) + rows.filter(object=root).update(object=to)


def _move_links(root: int, to: int) -> int:
    """Move the links; close an open one between the two roots and one that waited for an approval."""
    links = Link.objects.filter(Q(source=to) | Q(target=to))
    existing = {(link.kind, link.source_id, link.target_id) for link in links}
    moved, over = list[int](), list[int]()
    for row in Link.objects.filter(Q(source=root) | Q(target=root)).order_by("key"):
        source, target = (to if end == root else end for end in (row.source_id, row.target_id))
        if source == target or (row.source_id == root and ON_APPROVAL in row.evidence):
            over.append(row.pk)
        elif (row.kind, source, target) not in existing:
            moved.append(row.pk)
    closed = Link.objects.filter(pk__in=over, status=LinkStatus.OPEN)
    changed = closed.update(status=LinkStatus.SETTLED, settled_at=timezone.now())
    rows = Link.objects.filter(pk__in=moved)
    return changed + rows.filter(source=root).update(source=to) + rows.filter(target=root).update(target=to)
