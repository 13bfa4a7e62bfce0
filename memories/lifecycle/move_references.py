"""Move all references of one root (relations, evidence, names, links) to another, and move them back."""

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final

from django.db.models import Model, Q
from django.utils import timezone

from memories.models import Link, LinkStatus
from memories.models.link import ON_APPROVAL
from relations.models import EntityAlias, Relation, RelationEvidence

_TABLES: Final[dict[str, type[Model]]] = {
    "relation": Relation, "evidence": RelationEvidence, "name": EntityAlias, "link": Link,
}  # fmt: skip


@dataclass(frozen=True)
class ReferenceMove:
    """One changed field of one row, before and after. `field` is a column's attribute, such as subject_id."""

    table: str
    key: int
    field: str
    before: Any
    after: Any


def move_references(root: int, to: int) -> list[ReferenceMove]:
    """Point all references from one root to another, inside the caller's transaction; return each change, in order.

    A relation that the other root already has is retired, and its evidence moves to the one that stays. A name or
    link that the other root already has stays where it is; an open link between the two roots, or one that waited for
    an approval, is closed.
    """
    moves = [*move_evidence(root, to), *move_relations(root, to), *move_names(root, to)]
    return [*moves, *move_links(root, to)]


def moves_to_json(moves: Iterable[ReferenceMove]) -> list[dict[str, Any]]:
    """The moves as an audit payload."""
    return [asdict(move) for move in moves]


def move_relations(root: int, to: int) -> list[ReferenceMove]:
    """Move the relations; retire those that would relate a thing to itself or that the other root already has."""
    rows = list(Relation.objects.filter(Q(subject=root) | Q(object=root)).order_by("key"))
    current = Relation.objects.filter(Q(subject=to) | Q(object=to), retired_at=None, valid_to=None)
    existing = {(r.group_id, r.subject_id, r.predicate, r.object_id): r for r in current}
    moves = list[ReferenceMove]()
    for row in rows:
        subject, object_ = (to if end == root else end for end in (row.subject_id, row.object_id))
        twin = existing.get((row.group_id, subject, row.predicate, object_))
        is_current = row.retired_at is None and row.valid_to is None
        if subject == object_ or (twin is not None and is_current):
            moves += _retire_relation(row) if row.retired_at is None else []
            moves += _move_relation_evidence(row, twin) if twin is not None and twin.pk != row.pk else []
            continue
        for field, end in (("subject_id", row.subject_id), ("object_id", row.object_id)):
            if end == root:
                moves.append(ReferenceMove("relation", row.pk, field, root, to))
    _write_moves([move for move in moves if move.table == "relation" and move.after == to], to)
    return moves


def _retire_relation(row: Relation) -> list[ReferenceMove]:
    now = timezone.now()
    Relation.objects.filter(pk=row.pk).update(retired_at=now)
    return [ReferenceMove("relation", row.pk, "retired_at", None, now.isoformat())]


def _move_relation_evidence(row: Relation, twin: Relation) -> list[ReferenceMove]:
    """Make the evidence of a retired relation evidence of the one that stays."""
    known = set(RelationEvidence.objects.filter(relation=twin).values_list("memory", flat=True))
    rest = RelationEvidence.objects.filter(relation=row).exclude(memory__in=known)
    moves = [ReferenceMove("evidence", each.pk, "relation_id", row.pk, twin.pk) for each in rest]
    _write_moves(moves, twin.pk)
    return moves


def move_evidence(root: int, to: int) -> list[ReferenceMove]:
    """Move the relations' evidence that the other root does not already provide."""
    known = set(RelationEvidence.objects.filter(memory=to).values_list("relation", flat=True))
    rows = RelationEvidence.objects.filter(memory=root).exclude(relation__in=known).order_by("pk")
    moves = [ReferenceMove("evidence", row.pk, "memory_id", root, to) for row in rows]
    _write_moves(moves, to)
    return moves


def move_names(root: int, to: int) -> list[ReferenceMove]:
    """Move the names that the other root does not already have."""
    known = set(EntityAlias.objects.filter(memory=to).values_list("fold", flat=True))
    rows = EntityAlias.objects.filter(memory=root).exclude(fold__in=known).order_by("key")
    moves = [ReferenceMove("name", row.pk, "memory_id", root, to) for row in rows]
    _write_moves(moves, to)
    return moves


def move_links(root: int, to: int) -> list[ReferenceMove]:
    """Move the links; close an open one between the two roots and one that waited for an approval."""
    rows = list(Link.objects.filter(Q(source=root) | Q(target=root)).order_by("key"))
    links = Link.objects.filter(Q(source=to) | Q(target=to))
    existing = {(link.kind, link.source_id, link.target_id) for link in links}
    moves = list[ReferenceMove]()
    for row in rows:
        source, target = (to if end == root else end for end in (row.source_id, row.target_id))
        is_waiting = row.source_id == root and ON_APPROVAL in row.evidence
        if source == target or is_waiting:
            moves += _close_link(row) if row.status == LinkStatus.OPEN else []
        elif (row.kind, source, target) not in existing:
            field = "source_id" if row.source_id == root else "target_id"
            moves.append(ReferenceMove("link", row.pk, field, root, to))
    _write_moves([move for move in moves if move.after == to], to)
    return moves


def _close_link(row: Link) -> list[ReferenceMove]:
    now = timezone.now()
    Link.objects.filter(pk=row.pk).update(status=LinkStatus.SETTLED, settled_at=now)
    return [
        ReferenceMove("link", row.pk, "status", LinkStatus.OPEN.value, LinkStatus.SETTLED.value),
        ReferenceMove("link", row.pk, "settled_at", None, now.isoformat()),
    ]


def _write_moves(moves: Collection[ReferenceMove], to: int) -> None:
    """Write moves to one value: a statement per table and field."""
    for table, field in {(move.table, move.field) for move in moves}:
        keys = [move.key for move in moves if (move.table, move.field) == (table, field)]
        _TABLES[table]._default_manager.filter(pk__in=keys).update(**{field: to})
