"""Move all references of one root (relations, evidence, names, links) to another. The journal of row changes reverses it."""

from django.db.models import Q
from django.utils import timezone

from memories.models import Link, LinkStatus
from memories.models.link import ON_APPROVAL
from relations.models import EntityAlias, Relation, RelationEvidence


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
    changed += move_links(root, to)
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


def move_links(root: int, to: int) -> int:
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
