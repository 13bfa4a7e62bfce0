"""Relations as people and agents read them: visible ones only, each end as its current version."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet

from access.actor import Actor
from memories.entities.lines import RelationEnds, RelationLine, statement_of, to_line
from memories.models import Link, LinkStatus, Memory
from memories.queries.labels import read_doubts
from memories.queries.versions import heads_of, versions_of
from memories.queries.visibility import as_q, listed_by
from relations.models import Relation, RelationEvidence
from relations.walk import Edge, walk_relations

_KEYS_AT_ONCE = 1000


@dataclass(frozen=True)
class RelationStatement:
    """A relation with the current version of each end; `depth` is the number of steps from the start.

    `proofs` are visible memories that prove it, if they were read: see with_proofs().
    """

    relation: Relation
    subject: Memory
    object: Memory
    depth: int
    proofs: tuple[Memory, ...] = ()

    @property
    def line(self) -> RelationLine:
        """The relation as a line to read."""
        return to_line(self.relation, RelationEnds(self.subject, self.object, self.proofs))

    @property
    def sentence(self) -> str:
        """The relation as a sentence, such as "Ledger owned by team Payments"."""
        return statement_of(self.subject, self.relation.predicate, self.object)


def statements_around(
    actor: Actor, start: Memory, *, depth: int = 1, limit: int = 50, at: datetime | None = None
) -> list[RelationStatement]:
    """The visible relations around a memory, nearest first; see relations.walk.walk_relations()."""

    def may_see(roots: set[int]) -> set[int]:
        return roots - hidden_ends(actor, roots)

    groups = listed_by(actor, None).groups
    edges = walk_relations([start.root_key], groups=groups, may_see=may_see, depth=depth, limit=limit, at=at)
    return visible_statements(actor, edges)


def find_statement(actor: Actor, id_: str) -> RelationStatement | None:
    """The relation of this full id with its proofs; None if it is not an id, or the actor may not see both ends."""
    try:
        wanted = UUID(id_.strip())
    except ValueError:
        return None
    groups = listed_by(actor, None).groups
    rows = Relation.objects.filter(id=wanted).select_related("subject", "object", "group")
    edges = [Edge(row, 1) for row in rows if groups is None or row.group_id in groups]
    found = with_proofs(actor, visible_statements(actor, edges)) if edges else []
    return found[0] if found else None


def visible_statements(actor: Actor, edges: Sequence[Edge]) -> list[RelationStatement]:
    """The relations with both ends visible to the actor: one may belong to a group that is not theirs.

    A relation points to the roots of two chains; their heads are returned.
    """
    roots = {end for edge in edges for end in (edge.relation.subject, edge.relation.object)}
    heads = heads_of(list(roots))
    read_doubts(heads.values())
    seen = visible_keys(actor, {head.key for head in heads.values()})
    found = [
        RelationStatement(e.relation, heads[e.relation.subject_id], heads[e.relation.object_id], e.depth)
        for e in edges
    ]
    return [statement for statement in found if {statement.subject.key, statement.object.key} <= seen]


def with_proofs(actor: Actor, statements: Sequence[RelationStatement]) -> list[RelationStatement]:
    """The statements with the visible memories that prove them, each as its current version; four queries for all."""
    rows = RelationEvidence.objects.filter(relation__in=[each.relation.key for each in statements])
    proofs = list(rows.select_related("memory").order_by("pk"))
    heads = heads_of([proof.memory for proof in proofs])
    seen = visible_keys(actor, {head.key for head in heads.values()})
    found: defaultdict[int, list[Memory]] = defaultdict(list)
    for proof in proofs:
        if (head := heads[proof.memory_id]).key in seen:
            found[proof.relation_id].append(head)
    return [replace(each, proofs=tuple(found[each.relation.key])) for each in statements]


def hidden_ends(actor: Actor, roots: Collection[int]) -> set[int]:
    """The chains' roots whose heads the actor may not see."""
    keys, hidden = sorted(roots), set[int]()
    for start in range(0, len(keys), _KEYS_AT_ONCE):
        heads = heads_of(list(Memory.objects.filter(key__in=keys[start : start + _KEYS_AT_ONCE])))
        seen = visible_keys(actor, {head.key for head in heads.values()})
        hidden |= {root for root, head in heads.items() if head.key not in seen}
    return hidden


