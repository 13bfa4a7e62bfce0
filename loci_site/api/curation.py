"""Routes that correct: undo of a write, decisions about two memories, the log, the review queues and tombstones."""

from typing import Annotated, Literal
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from access.answers import Answer, ShownAs
from loci_site.api.auth import actor_of
from loci_site.api.responses import answer, answer_change, answer_write
from loci_site.api.schemas.answers import page_of, responses, written
from loci_site.api.schemas.requests import (
    GroupPageQuery,
    LiftIn,
    LogQuery,
    MergeIn,
    MoveIn,
    RetractIn,
    SupersedeIn,
    UndoWriteIn,
    VerbIn,
)
from memories.browse.listing import LogRowOut, list_candidates, list_log, list_open_links
from memories.browse.serializers import DoneOut, LinkOut, MemoryOut
from memories.lifecycle import verbs
from memories.lifecycle.purge.lift_tombstone import TombstoneOut, lift_tombstones, list_tombstones
from memories.lifecycle.undo import UndoneWrite, undo_write
from memories.review.decide import ReviewDecision, decide
from memories.review.proposals import ProposalOut, find_proposal, list_proposals

router = Router(tags=["curation"])
deciding = Router(tags=["memories"])
NO_REASON = VerbIn()
_NO_SUCCESSOR = RetractIn(successor="")


class OpenLinkOut(LinkOut):
    """A link that awaits a decision, with both memories."""

    memories: Annotated[tuple[MemoryOut, ...], ShownAs(lambda link, _: (link.source, link.target))]


class LiftedOut(Answer):
    """The tombstones that were lifted."""

    lifted: Annotated[tuple[TombstoneOut, ...], ShownAs(lambda marks, _: marks)]


class DecidedOut(Answer):
    """A decided proposal, and the consequences; `memory` is the current version, null if it is about none."""

    proposal: ProposalOut
    consequences: tuple[str, ...]
    memory: UUID | None
    dry_run: bool


@deciding.post("/{memory_id}/merge", response=responses(written(DoneOut), 200, 202))
def merge_memory(request: HttpRequest, memory_id: str, body: MergeIn) -> HttpResponse:
    """Merge this memory into another one, which takes over its relations, names, links and counts. POST
    /memories/{id}/restore undoes it. For a person who curates; an agent's merge waits for one (202).
    """
    actor = actor_of(request)
    return answer_change(
        actor, verbs.merge(actor, memory_id, **body.model_dump(exclude={"into"}), into_id=body.into)
    )


@deciding.post("/{memory_id}/supersede", response=responses(written(DoneOut), 200, 202))
def supersede_memory(request: HttpRequest, memory_id: str, body: SupersedeIn) -> HttpResponse:
    """Make an existing memory the successor of this one, which was true until then. For a new text, use POST
    /memories with `supersedes`. 202: it waits for a curator as a proposal.
    """
    actor = actor_of(request)
    return answer_change(
        actor, verbs.supersede(actor, memory_id, body.by, reason=body.reason, dry_run=body.dry_run)
    )


@deciding.post("/{memory_id}/move", response=responses(written(DoneOut)))
def move_memory(request: HttpRequest, memory_id: str, body: MoveIn) -> HttpResponse:
    """Move a memory to another group, with its versions, names and relations; ids stay. For a person who curates both
    groups. The `undo` of the answer takes it back.
    """
    actor = actor_of(request)
    return answer_change(actor, verbs.move(actor, memory_id, **dict(body)))


@deciding.post("/{memory_id}/retract", response=responses(written(DoneOut), 200, 202))
def retract_memory(request: HttpRequest, memory_id: str, body: RetractIn = _NO_SUCCESSOR) -> HttpResponse:
    """Withdraw a memory as wrong, optionally with the correct statement; memories derived from it follow. 202: it
    waits for a curator as a proposal.
    """
    actor = actor_of(request)
    return answer_change(actor, verbs.retract(actor, memory_id, **dict(body)))


@router.get("/log", response=responses(page_of(LogRowOut)))
def read_log(request: HttpRequest, filters: Query[LogQuery]) -> HttpResponse:
    """List the audit log, newest first: all of it for a superuser, else the rows about memories of the caller's groups."""
    actor = actor_of(request)
    return answer(LogRowOut.page(list_log(actor, **dict(filters)), is_person=actor.is_person))


@router.get("/review/candidates", response=responses(page_of(MemoryOut)))
def review_candidates(request: HttpRequest, filters: Query[GroupPageQuery]) -> HttpResponse:
    """List the memories that await a curator's decision: POST /memories/{id}/approve or /reject."""
    actor = actor_of(request)
    return answer(MemoryOut.page(list_candidates(actor, **dict(filters)), is_person=actor.is_person))


@router.get("/review/links", response=responses(page_of(OpenLinkOut)))
def review_links(request: HttpRequest, filters: Query[GroupPageQuery]) -> HttpResponse:
    """List undecided possible duplicates and conflicts, with both memories."""
    actor = actor_of(request)
    return answer(OpenLinkOut.page(list_open_links(actor, **dict(filters)), is_person=actor.is_person))


@router.get("/review/proposals", response=responses(page_of(ProposalOut)))
def review_proposals(request: HttpRequest, filters: Query[GroupPageQuery]) -> HttpResponse:
    """List the proposed changes that await a curator's decision; stale and expired ones are left out."""
    return answer(ProposalOut.page(list_proposals(actor_of(request), **dict(filters))))


@router.get("/review/proposals/{proposal_id}", response=responses(ProposalOut))
def read_proposal(request: HttpRequest, proposal_id: str) -> HttpResponse:
    """Read one proposal: what it would do, and what became of it."""
    return answer(ProposalOut.json(find_proposal(actor_of(request), proposal_id)))


@router.post("/review/proposals/{proposal_id}/{decision}", response=responses(DecidedOut))
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
            "proposal": (decided := ProposalOut.json(find_proposal(actor, proposal_id))),
            "consequences": list(done.consequences),
            "memory": str(done.id) if decided["memory"] else None,
            "dry_run": body.dry_run,
        }
    )


@router.get("/tombstones", response=responses(page_of(TombstoneOut)))
def list_standing_tombstones(request: HttpRequest, filters: Query[GroupPageQuery]) -> HttpResponse:
    """List tombstones of texts that may not be stored again, newest first, in one group or all that the caller curates."""
    return answer(TombstoneOut.page(list_tombstones(actor_of(request), **dict(filters))))


@router.post("/tombstones/{tombstone_id}/lift", response=responses(LiftedOut))
def lift_tombstone(request: HttpRequest, tombstone_id: str, body: LiftIn) -> HttpResponse:
    """Lift a tombstone, so that its text may be stored again; the id is that of the tombstone or of its memory. Only for
    a person who curates the group.
    """
    lifted = lift_tombstones(actor_of(request), tombstone_id, reason=body.reason)
    return answer(LiftedOut.json(lifted))


@router.post("/undo", tags=["memories"], response=responses(written(UndoneWrite)))
def undo_one_write(request: HttpRequest, body: UndoWriteIn) -> HttpResponse:
    """Undo a write of the same token, at most 24 hours old: pass `undo` of its answer. 409: another actor built on it
    since, or a policy, a verification or a pin stands against it.
    """
    actor = actor_of(request)
    return answer_write(actor, UndoneWrite.json(undo_write(actor, body.undo)))
