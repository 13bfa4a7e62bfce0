"""The relation graph: a group's newest relations or those around one memory, and merging two entities."""

import json
from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from access.actor import CURATE, Actor
from access.admin.caller import actor_of
from access.admin.columns import in_words, shorten
from access.admin.form_errors import refusing_as_json
from access.errors import InvalidInput, LociError
from access.groups import find_group
from loci_site.admin.explore.page import (
    group_names,
    json_response,
    parse_number,
    query_texts,
    render_page,
    url_with_query,
)
from memories.admin.memory_page import node_json
from memories.browse.suggest import Behind, memories_behind
from memories.draft import check_range
from memories.entities.statements import RelationStatement, statements_around, visible_statements
from memories.lifecycle import verbs
from memories.lifecycle.target import ChangeResult
from memories.models import Memory
from memories.queries.versions import find_memory
from memories.queries.visibility import listed_by
from memories.types import Trust, Type
from relations.models import Relation
from relations.walk import MAX_DEPTH, Edge

DEFAULT_LIMIT, MAX_LIMIT = 60, 300
_OVERSAMPLING = 4  # relations read per relation shown, since some may be invisible to the caller
_NODE_CHARS = 80
_MAX_PREDICATES = 40
MAX_BODY = 4_000  # bytes
FIELDS = ("group", "of", "predicate", "depth", "limit", "memories")


def show_graph(request: HttpRequest) -> HttpResponse:
    """The relations around the memory `of`, else the newest of a group or of all groups."""
    actor = actor_of(request)
    given = query_texts(request, *FIELDS, max_chars=100)
    context: dict[str, Any] = {
        "title": gettext("Graph"),
        "given": given,
        "groups": group_names(actor),
        "types": Type.values,
        "depths": range(1, MAX_DEPTH + 1),
    }
    try:
        start, statements = _find_statements(actor, given)
    except LociError as refusal:
        return render_page(request, "graph.html", context | {"refusal": refusal}, status=refusal.status)
    context |= {
        "start": start,
        "rows": [(each, shown_text(each.subject), shown_text(each.object)) for each in statements],
        "around": shown_text(start) if start is not None else "",
        "data": graph_json(statements, start),
        "predicates": sorted({each.relation.predicate for each in statements})[:_MAX_PREDICATES],
        "may_merge": actor.may_somewhere(CURATE),
    }
    return render_page(request, "graph.html", context)


@refusing_as_json
def expand_node(request: HttpRequest) -> HttpResponse:
    """The relations around one memory as JSON, for expanding its node; with `memories` the memories behind it instead."""
    given = query_texts(request, *FIELDS, max_chars=100)
    actor = actor_of(request)
    if not given["of"]:
        hint = gettext("Pass its id as 'of'.")
        raise InvalidInput(gettext("No memory was named."), hint=hint, field="of")
    if given["memories"]:
        memory = find_memory(actor, given["of"], field="of")
        return json_response(_behind_json(memory, memories_behind(actor, memory)))
    start, statements = _find_statements(actor, given)
    return json_response(graph_json(statements, start))


@require_POST
@refusing_as_json
def merge_entities(request: HttpRequest) -> HttpResponse:
    """Preview a merge of two memories, do it, or undo it, as the JSON body asks."""
    return json_response(_run_merge(actor_of(request), parse_body(request)))


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
                "group": each.relation.group.slug,
                "confidence": round(each.relation.confidence, 2),
                "url": reverse("admin:relations_relation_change", args=[each.relation.id]),
            }
            for each in statements
        ],
    }


def _behind_json(memory: Memory, behind: Sequence[Behind]) -> dict[str, Any]:
    """Nodes and edges of the memories behind a node, in the same form."""
    others = [_node_json(each.memory, is_main=False) for each in behind]
    return {
        "nodes": [_node_json(memory, is_main=False), *others],
        "edges": [
            {
                "id": f"{node['id']}:{memory.id}",
                "from": node["id"],
                "to": str(memory.id),
                "label": in_words(each.how),
                "kind": each.how,
                "predicate": each.how,
                "group": each.memory.group.slug,
                "confidence": None,
                "url": node["url"],
            }
            for each, node in zip(behind, others, strict=True)
        ],
    }


