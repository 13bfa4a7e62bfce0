"""Routes that correct: undo of a write, decisions about two memories, the log, the review queues and tombstones."""

from typing import Literal

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from loci_site.api.auth import actor_of
from loci_site.api.responses import answer, answer_change, answer_write
from loci_site.api.schemas import curation
from loci_site.api.schemas import responses as out
from loci_site.api.schemas.requests import GroupPageQuery, LiftIn, LogQuery, UndoWriteIn, VerbIn
from memories.browse.listing import list_candidates, list_log, list_open_links, log_json
from memories.browse.serializers import link_json, memory_json, undone_json
from memories.lifecycle import verbs
from memories.lifecycle.purge.lift_tombstone import lift_tombstones, list_tombstones, tombstone_json
from memories.lifecycle.undo import undo_write
from memories.models import Link
from memories.review.decide import ReviewDecision, decide
from memories.review.proposals import find_proposal, list_proposals, proposal_json

router = Router(tags=["curation"])
deciding = Router(tags=["memories"])
NO_REASON = VerbIn()
NO_SUCCESSOR = curation.RetractIn(successor="")


@deciding.post("/{memory_id}/merge", response={**out.ERRORS, 200: out.DoneOut, 202: out.DoneOut})
def merge_memory(request: HttpRequest, memory_id: str, body: curation.MergeIn) -> HttpResponse:
    """Merge this memory into another one, which takes over its relations, names, links and counts. POST
    /memories/{id}/restore undoes it. For a person who curates; an agent's merge waits for one (202).
    """
    actor = actor_of(request)
    done = verbs.merge(
        actor,
        memory_id,
        body.into,
        content=body.content,
        reason=body.reason,
        dry_run=body.dry_run,
    )
    return answer_change(actor, done)


@deciding.post("/{memory_id}/supersede", response={**out.ERRORS, 200: out.DoneOut, 202: out.DoneOut})
def supersede_memory(request: HttpRequest, memory_id: str, body: curation.SupersedeIn) -> HttpResponse:
    """Make an existing memory the successor of this one, which was true until then. For a new text, use POST
    /memories with `supersedes`. 202: it waits for a curator as a proposal.
    """
    actor = actor_of(request)
    done = verbs.supersede(actor, memory_id, body.by, reason=body.reason, dry_run=body.dry_run)
    return answer_change(actor, done)


@deciding.post("/{memory_id}/move", response={**out.ERRORS, 200: out.DoneOut})
def move_memory(request: HttpRequest, memory_id: str, body: curation.MoveIn) -> HttpResponse:
    """Move a memory to another group, with its versions, names and relations; ids stay. For a person who curates both
    groups. The `undo` of the answer takes it back.
    """
    actor = actor_of(request)
    done = verbs.move(actor, memory_id, body.to, reason=body.reason, dry_run=body.dry_run)
    return answer_change(actor, done)


@deciding.post("/{memory_id}/retract", response={**out.ERRORS, 200: out.DoneOut, 202: out.DoneOut})
def retract_memory(
    request: HttpRequest, memory_id: str, body: curation.RetractIn = NO_SUCCESSOR
) -> HttpResponse:
    """Withdraw a memory as wrong, optionally with the correct statement; memories derived from it follow. 202: it
    waits for a curator as a proposal.
    """
    actor = actor_of(request)
    done = verbs.retract(actor, memory_id, successor=body.successor, reason=body.reason, dry_run=body.dry_run)
    return answer_change(actor, done)


@router.get("/log", response={**out.ERRORS, 200: curation.LogPage})
def read_log(request: HttpRequest, filters: Query[LogQuery]) -> HttpResponse:
    """List the audit log, newest first: all of it for a superuser, else the rows about memories of the caller's groups."""
    actor = actor_of(request)
    page = list_log(
        actor,
        group=filters.group,
        memory=filters.memory,
        operation=filters.operation,
        cursor=filters.cursor,
        limit=filters.limit,
    )
    return answer(
        {"items": [log_json(row, is_person=actor.is_person) for row in page.rows], "next": page.next}
    )


