"""What stands around one memory as a graph: its relations and its links, one step far."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q

from access.actor import Actor
from memories.entities.statements import statements_around, visible_keys
from memories.models import Link, LinkStatus, Memory
from memories.queries.versions import heads_of

MAX_EDGES = 60  # of each; a picture of more says nothing


@dataclass(frozen=True)
class GraphNode:
    """A chain by the version that counts now; `main` is the one that was asked about."""

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
    """The nodes, the asked one first, and the ties between them."""

    nodes: tuple[GraphNode, ...]
    ties: tuple[GraphEdge, ...]


def find_neighbourhood(actor: Actor, memory: Memory) -> Neighbourhood:
    """Give what the actor may see one step around a memory; a fixed number of queries."""
    said = statements_around(actor, memory, limit=MAX_EDGES)
    links = _links(actor, memory)
    ends = [end for link in links for end in (link.source, link.target)]
    heads = heads_of([memory, *ends])
    main = heads[memory.key]
    shown = {main.key: GraphNode(main, main=True)}
    ties = list[GraphEdge]()
    for one in said:
        shown |= {end.key: GraphNode(end) for end in (one.subject, one.object) if end.key not in shown}
        ties.append(
            GraphEdge(one.relation.id, one.subject.id, one.object.id, "relation", one.relation.predicate)
        )
    for link in links:
        source, target = heads[link.source_id], heads[link.target_id]
        if source.key == target.key:
            continue
        shown |= {end.key: GraphNode(end) for end in (source, target) if end.key not in shown}
        ties.append(GraphEdge(link.id, source.id, target.id, link.kind, link.kind))
    seen = visible_keys(actor, set(shown))
    names = {node.memory.id for key, node in shown.items() if key in seen}
    nodes = tuple(node for key, node in shown.items() if key in seen)
    return Neighbourhood(nodes, tuple(tie for tie in ties if {tie.source, tie.target} <= names))


def _links(actor: Actor, memory: Memory) -> list[Link]:
    """Give the links of the chain that are not dismissed and whose other end the actor may see."""
    root = memory.root_key
    rows = Link.objects.filter(Q(source=root) | Q(target=root)).exclude(status=LinkStatus.DISMISSED)
    links = list(rows.select_related("source__group", "target__group").order_by("-key")[:MAX_EDGES])
    seen = visible_keys(actor, {end for link in links for end in (link.source_id, link.target_id)})
    return [link for link in links if {link.source_id, link.target_id} <= seen]
