"""What hangs on a chain's root (relations, evidence, names, links), and moving it to another root so that it can move back."""

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final

from django.db import IntegrityError, transaction
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
    """One field of one row: what it was before and is after. `field` is a column's attribute, such as subject_id."""

    table: str
    key: int
    field: str
    before: Any
    after: Any


def move_ties(root: int, to: int) -> list[ReferenceMove]:
    """Point all that hangs on one root to another, inside the caller's transaction; give each change, in order.

    A relation that is there already is retired, and its evidence goes to the one that stays. A name or link that is
    there already stays where it is; an open link between the two, or one that waited for an approval, is closed.
    """
    done = [*_move_evidence(root, to), *_move_relations(root, to), *_move_names(root, to)]
    return [*done, *_move_links(root, to)]


def move_back(moves: Iterable[ReferenceMove]) -> list[ReferenceMove]:
    """Undo moves, the last first, each where the row still stands as it was left; give those that had to stay."""
    return [move for move in reversed(list(moves)) if not _undo(move)]


def as_payload(moves: Iterable[ReferenceMove]) -> list[dict[str, Any]]:
    """Give moves as the log keeps them."""
    return [asdict(move) for move in moves]


def from_payload(kept: Iterable[dict[str, Any]]) -> list[ReferenceMove]:
    """Give the moves that a row of the log keeps."""
    return [ReferenceMove(**each) for each in kept]


def _undo(move: ReferenceMove) -> bool:
    rows = _TABLES[move.table]._default_manager.filter(pk=move.key, **{move.field: move.after})
    try:
        with transaction.atomic():
            return rows.update(**{move.field: move.before}) == 1
    except IntegrityError:  # something else took its place
        return False


def _move_relations(root: int, to: int) -> list[ReferenceMove]:
    rows = list(Relation.objects.filter(Q(subject=root) | Q(object=root)).order_by("key"))
    standing = Relation.objects.filter(Q(subject=to) | Q(object=to), retired_at=None, valid_to=None)
    there = {(r.group_id, r.subject_id, r.predicate, r.object_id): r for r in standing}
    moves = list[ReferenceMove]()
    for row in rows:
        subject, object_ = (to if end == root else end for end in (row.subject_id, row.object_id))
        twin = there.get((row.group_id, subject, row.predicate, object_))
        counts = row.retired_at is None and row.valid_to is None
        if subject == object_ or (twin is not None and counts):
            moves += _retired(row) if row.retired_at is None else []
            moves += _pass_on_evidence(row, twin) if twin is not None and twin.pk != row.pk else []
            continue
        for field, end in (("subject_id", row.subject_id), ("object_id", row.object_id)):
            if end == root:
                moves.append(ReferenceMove("relation", row.pk, field, root, to))
    _carry_out([move for move in moves if move.table == "relation" and move.after == to], to)
    return moves


def _retired(row: Relation) -> list[ReferenceMove]:
    now = timezone.now()
    Relation.objects.filter(pk=row.pk).update(retired_at=now)
    return [ReferenceMove("relation", row.pk, "retired_at", None, now.isoformat())]


def _pass_on_evidence(row: Relation, twin: Relation) -> list[ReferenceMove]:
    """Let what proved a retired relation prove the one that stays."""
    known = set(RelationEvidence.objects.filter(relation=twin).values_list("memory", flat=True))
    rest = RelationEvidence.objects.filter(relation=row).exclude(memory__in=known)
    moves = [ReferenceMove("evidence", each.pk, "relation_id", row.pk, twin.pk) for each in rest]
    _carry_out(moves, twin.pk)
    return moves


def _move_evidence(root: int, to: int) -> list[ReferenceMove]:
    known = set(RelationEvidence.objects.filter(memory=to).values_list("relation", flat=True))
    rows = RelationEvidence.objects.filter(memory=root).exclude(relation__in=known).order_by("pk")
    moves = [ReferenceMove("evidence", row.pk, "memory_id", root, to) for row in rows]
    _carry_out(moves, to)
    return moves


def _move_names(root: int, to: int) -> list[ReferenceMove]:
    known = set(EntityAlias.objects.filter(memory=to).values_list("fold", flat=True))
    rows = EntityAlias.objects.filter(memory=root).exclude(fold__in=known).order_by("key")
    moves = [ReferenceMove("name", row.pk, "memory_id", root, to) for row in rows]
    _carry_out(moves, to)
    return moves


def _move_links(root: int, to: int) -> list[ReferenceMove]:
    rows = list(Link.objects.filter(Q(source=root) | Q(target=root)).order_by("key"))
    standing = Link.objects.filter(Q(source=to) | Q(target=to))
    there = {(link.kind, link.source_id, link.target_id) for link in standing}
    moves = list[ReferenceMove]()
    for row in rows:
        source, target = (to if end == root else end for end in (row.source_id, row.target_id))
        waits = row.source_id == root and ON_APPROVAL in row.evidence
        if source == target or waits:
            moves += _closed(row) if row.status == LinkStatus.OPEN else []
        elif (row.kind, source, target) not in there:
            field = "source_id" if row.source_id == root else "target_id"
            moves.append(ReferenceMove("link", row.pk, field, root, to))
    _carry_out([move for move in moves if move.after == to], to)
    return moves


def _closed(row: Link) -> list[ReferenceMove]:
    now = timezone.now()
    Link.objects.filter(pk=row.pk).update(status=LinkStatus.SETTLED, settled_at=now)
    return [
        ReferenceMove("link", row.pk, "status", LinkStatus.OPEN.value, LinkStatus.SETTLED.value),
        ReferenceMove("link", row.pk, "settled_at", None, now.isoformat()),
    ]


def _carry_out(moves: Collection[ReferenceMove], to: int) -> None:
    """Write moves to one value, a statement per table and field."""
    for table, field in {(move.table, move.field) for move in moves}:
        keys = [move.key for move in moves if (move.table, move.field) == (table, field)]
        _TABLES[table]._default_manager.filter(pk__in=keys).update(**{field: to})
