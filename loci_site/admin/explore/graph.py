"""The relation graph: a group's newest relations with the memories behind them, and those around one memory."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext

from access.actor import CURATE, Actor
from access.admin.caller import actor_of
from access.admin.columns import in_words, shorten
from access.admin.form_errors import refusing_as_json
from access.models import Group
from loci_site.admin.explore.page import json_response, parse_number, query_texts
from memories.admin.memory_page import node_json
from memories.browse.suggest import Behind, memories_behind
from memories.draft import check_range
from memories.entities.statements import RelationStatement, statements_around, visible_statements, with_proofs
from memories.language.cleaning import fold
from memories.models import Memory
from memories.queries.versions import find_memory
from memories.queries.visibility import as_q, listed_by
from memories.search.query_terms import words
from memories.types import State, Trust, Type
from relations.models import Relation
from relations.walk import MAX_DEPTH, Edge

_MAX_RELATIONS = 60
_MAX_OF_PREDICATE = 300  # relations: of one predicate, more of them can be told apart
_OVERSAMPLING = 4  # relations read per relation shown, since some may be invisible to the caller
_NODE_CHARS = 80
_MAX_PREDICATES = 20
_MAX_MEMORIES = 60  # newest of a group that are looked at
FIELDS = ("of", "predicate", "depth", "memories")


def graph_context(actor: Actor, group: Group, given: dict[str, str]) -> dict[str, Any]:
    """The relations around the memory `of`, else the group's newest with the memories that prove or name their ends."""
    start: Memory | None = None
    if given["of"]:
        start, statements = _around(actor, given)
    else:
        most = _MAX_OF_PREDICATE if given["predicate"] else _MAX_RELATIONS
        statements = newest_statements(actor, group, given["predicate"], most)
    data = graph_json(statements, start)
    if start is None and not given["predicate"]:
        _add_memories(data, actor, group, statements)
    labels = {node["id"]: node for node in data["nodes"]}
    return {
        "start": start,
        "rows": [(edge, labels[edge["from"]], labels[edge["to"]]) for edge in data["edges"]],
        "around": shown_text(start) if start is not None else "",
        "data": data,
        "predicates": Counter(each.relation.predicate for each in statements).most_common(_MAX_PREDICATES),
        "types": Type.values,
        "depths": range(1, MAX_DEPTH + 1),
        "may_merge": actor.may_somewhere(CURATE),
    }


def _add_memories(
    data: dict[str, Any], actor: Actor, group: Group, statements: Sequence[RelationStatement]
) -> None:
    """Add the group's newest memories that prove a relation or have an entity's name in their text, and such entities."""
    rows = Memory.objects.filter(as_q(listed_by(actor, group)), group=group, state=State.LIVE, summary=None)
    newest = list(rows.exclude(trust=Trust.QUARANTINED)[:_MAX_MEMORIES])
    ends = {end.id: end for each in statements for end in (each.subject, each.object)}
    ends |= {memory.id: memory for memory in newest if memory.type == Type.ENTITY}
    names = [(_as_phrase(end.content), end) for end in ends.values() if end.trust != Trust.QUARANTINED]
    ties: dict[tuple[int, int], tuple[Memory, Memory, str]] = {}
    for memory in newest:
        if memory.type != Type.ENTITY:
            text = _as_phrase(memory.content)
            found = [end for name, end in names if name.strip() and name in text]
            ties |= {(memory.key, end.key): (memory, end, "mention") for end in found}
    for each in with_proofs(actor, statements):
        ties |= {(proof.key, each.subject.key): (proof, each.subject, "evidence") for proof in each.proofs}
    nodes = {node["id"]: node for node in data["nodes"]}
    for memory, end, how in ties.values():
        for one in (memory, end):
            nodes.setdefault(str(one.id), _node_json(one, is_main=False))
        data["edges"].append(_edge_to(end, memory, how))
    data["nodes"] = [*nodes.values()]


