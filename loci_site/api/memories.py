"""Routes for memories: store, list, read, edit, inspect, and the verbs."""

from typing import TYPE_CHECKING, Annotated, Literal
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from access.answers import ShownAs
from loci_site.api.auth import actor_of
from loci_site.api.responses import Refused, answer, answer_change, answer_write
from loci_site.api.schemas.answers import page_of, responses, written
from loci_site.api.schemas.requests import EditIn, InspectQuery, MemoryIn, MemoryListQuery, PurgingVerbIn
from memories.browse.inspection import inspect_memory
from memories.browse.listing import list_memories
from memories.browse.serializers import DoneOut, EditedOut, InspectionOut, MemoryOut, StoredOut
from memories.draft import clean_reason
from memories.entities.statements import visible_versions
from memories.lifecycle.edit import EditOutcome, edit
from memories.lifecycle.verbs import Face, offered_by
from memories.queries.versions import find_memory, head_within
from memories.queries.visibility import listed_by
from memories.store import Outcome, store

router = Router(tags=["memories"])
VERBS = offered_by(Face.REST)
if TYPE_CHECKING:
    VerbName = str
else:
    VerbName = Literal[tuple(VERBS)]
*OTHERS, LAST = VERBS
_REFUSED_HINT = (
    "Nothing was written. If the text is right after all, a curator can lift its tombstone, or approve the memory that "
    "has it."
)
STATUS = {Outcome.CREATED: 201, Outcome.QUEUED: 202, Outcome.REFUSED: 409}
_EDIT_STATUS = {EditOutcome.QUEUED: 202}
NO_REASON = PurgingVerbIn()


class VersionedOut(MemoryOut):
    """A memory with the id of its current version, and on request all versions, oldest first."""

    head: Annotated[
        UUID | None,
        ShownAs(
            lambda *_: None, about="The current version; null if the caller may not see what superseded it."
        ),
    ]
    versions: Annotated[tuple[MemoryOut, ...], ShownAs(lambda *_: (), is_absent=True)] = ()


@router.post("", response=responses(written(StoredOut), 200, 201, 202))
def store_memory(request: HttpRequest, body: MemoryIn) -> HttpResponse:
    """Store a text. 201: created · 200: already known, reinforced or unchanged · 202: queued for a curator · 409: refused
    because of a tombstone.
    """
    actor = actor_of(request)
    stored = store(actor, body.draft())
    if stored.outcome == Outcome.REFUSED:
        raise Refused(f"It was not stored: {stored.why}", hint=_REFUSED_HINT)
    return answer_write(actor, StoredOut.json(stored), status=STATUS.get(stored.outcome, 200))


@router.get("", response=responses(page_of(MemoryOut)))
def list_all_memories(request: HttpRequest, filters: Query[MemoryListQuery]) -> HttpResponse:
    """List memories, newest first; without `group`, global ones and those of all groups that the caller may enter.
    `as_of` and `known_at` list what was true or known at that time; `label` marks what is history by now.
    """
    actor = actor_of(request)
    page = list_memories(actor, filters.list_filter(), cursor=filters.cursor, limit=filters.limit)
    return answer(MemoryOut.page(page, is_person=actor.is_person))


@router.get("/{memory_id}", response=responses(VersionedOut))
def read_memory(request: HttpRequest, memory_id: str, versions: bool = False) -> HttpResponse:
    """Read one version of a memory; `head` is the id of its current version."""
    actor = actor_of(request)
    memory = find_memory(actor, memory_id)
    head = head_within(memory, listed_by(actor, None))
    body = VersionedOut.json(memory, is_person=actor.is_person) | {"head": head and str(head.id)}
    if versions:
        rows = visible_versions(actor, memory)
        body["versions"] = [MemoryOut.json(row, is_person=actor.is_person) for row in rows]
    return answer(body)


@router.patch("/{memory_id}", response=responses(written(EditedOut), 200, 202))
def edit_memory(request: HttpRequest, memory_id: str, body: EditIn) -> HttpResponse:
    """Edit a memory. A new content, type or valid_from makes a new version; other fields change in place. 202: the new
    text is queued for a curator, or the other fields are, as a proposal.
    """
    actor = actor_of(request)
    edited = edit(actor, memory_id, body.edit(), reason=clean_reason(body.reason))
    return answer_write(actor, EditedOut.json(edited), status=_EDIT_STATUS.get(edited.outcome, 200))


@router.delete("/{memory_id}", response=responses(written(DoneOut), 200, 202))
def delete_memory(
    request: HttpRequest,
    memory_id: str,
    verb: Literal["forget", "retract", "purge"] = "forget",
    reason: str = "",
    quotes: bool = False,
    dry_run: bool = False,
) -> HttpResponse:
    """Forget a memory, which can be restored, or retract or purge it with `verb`. 202: it waits for a curator.

    `quotes`: a purge by a person destroys the memories that quote its text, too.
    """
    actor = actor_of(request)
    return answer_change(
        actor, VERBS[verb].apply(actor, memory_id, reason=reason, quotes=quotes, dry_run=dry_run)
    )


@router.get("/{memory_id}/inspect", response=responses(InspectionOut))
def inspect_one_memory(request: HttpRequest, memory_id: str, params: Query[InspectQuery]) -> HttpResponse:
    """Everything about a memory; with `query`, why that query finds it or not; with `as_of` or `known_at`, about the
    version that was true or known at that time.
    """
    actor = actor_of(request)
    inspection = inspect_memory(actor, memory_id, query=params.query, narrowing=params.narrowing())
    return answer(InspectionOut.json(inspection, is_person=actor.is_person))


@router.post(
    "/{memory_id}/{verb}",
    response=responses(written(DoneOut), 200, 202),
    description=f"{', '.join(OTHERS)} or {LAST} a memory. 202: it waits for a curator as a proposal.".capitalize(),
)
def do_to_memory(
    request: HttpRequest, memory_id: str, verb: VerbName, body: PurgingVerbIn = NO_REASON
) -> HttpResponse:
    """Carry a verb out."""
    actor = actor_of(request)
    return answer_change(actor, VERBS[verb].apply(actor, memory_id, **dict(body)))
