"""The graph of relations: a group's newest, or what hangs on one memory; two entities become one, and apart again."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import reverse
from django.utils.text import Truncator

from access.actor import CURATE, Actor
from access.admin.caller import actor_of
from access.errors import InvalidInput, LociError
from access.groups import find_group
from loci_site.admin.explore.page import answer, asked, group_names, page, refusal_json, with_values
from memories.draft import check_range
from memories.entities.statements import RelationStatement, statements_around, visible_statements
from memories.lifecycle import verbs
from memories.lifecycle.target import ChangeResult
from memories.models import Memory
from memories.queries.versions import find_memory
from memories.queries.visibility import listed_by
from memories.types import State, Type
from relations.models import Relation
from relations.walk import MAX_DEPTH, Edge

DEFAULT_LIMIT, MAX_LIMIT = 60, 300
LOOKED_AT = 4  # times as many relations as are shown, since not all may be seen
NODE_CHARS = 80
MAX_PREDICATES = 40
MAX_BODY = 4_000  # bytes


def graph(request: HttpRequest) -> HttpResponse:
    """Show the relations of the address: `of` a memory, else the newest of a group or of all groups."""
    actor = actor_of(request)
    given = {
        name: asked(request, name, longest=100) for name in ("group", "of", "predicate", "depth", "limit")
    }
    context: dict[str, Any] = {
        "title": "Graph",
        "given": given,
        "groups": group_names(actor),
        "types": Type.values,
        "depths": range(1, MAX_DEPTH + 1),
    }
    try:
        start, found = _found(actor, given)
    except LociError as refusal:
        return page(request, "graph.html", context | {"refusal": refusal}, status=refusal.status)
    context |= {
        "start": start,
        "statements": found,
        "data": graph_json(found, start),
        "predicates": sorted({each.relation.predicate for each in found})[:MAX_PREDICATES],
        "may_merge": actor.all_groups or any(actor.may(CURATE, key) for key in actor.roles),
    }
    return page(request, "graph.html", context)


def around(request: HttpRequest) -> HttpResponse:
    """Give in JSON what hangs on one memory, for expanding it in the picture."""
    actor = actor_of(request)
    given = {
        name: asked(request, name, longest=100) for name in ("group", "of", "predicate", "depth", "limit")
    }
    try:
        if not given["of"]:
            raise InvalidInput("Of which memory?", hint="Give its id as 'of'.", field="of")
        start, found = _found(actor, given)
    except LociError as refusal:
        return refusal_json(refusal)
    return answer(graph_json(found, start))


def merge_ends(request: HttpRequest) -> HttpResponse:
    """Preview or do the merge of two memories, or take it back; the body says which."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    try:
        return answer(_merged(actor_of(request), _body(request)))
    except LociError as refusal:
        return refusal_json(refusal)


def graph_json(found: Sequence[RelationStatement], start: Memory | None) -> dict[str, Any]:
    """Give nodes and edges as the picture takes them."""
    ends = {end.id: end for each in found for end in (each.subject, each.object)}
    if start is not None:
        ends.setdefault(start.id, start)
    return {
        "nodes": [_node(end, is_main=start is not None and end.id == start.id) for end in ends.values()],
        "edges": [
            {
                "id": str(each.relation.id),
                "from": str(each.subject.id),
                "to": str(each.object.id),
                "label": each.relation.predicate.replace("_", " "),
                "kind": "relation",
                "predicate": each.relation.predicate,
                "group": each.relation.group.slug,
                "confidence": round(each.relation.confidence, 2),
                "url": reverse("admin:relations_relation_change", args=[each.relation.id]),
            }
            for each in found
        ],
    }


def _node(memory: Memory, *, is_main: bool) -> dict[str, Any]:
    return {
        "id": str(memory.id),
        "label": Truncator(" ".join(memory.content.split())).chars(NODE_CHARS),
        "kind": memory.type,
        "url": reverse("admin:memories_memory_change", args=[memory.id]),
        "faded": memory.state != State.LIVE,
        "main": is_main,
    }


def _found(actor: Actor, given: dict[str, str]) -> tuple[Memory | None, list[RelationStatement]]:
    limit = _number(given, "limit", DEFAULT_LIMIT, MAX_LIMIT)
    group = find_group(actor, given["group"]) if given["group"] else None
    if given["of"]:
        start = find_memory(actor, given["of"], field="of")
        depth = _number(given, "depth", 1, MAX_DEPTH)
        found = statements_around(actor, start, depth=depth, limit=limit)
        start = _head_in(found, start)
    else:
        start, found = None, _newest(actor, group.key if group else None, given["predicate"], limit)
    return start, [
        each
        for each in found
        if (not given["predicate"] or each.relation.predicate == given["predicate"])
        and (group is None or each.relation.group_id == group.key)
    ]


def _head_in(found: Iterable[RelationStatement], start: Memory) -> Memory:
    """Give the version of the start that stands in the picture."""
    ends = (end for each in found for end in (each.subject, each.object))
    return next((end for end in ends if end.root_key == start.root_key), start)


def _newest(actor: Actor, group: int | None, predicate: str, limit: int) -> list[RelationStatement]:
    rows = Relation.objects.filter(retired_at=None).select_related("group", "subject", "object")
    groups = listed_by(actor, None).groups
    if group is not None:
        rows = rows.filter(group=group)
    elif groups is not None:
        rows = rows.filter(group__in=groups)
    if predicate:
        rows = rows.filter(predicate=predicate)
    edges = [Edge(relation, 1) for relation in rows.order_by("-key")[: limit * LOOKED_AT]]
    return visible_statements(actor, edges)[:limit]


def _merged(actor: Actor, body: dict[str, str]) -> dict[str, Any]:
    what = body.get("what", "preview")
    if what == "undo":
        return _told(actor, verbs.restore(actor, body.get("from", ""), reason="undone in the graph"))
    if what not in ("preview", "merge"):
        raise InvalidInput(
            f"'{what[:20]}' is nothing to do.", hint="Use preview, merge or undo.", field="what"
        )
    done = verbs.merge(
        actor, body.get("from", ""), body.get("into", ""), reason="in the graph", dry_run=what == "preview"
    )
    return _told(actor, done)


def _told(actor: Actor, done: ChangeResult) -> dict[str, Any]:
    survivor = find_memory(actor, done.successor) if done.successor else None
    return {
        "done": bool(done.changed),
        "consequences": list(done.consequences),
        "changes": {name: [str(old), str(new)] for name, (old, new) in done.changes.items()},
        "survivor": _node(survivor, is_main=True) if survivor else None,
        "graph_url": with_values(reverse("admin:explore_graph"), of=str(done.successor or done.id)),
    }


def _body(request: HttpRequest) -> dict[str, str]:
    try:
        body = json.loads(request.body[: MAX_BODY + 1])
    except (ValueError, RecursionError):
        raise InvalidInput("The body is no JSON.", field="body") from None
    if not isinstance(body, dict) or not all(isinstance(value, str) for value in body.values()):
        raise InvalidInput("The body is no object of texts.", field="body")
    return body


def _number(given: dict[str, str], name: str, default: int, most: int) -> int:
    if not given[name]:
        return default
    try:
        number = int(given[name])
    except ValueError:
        raise InvalidInput(f"'{given[name][:20]}' is no whole number.", field=name) from None
    check_range(number, 1, most, field=name)
    return number