def _as_phrase(text: str) -> str:
    """The words of a text with a space around each, so that a name is found as whole words."""
    return f" {' '.join(words(fold(text)))} "


@refusing_as_json
def expand_node(request: HttpRequest) -> HttpResponse:
    """The relations around one memory as JSON, for expanding its node; with `memories` the memories behind it instead."""
    given = query_texts(request, *FIELDS, max_chars=100)
    actor = actor_of(request)
    if given["memories"]:
        memory = find_memory(actor, given["of"], field="of")
        return json_response(_behind_json(memory, memories_behind(actor, memory)))
    start, statements = _around(actor, given)
    return json_response(graph_json(statements, start))


def graph_json(statements: Sequence[RelationStatement], start: Memory | None) -> dict[str, Any]:
    """Nodes and edges in the form that graph.js takes."""
    ends = {end.id: end for each in statements for end in (each.subject, each.object)}
    if start is not None:
        ends.setdefault(start.id, start)
    return {
        "nodes": [_node_json(end, is_main=start is not None and end.id == start.id) for end in ends.values()],
        "edges": [
            {
                "id": str(each.relation.id),
                "from": str(each.subject.id),
                "to": str(each.object.id),
                "label": each.relation.predicate.replace("_", " "),
                "kind": "relation",
                "predicate": each.relation.predicate,
                "confidence": round(each.relation.confidence, 2),
                "url": reverse("admin:relations_relation_change", args=[each.relation.id]),
            }
            for each in statements
        ],
    }


def _behind_json(memory: Memory, behind: Sequence[Behind]) -> dict[str, Any]:
    """Nodes and edges of the memories behind a node, in the same form."""
    return {
        "nodes": [_node_json(each, is_main=False) for each in (memory, *(other.memory for other in behind))],
        "edges": [_edge_to(memory, other.memory, other.how) for other in behind],
    }


def _edge_to(node: Memory, memory: Memory, how: str) -> dict[str, Any]:
    """The edge from a memory to the node that it proves, names or is linked to."""
    return {
        "id": f"{memory.id}:{node.id}",
        "from": str(memory.id),
        "to": str(node.id),
        "label": in_words(how),
        "kind": how,
        "predicate": how,
        "confidence": None,
        "url": reverse("admin:memories_memory_change", args=[memory.id]),
    }


def shown_text(memory: Memory) -> str:
    """A memory's text in lists of names; hidden for a quarantined one."""
    return gettext("[quarantined]") if memory.trust == Trust.QUARANTINED else memory.content


def _node_json(memory: Memory, *, is_main: bool) -> dict[str, Any]:
    return node_json(memory, shorten(" ".join(shown_text(memory).split()), _NODE_CHARS), is_main=is_main)


def _around(actor: Actor, given: dict[str, str]) -> tuple[Memory, list[RelationStatement]]:
    """The version of the memory `of` that occurs in its relations, and these."""
    memory = find_memory(actor, given["of"], field="of")
    depth = parse_number(given, "depth") or 1
    check_range(depth, 1, MAX_DEPTH, field="depth")
    found = statements_around(actor, memory, depth=depth, limit=_MAX_RELATIONS)
    ends = (end for each in found for end in (each.subject, each.object))
    start = next((end for end in ends if end.root_key == memory.root_key), memory)
    wanted = given["predicate"]
    return start, [each for each in found if not wanted or each.relation.predicate == wanted]


def newest_statements(actor: Actor, group: Group, predicate: str, limit: int) -> list[RelationStatement]:
    """The newest visible relations of a group, of one predicate if it is not empty."""
    rows = Relation.objects.filter(retired_at=None, group=group).select_related("group", "subject", "object")
    if predicate:
        rows = rows.filter(predicate=predicate)
    edges = [Edge(relation, 1) for relation in rows.order_by("-key")[: limit * _OVERSAMPLING]]
    return visible_statements(actor, edges)[:limit]