def show_heads(relations: Sequence[Relation]) -> None:
    """Replace the ends of the relations by their current versions. For reading only: never save them."""
    heads = heads_of([end for relation in relations for end in (relation.subject, relation.object)])
    for relation in relations:
        relation.subject, relation.object = heads[relation.subject_id], heads[relation.object_id]


def visible_keys(actor: Actor, keys: set[int]) -> set[int]:
    """The keys whose memories the actor may see, in any state."""
    rows = Memory.objects.filter(as_q(listed_by(actor, None)), key__in=keys)
    return set(rows.values_list("key", flat=True))


def visible_versions(actor: Actor, memory: Memory) -> list[Memory]:
    """The visible versions of a memory, oldest first: one from before it became global is visible in its group only."""
    chain = versions_of(memory)
    seen = visible_keys(actor, {version.key for version in chain})
    return [version for version in chain if version.key in seen]


_MAX_EDGES = 60  # relations, and as many links; a larger picture is unreadable


@dataclass(frozen=True)
class _GraphNode:
    """A chain's current version; `main` marks the memory in the middle."""

    memory: Memory
    main: bool = False


@dataclass(frozen=True)
class _GraphEdge:
    """A relation or a link between two nodes, by their memories' ids; `kind` is `relation` or the link's kind."""

    id: UUID
    source: UUID
    target: UUID
    kind: str
    label: str


@dataclass(frozen=True)
class Neighbourhood:
    """The nodes, the main one first, and the edges between them."""

    nodes: tuple[_GraphNode, ...]
    edges: tuple[_GraphEdge, ...]


def find_neighbourhood(actor: Actor, memory: Memory) -> Neighbourhood:
    """The visible graph one step around a memory; a fixed number of queries."""
    statements = statements_around(actor, memory, limit=_MAX_EDGES)
    links = undismissed_links(actor, memory)
    ends = [end for link in links for end in (link.source, link.target)]
    heads = heads_of([memory, *ends])
    main = heads[memory.key]
    nodes_by_key = {main.key: _GraphNode(main, main=True)}
    edges = list[_GraphEdge]()
    for relation, subject, object_ in ((each.relation, each.subject, each.object) for each in statements):
        nodes_by_key |= {
            end.key: _GraphNode(end) for end in (subject, object_) if end.key not in nodes_by_key
        }
        edges.append(_GraphEdge(relation.id, subject.id, object_.id, "relation", relation.predicate))
    for link in links:
        source, target = heads[link.source_id], heads[link.target_id]
        if source.key == target.key:
            continue
        nodes_by_key |= {end.key: _GraphNode(end) for end in (source, target) if end.key not in nodes_by_key}
        edges.append(_GraphEdge(link.id, source.id, target.id, link.kind, link.kind))
    visible = visible_keys(actor, set(nodes_by_key))
    ids = {node.memory.id for key, node in nodes_by_key.items() if key in visible}
    nodes = tuple(node for key, node in nodes_by_key.items() if key in visible)
    return Neighbourhood(nodes, tuple(edge for edge in edges if {edge.source, edge.target} <= ids))


def links_of(memory: Memory) -> QuerySet[Link]:
    """The links of the memory's chain."""
    rows = Link.objects.filter(Q(source=memory.root_key) | Q(target=memory.root_key))
    return rows.select_related("source__group", "target__group")


def with_visible_ends(actor: Actor, rows: QuerySet[Link]) -> list[Link]:
    """The links between two memories that the actor may see."""
    links = list(rows)
    seen = visible_keys(actor, {end for link in links for end in (link.source_id, link.target_id)})
    return [link for link in links if {link.source_id, link.target_id} <= seen]


def undismissed_links(actor: Actor, memory: Memory) -> list[Link]:
    """The newest links of the chain that are not dismissed and have a visible other end."""
    rows = links_of(memory).exclude(status=LinkStatus.DISMISSED).order_by("-key")
    return with_visible_ends(actor, rows[:_MAX_EDGES])
