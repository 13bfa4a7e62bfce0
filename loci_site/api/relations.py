"""Routes for relations: store one, and walk from a memory or entity."""

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from access.errors import NotFound
from access.groups import find_group
from loci_site.api.auth import actor_of
from loci_site.api.responses import answer, answer_write
from loci_site.api.schemas.answers import list_of, responses, written
from loci_site.api.schemas.requests import RelationIn, WalkQuery
from memories.browse.serializers import EdgeOut, RelationStoredOut
from memories.entities.statements import statements_around, with_proofs
from memories.entities.store_relation import find_entity, store_relation
from memories.queries.versions import find_named

router = Router(tags=["relations"])


@router.post("/relations", response=responses(written(RelationStoredOut), 200, 201))
def store_one_relation(request: HttpRequest, body: RelationIn) -> HttpResponse:
    """Store a relation between two things; unknown names become entities. 201: created · 200: reinforced or superseded."""
    actor = actor_of(request)
    stored = store_relation(actor, body.draft())
    return answer_write(
        actor, RelationStoredOut.json(stored), status=201 if stored.outcome == "created" else 200
    )


@router.get("/relations", response=responses(list_of(EdgeOut)))
def walk_relations(request: HttpRequest, params: Query[WalkQuery]) -> HttpResponse:
    """List the relations around a memory or an entity, nearest first."""
    actor = actor_of(request)
    start = find_named(actor, params.of, field="of")
    if start is None:
        start = find_entity(actor, find_group(actor, params.group), params.of)
    if start is None:
        raise NotFound(
            f"There is no entity '{params.of[:80]}'.",
            hint="Use the id of a memory, or store a relation first.",
            field="of",
        )
    found = statements_around(actor, start, depth=params.depth, limit=params.limit, at=params.at)
    return answer(
        {"items": [EdgeOut.json(each, is_person=actor.is_person) for each in with_proofs(actor, found)]}
    )
