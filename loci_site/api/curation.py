"""For those who look after the store: the log, and what waits for a person."""

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from loci_site.api.auth import actor_of
from loci_site.api.responses import answer
from loci_site.api.schemas import curation
from loci_site.api.schemas import responses as out
from loci_site.api.schemas.requests import GroupPageQuery, LiftIn, LogQuery
from memories.browse.listing import list_candidates, list_log, list_open_links, log_json
from memories.browse.serializers import change_json, link_json, memory_json
from memories.lifecycle import verbs
from memories.lifecycle.lift_tombstone import lift_tombstones, list_tombstones, tombstone_json
from memories.models import Link

router = Router(tags=["curation"])
deciding = Router(tags=["memories"])
NOTHING_SAID = curation.RetractIn(successor="")


@deciding.post("/{memory_id}/merge", response={**out.ERRORS, 200: out.DoneOut})
def merge_memory(request: HttpRequest, memory_id: str, body: curation.MergeIn) -> HttpResponse:
    """Let this memory go into another one, which takes over its relations, names, links and counts. POST
    /memories/{id}/restore undoes it. For a person who curates.
    """
    done = verbs.merge(
        actor_of(request),
        memory_id,
        body.into,
        content=body.content,
        reason=body.reason,
        dry_run=body.dry_run,
    )
    return answer(change_json(done))


@deciding.post("/{memory_id}/supersede", response={**out.ERRORS, 200: out.DoneOut})
def supersede_memory(request: HttpRequest, memory_id: str, body: curation.SupersedeIn) -> HttpResponse:
    """Let a memory that is there already take this one's place: it was true until then. A new text does so with
    POST /memories and `supersedes`.
    """
    done = verbs.supersede(actor_of(request), memory_id, body.by, reason=body.reason, dry_run=body.dry_run)
    return answer(change_json(done))


@deciding.post("/{memory_id}/retract", response={**out.ERRORS, 200: out.DoneOut})
def retract_memory(
    request: HttpRequest, memory_id: str, body: curation.RetractIn = NOTHING_SAID
) -> HttpResponse:
    """Withdraw a memory as wrong, with what is right instead where that is known; what was made from it follows."""
    done = verbs.retract(
        actor_of(request), memory_id, successor=body.successor, reason=body.reason, dry_run=body.dry_run
    )
    return answer(change_json(done))


@router.get("/log", response={**out.ERRORS, 200: curation.LogPage})
def read_log(request: HttpRequest, wanted: Query[LogQuery]) -> HttpResponse:
    """List the audit log, newest first: all for a superuser, else what was done to memories of one's groups."""
    page = list_log(
        actor_of(request),
        group=wanted.group,
        memory=wanted.memory,
        operation=wanted.operation,
        cursor=wanted.cursor,
        limit=wanted.limit,
    )
    return answer({"items": [log_json(row) for row in page.rows], "next": page.next})


@router.get("/review/candidates", response={**out.ERRORS, 200: out.MemoryPage})
def review_candidates(request: HttpRequest, wanted: Query[GroupPageQuery]) -> HttpResponse:
    """List the memories that wait for a curator; POST /memories/{id}/approve or /reject decides."""
    actor = actor_of(request)
    page = list_candidates(actor, group=wanted.group, cursor=wanted.cursor, limit=wanted.limit)
    return answer(
        {"items": [memory_json(row, is_person=actor.is_person) for row in page.rows], "next": page.next}
    )


@router.get("/review/links", response={**out.ERRORS, 200: out.LinkPage})
def review_links(request: HttpRequest, wanted: Query[GroupPageQuery]) -> HttpResponse:
    """List possible duplicates and conflicts that nobody has settled, with both memories."""
    actor = actor_of(request)
    page = list_open_links(actor, group=wanted.group, cursor=wanted.cursor, limit=wanted.limit)
    return answer(
        {"items": [_open_link_json(row, is_person=actor.is_person) for row in page.rows], "next": page.next}
    )


@router.get("/tombstones", response={**out.ERRORS, 200: curation.TombstonePage})
def list_standing_tombstones(request: HttpRequest, wanted: Query[GroupPageQuery]) -> HttpResponse:
    """List what may not be stored again, newest first, in one group or in all that the caller curates."""
    page = list_tombstones(actor_of(request), group=wanted.group, cursor=wanted.cursor, limit=wanted.limit)
    return answer({"items": [tombstone_json(mark) for mark in page.rows], "next": page.next})


@router.post("/tombstones/{tombstone_id}/lift", response={**out.ERRORS, 200: curation.LiftedOut})
def lift_tombstone(request: HttpRequest, tombstone_id: str, body: LiftIn) -> HttpResponse:
    """Let a text be stored again; the id is the tombstone's or its memory's. For a person who curates the group."""
    lifted = lift_tombstones(actor_of(request), tombstone_id, reason=body.reason)
    return answer({"lifted": [tombstone_json(mark) for mark in lifted.tombstones]})


def _open_link_json(link: Link, *, is_person: bool) -> dict[str, object]:
    ends = [memory_json(end, is_person=is_person) for end in (link.source, link.target)]
    return link_json(link) | {"memories": ends}