def shown_text(memory: Memory) -> str:
    """A memory's text in lists of names; hidden for a quarantined one."""
    return gettext("[quarantined]") if memory.trust == Trust.QUARANTINED else memory.content


def _node_json(memory: Memory, *, is_main: bool) -> dict[str, Any]:
    return node_json(memory, shorten(" ".join(shown_text(memory).split()), _NODE_CHARS), is_main=is_main)


def _find_statements(actor: Actor, given: dict[str, str]) -> tuple[Memory | None, list[RelationStatement]]:
    """The start node, if one was asked for, and the relations to show.

    The start is the version of the memory that occurs in the relations.
    """
    limit = _parse_number_in_range(given, "limit", DEFAULT_LIMIT, MAX_LIMIT)
    group = find_group(actor, given["group"]) if given["group"] else None
    start: Memory | None = None
    if given["of"]:
        memory = find_memory(actor, given["of"], field="of")
        depth = _parse_number_in_range(given, "depth", 1, MAX_DEPTH)
        found = statements_around(actor, memory, depth=depth, limit=limit)
        ends = (end for each in found for end in (each.subject, each.object))
        start = next((end for end in ends if end.root_key == memory.root_key), memory)
    else:
        found = _newest_statements(actor, group.key if group else None, given["predicate"], limit)
    return start, [
        each
        for each in found
        if (not given["predicate"] or each.relation.predicate == given["predicate"])
        and (group is None or each.relation.group_id == group.key)
    ]


def _newest_statements(
    actor: Actor, group: int | None, predicate: str, limit: int
) -> list[RelationStatement]:
    rows = Relation.objects.filter(retired_at=None).select_related("group", "subject", "object")
    groups = listed_by(actor, None).groups
    if group is not None:
        rows = rows.filter(group=group)
    elif groups is not None:
        rows = rows.filter(group__in=groups)
    if predicate:
        rows = rows.filter(predicate=predicate)
    edges = [Edge(relation, 1) for relation in rows.order_by("-key")[: limit * _OVERSAMPLING]]
    return visible_statements(actor, edges)[:limit]


def _run_merge(actor: Actor, body: dict[str, str]) -> dict[str, Any]:
    what = body.get("what", "preview")
    if what == "undo":
        return merge_json(actor, verbs.restore(actor, body.get("from", ""), reason="undone in the graph"))
    if what not in ("preview", "merge"):
        raise InvalidInput(
            gettext("'{what}' is not an action.").format(what=what[:20]),
            hint=gettext("Use preview, merge or undo."),
            field="what",
        )
    ids = body.get("from", ""), body.get("into", "")
    changed = verbs.merge(actor, *ids, reason="in the graph", dry_run=what == "preview")
    return merge_json(actor, changed)


def merge_json(actor: Actor, changed: ChangeResult) -> dict[str, Any]:
    """The result of a merge or its undo, with the survivor as a node."""
    survivor = find_memory(actor, changed.successor) if changed.successor else None
    return {
        "done": bool(changed.changed),
        "consequences": list(changed.consequences),
        "changes": {name: [str(old), str(new)] for name, (old, new) in changed.changes.items()},
        "survivor": _node_json(survivor, is_main=True) if survivor else None,
        "graph_url": url_with_query(reverse("admin:explore_graph"), of=str(changed.successor or changed.id)),
    }


def parse_body(request: HttpRequest) -> dict[str, str]:
    """The JSON body, an object of strings.

    Raises:
        InvalidInput: it is something else.
    """
    try:
        body = json.loads(request.body[: MAX_BODY + 1])
    except (ValueError, RecursionError):
        raise InvalidInput(gettext("The body is not valid JSON."), field="body") from None
    if not isinstance(body, dict) or not all(isinstance(value, str) for value in body.values()):
        raise InvalidInput(gettext("The body must be an object of strings."), field="body")
    return body


def _parse_number_in_range(given: dict[str, str], name: str, default: int, most: int) -> int:
    """A query parameter as a whole number from 1 to `most`; `default` if empty."""
    number = parse_number(given, name)
    if number is None:
        return default
    check_range(number, 1, most, field=name)
    return number
