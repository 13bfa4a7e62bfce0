"""Memories: store, list, read, edit, and what else can be done to one."""

from collections.abc import Callable
from typing import Literal

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from loci_site.api.auth import actor_of
from loci_site.api.errors import Refused
from loci_site.api.responses import answer
from loci_site.api.schemas import responses as out
from loci_site.api.schemas.requests import EditIn, InspectQuery, MemoryIn, MemoryListQuery, VerbIn
from memories.browse.inspection import inspect_memory
from memories.browse.listing import list_memories, visible_versions
from memories.browse.serializers import change_json, inspection_json, memory_json, stored_json
from memories.draft import clean_reason
from memories.lifecycle import verbs
from memories.lifecycle.edit import EditOutcome, EditResult, edit
from memories.lifecycle.verbs import ChangeResult
from memories.queries.versions import find_memory, head_of
from memories.store import Outcome, StoreResult, store

router = Router(tags=["memories"])
VerbName = Literal[
    "forget",
    "restore",
    "retract",
    "dispute",
    "verify",
    "approve",
    "reject",
    "quarantine",
    "pin",
    "unpin",
    "purge",
]
STATUS = {Outcome.CREATED: 201, Outcome.QUEUED: 202, Outcome.REFUSED: 409}
EDIT_STATUS = {EditOutcome.QUEUED: 202}
PINS: dict[str, Callable[..., ChangeResult]] = {"pin": verbs.pin, "unpin": verbs.unpin}
NOTHING_SAID = VerbIn()
VERBS: dict[str, Callable[..., ChangeResult]] = {
    "forget": verbs.forget,
    "restore": verbs.restore,
    "retract": verbs.retract,
    "dispute": verbs.dispute,
    "verify": verbs.verify,
    "approve": verbs.approve,
    "reject": verbs.reject,
    "quarantine": verbs.quarantine,
    "purge": verbs.purge,
}


@router.post("", response={**out.ERRORS, 200: out.StoredOut, 201: out.StoredOut, 202: out.StoredOut})
def store_memory(request: HttpRequest, body: MemoryIn) -> HttpResponse:
    """Remember a text. 201: created · 200: it was known, and is reinforced or unchanged · 202: it waits for a
    curator · 409: it is barred here.
    """
    return _stored(store(actor_of(request), body.draft()))


@router.get("", response={**out.ERRORS, 200: out.MemoryPage})
def list_all_memories(request: HttpRequest, filters: Query[MemoryListQuery]) -> HttpResponse:
    """List memories, newest first; without `group` those of all groups that the caller may enter, and global ones.
    `as_of` and `known_at` list what was true and known then; `label` says what is history by now.
    """
    actor = actor_of(request)
    page = list_memories(actor, filters.listed(), cursor=filters.cursor, limit=filters.limit)
    return answer(
        {"items": [memory_json(row, is_person=actor.is_person) for row in page.rows], "next": page.next}
    )


@router.get("/{memory_id}", response={**out.ERRORS, 200: out.VersionedOut})
def read_memory(request: HttpRequest, memory_id: str, versions: bool = False) -> HttpResponse:
    """Read one version of a memory; `head` is the id of the version that counts now."""
    actor = actor_of(request)
    memory = find_memory(actor, memory_id)
    body = memory_json(memory, is_person=actor.is_person) | {"head": str(head_of(memory).id)}
    if versions:
        body["versions"] = [
            memory_json(row, is_person=actor.is_person) for row in visible_versions(actor, memory.id)
        ]
    return answer(body)


@router.patch("/{memory_id}", response={**out.ERRORS, 200: out.EditedOut, 202: out.EditedOut})
def edit_memory(request: HttpRequest, memory_id: str, body: EditIn) -> HttpResponse:
    """Change a memory. Another content, type or valid_from is a new version; the rest changes in place. 202: the
    new text waits for a curator.
    """
    edited = edit(actor_of(request), memory_id, body.edit(), reason=clean_reason(body.reason))
    return answer(edited_json(edited), status=EDIT_STATUS.get(edited.outcome, 200))


@router.delete("/{memory_id}", response={**out.ERRORS, 200: out.DoneOut})
def delete_memory(
    request: HttpRequest,
    memory_id: str,
    verb: Literal["forget", "retract", "purge"] = "forget",
    reason: str = "",
    dry_run: bool = False,
) -> HttpResponse:
    """Forget a memory (it can be restored), or with `verb` retract or purge it."""
    return answer(change_json(VERBS[verb](actor_of(request), memory_id, reason=reason, dry_run=dry_run)))


@router.get("/{memory_id}/inspect", response={**out.ERRORS, 200: out.InspectionOut})
def inspect_one_memory(request: HttpRequest, memory_id: str, asked: Query[InspectQuery]) -> HttpResponse:
    """Give all there is to say of a memory; with `query`, why that question brings it or does not; with `as_of` or
    `known_at`, of the version that was true and known then.
    """
    actor = actor_of(request)
    inspection = inspect_memory(actor, memory_id, query=asked.query, narrowing=asked.moments())
    return answer(inspection_json(inspection, is_person=actor.is_person))


@router.post("/{memory_id}/{verb}", response={**out.ERRORS, 200: out.DoneOut})
def do_to_memory(
    request: HttpRequest, memory_id: str, verb: VerbName, body: VerbIn = NOTHING_SAID
) -> HttpResponse:
    """Forget, restore, retract, dispute, verify, approve, reject, pin, unpin or purge a memory."""
    actor = actor_of(request)
    if verb in PINS:
        return answer(change_json(PINS[verb](actor, memory_id, dry_run=body.dry_run)))
    return answer(change_json(VERBS[verb](actor, memory_id, reason=body.reason, dry_run=body.dry_run)))


def edited_json(edited: EditResult) -> dict[str, object]:
    """Give the answer to an edit."""
    return {
        "outcome": edited.outcome,
        "memory": memory_json(edited.memory),
        "replaced": str(edited.replaced) if edited.replaced else None,
        "changes": edited.changes,
        "why": edited.why,
    }


def _stored(stored: StoreResult) -> HttpResponse:
    if stored.outcome == Outcome.REFUSED:
        raise Refused(f"It was not stored: {stored.why}")
    return answer(stored_json(stored), status=STATUS.get(stored.outcome, 200))
