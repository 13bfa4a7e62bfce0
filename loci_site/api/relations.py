"""Relations: tie two things, and walk from one."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from access.actor import Actor
from access.errors import NotFound
from access.groups import find_group
from loci_site.api.auth import actor_of
from loci_site.api.responses import answer
from loci_site.api.schemas import responses as out
from loci_site.api.schemas.requests import RelationIn, WalkQuery
from memories.browse.serializers import relation_json, statement_json
from memories.entities.statements import statements_around
from memories.entities.store_relation import find_entity, store_relation
from memories.models import Memory
from memories.queries.versions import find_memory

router = Router(tags=["relations"])


@router.post("/relations", response={**out.ERRORS, 200: out.RelationStoredOut, 201: out.RelationStoredOut})
def store_one_relation(request: HttpRequest, body: RelationIn) -> HttpResponse:
    """Tie two things; names that are not known become entities. 201: created · 200: known, reinforced or ended."""
    stored = store_relation(actor_of(request), body.draft())
    return answer(relation_json(stored), status=201 if stored.outcome == "created" else 200)


@router.get("/relations", response={**out.ERRORS, 200: out.WalkOut})
def walk_relations(request: HttpRequest, wanted: Query[WalkQuery]) -> HttpResponse:
    """Give the relations around a memory or an entity, nearest first."""
    actor = actor_of(request)
    start = _start(actor, wanted)
    found = statements_around(actor, start, depth=wanted.depth, limit=wanted.limit, at=wanted.at)
    return answer({"items": [statement_json(each, is_person=actor.is_person) for each in found]})


def _start(actor: Actor, wanted: WalkQuery) -> Memory:
    try:
        return find_memory(actor, UUID(wanted.of.strip()), field="of")
    except ValueError:
        found = find_entity(actor, find_group(actor, wanted.group), wanted.of)
    if found is None:
        raise NotFound(
            f"There is no entity '{wanted.of[:80]}'.",
            hint="Give a memory's id, or store a relation first.",
            field="of",
        )
    return found
