"""The neighbourhood of a memory as a graph: its relations and links, one step away."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q

from access.actor import Actor
from memories.entities.statements import statements_around, visible_keys
from memories.models import Link, LinkStatus, Memory
from memories.queries.versions import heads_of

MAX_EDGES = 60  # relations, and as many links; a larger picture is unreadable


@dataclass(frozen=True)
class GraphNode:
    """A chain's current version; `main` marks the memory in the middle."""

    memory: Memory
    main: bool = False


@dataclass(frozen=True)
class GraphEdge:
    """A relation or a link between two nodes, by their memories' ids; `kind` is `relation` or the link's kind."""

    id: UUID
    source: UUID
    target: UUID
    kind: str
    label: str


@dataclass(frozen=True)
class Neighbourhood:
    """The nodes, the main one first, and the edges between them."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]


def find_neighbourhood(actor: Actor, memory: Memory) -> Neighbourhood:
    """The visible graph one step around a memory; a fixed number of queries."""
    statements = statements_around(actor, memory, limit=MAX_EDGES)
    links = undismissed_links(actor, memory)
    ends = [end for link in links for end in (link.source, link.target)]
    heads = heads_of([memory, *ends])
    main = heads[memory.key]
    nodes_by_key = {main.key: GraphNode(main, main=True)}
    edges = list[GraphEdge]()
    for relation, subject, object_ in ((each.relation, each.subject, each.object) for each in statements):
        nodes_by_key |= {end.key: GraphNode(end) for end in (subject, object_) if end.key not in nodes_by_key}
        edges.append(GraphEdge(relation.id, subject.id, object_.id, "relation", relation.predicate))
    for link in links:
        source, target = heads[link.source_id], heads[link.target_id]
        if source.key == target.key:
            continue
        nodes_by_key |= {end.key: GraphNode(end) for end in (source, target) if end.key not in nodes_by_key}
        edges.append(GraphEdge(link.id, source.id, target.id, link.kind, link.kind))
    visible = visible_keys(actor, set(nodes_by_key))
    ids = {node.memory.id for key, node in nodes_by_key.items() if key in visible}
    nodes = tuple(node for key, node in nodes_by_key.items() if key in visible)
    return Neighbourhood(nodes, tuple(edge for edge in edges if {edge.source, edge.target} <= ids))


def undismissed_links(actor: Actor, memory: Memory) -> list[Link]:
    """The newest links of the chain that are not dismissed and have a visible other end."""
    root = memory.root_key
    rows = Link.objects.filter(Q(source=root) | Q(target=root)).exclude(status=LinkStatus.DISMISSED)
    links = list(rows.select_related("source__group", "target__group").order_by("-key")[:MAX_EDGES])
    seen = visible_keys(actor, {end for link in links for end in (link.source_id, link.target_id)})
    return [link for link in links if {link.source_id, link.target_id} <= seen]