@router.get("/review/candidates", response={**out.ERRORS, 200: out.MemoryPage})
def review_candidates(request: HttpRequest, filters: Query[GroupPageQuery]) -> HttpResponse:
    """List the memories that await a curator's decision: POST /memories/{id}/approve or /reject."""
    actor = actor_of(request)
    page = list_candidates(actor, group=filters.group, cursor=filters.cursor, limit=filters.limit)
    return answer(
        {"items": [memory_json(row, is_person=actor.is_person) for row in page.rows], "next": page.next}
    )


@router.get("/review/links", response={**out.ERRORS, 200: out.LinkPage})
def review_links(request: HttpRequest, filters: Query[GroupPageQuery]) -> HttpResponse:
    """List undecided possible duplicates and conflicts, with both memories."""
    actor = actor_of(request)
    page = list_open_links(actor, group=filters.group, cursor=filters.cursor, limit=filters.limit)
    return answer(
        {"items": [open_link_json(row, is_person=actor.is_person) for row in page.rows], "next": page.next}
    )


@router.get("/review/proposals", response={**out.ERRORS, 200: curation.ProposalPage})
def review_proposals(request: HttpRequest, filters: Query[GroupPageQuery]) -> HttpResponse:
    """List the proposed changes that await a curator's decision; stale and expired ones are left out."""
    page = list_proposals(actor_of(request), group=filters.group, cursor=filters.cursor, limit=filters.limit)
    return answer({"items": [proposal_json(row) for row in page.rows], "next": page.next})


@router.get("/review/proposals/{proposal_id}", response={**out.ERRORS, 200: curation.ProposalOut})
def read_proposal(request: HttpRequest, proposal_id: str) -> HttpResponse:
    """Read one proposal: what it would do, and what became of it."""
    return answer(proposal_json(find_proposal(actor_of(request), proposal_id)))


@router.post("/review/proposals/{proposal_id}/{decision}", response={**out.ERRORS, 200: curation.DecidedOut})
def decide_proposal(
    request: HttpRequest,
    proposal_id: str,
    decision: Literal["approve", "reject"],
    body: VerbIn = NO_REASON,
) -> HttpResponse:
    """Carry out a proposed change, or decline it. Only for a person who curates the group; the Review undoes it."""
    actor = actor_of(request)
    find_proposal(actor, proposal_id)  # 404 before 403
    chosen = ReviewDecision(decision, proposal=proposal_id, reason=body.reason)
    done = decide(actor, chosen, dry_run=body.dry_run)
    return answer(
        {
            "proposal": (decided := proposal_json(find_proposal(actor, proposal_id))),
            "consequences": list(done.consequences),
            "memory": str(done.id) if decided["memory"] else None,
            "dry_run": body.dry_run,
        }
    )


@router.get("/tombstones", response={**out.ERRORS, 200: curation.TombstonePage})
def list_standing_tombstones(request: HttpRequest, filters: Query[GroupPageQuery]) -> HttpResponse:
    """List tombstones of texts that may not be stored again, newest first, in one group or all that the caller curates."""
    page = list_tombstones(actor_of(request), group=filters.group, cursor=filters.cursor, limit=filters.limit)
    return answer({"items": [tombstone_json(mark) for mark in page.rows], "next": page.next})


@router.post("/tombstones/{tombstone_id}/lift", response={**out.ERRORS, 200: curation.LiftedOut})
def lift_tombstone(request: HttpRequest, tombstone_id: str, body: LiftIn) -> HttpResponse:
    """Lift a tombstone, so that its text may be stored again; the id is that of the tombstone or of its memory. Only for
    a person who curates the group.
    """
    lifted = lift_tombstones(actor_of(request), tombstone_id, reason=body.reason)
    return answer({"lifted": [tombstone_json(mark) for mark in lifted.tombstones]})


def open_link_json(link: Link, *, is_person: bool) -> dict[str, object]:
    """A link with both of its memories as JSON."""
    ends = [memory_json(end, is_person=is_person) for end in (link.source, link.target)]
    return link_json(link) | {"memories": ends}


@router.post("/undo", tags=["memories"], response={**out.ERRORS, 200: out.UndoneWriteOut})
def undo_one_write(request: HttpRequest, body: UndoWriteIn) -> HttpResponse:
    """Undo a write of the same token, at most 24 hours old: pass `undo` of its answer. 409: somebody else built on it
    since, or a policy, a verification or a pin stands against it.
    """
    actor = actor_of(request)
    return answer_write(actor, undone_json(undo_write(actor, body.undo)))
