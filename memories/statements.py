"""Relations as people and agents read them: the ends as they stand now, and only those that may be seen."""

from collections.abc import Sequence
from dataclasses import dataclass

from access.actor import Actor
from memories.known import heads_of
from memories.models import Memory
from memories.visibility import as_q, listed_by
from relations.models import Relation
from relations.walk import Edge


@dataclass(frozen=True)
class Statement:
    """A relation with the versions of its ends that count now; `depth` is how many steps the walk took."""

    relation: Relation
    subject: Memory
    object: Memory
    depth: int


def visible_statements(actor: Actor, edges: Sequence[Edge]) -> list[Statement]:
    """Give the relations both of whose ends the actor may see: one end may stand in a group that is not theirs.

    A relation points to the roots of two chains; what is shown of them is their heads.
    """
    roots = {end for edge in edges for end in (edge.relation.subject, edge.relation.object)}
    heads = heads_of(list(roots))
    seen = visible_keys(actor, {head.key for head in heads.values()})
    found = [
        Statement(e.relation, heads[e.relation.subject_id], heads[e.relation.object_id], e.depth)
        for e in edges
    ]
    return [statement for statement in found if {statement.subject.key, statement.object.key} <= seen]


def visible_keys(actor: Actor, keys: set[int]) -> set[int]:
    """Give those of the keys whose memories the actor may see, in any state."""
    rows = Memory.objects.filter(as_q(listed_by(actor, None)), key__in=keys)
    return set(rows.values_list("key", flat=True))
