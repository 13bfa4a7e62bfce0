"""Asking: recall, the context pack and checkpoints."""

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from access.errors import NotFound
from access.groups import find_group
from loci_site.api.auth import actor_of
from loci_site.api.responses import answer
from loci_site.api.schemas import responses as out
from loci_site.api.schemas.requests import CheckpointIn, CheckpointQuery, ContextQuery, RecallIn, RecallQuery
from memories.browse.serializers import checkpoint_json, pack_json, recall_json
from memories.language.cleaning import clean_line
from memories.models import Checkpoint
from memories.recall import recall
from memories.sessions.checkpoints import latest_checkpoint, save_checkpoint
from memories.sessions.context_pack import DEFAULT_BUDGET, get_context

router = Router(tags=["recall"])


@router.post("/recall", response={**out.ERRORS, 200: out.RecalledOut})
def recall_memories(request: HttpRequest, body: RecallIn) -> HttpResponse:
    """Answer a question from what the caller may see, best first; or read memories in full by their ids."""
    asked = body.asked(query=body.query, ids=body.ids, types=list(body.types), tags=body.tags, mode=body.mode)
    return answer(recall_json(recall(actor_of(request), asked)))


@router.get("/recall", response={**out.ERRORS, 200: out.RecalledOut})
def recall_by_address(request: HttpRequest, asked: Query[RecallQuery]) -> HttpResponse:
    """Recall as POST does, for what can only follow an address."""
    wanted = asked.asked(
        query=asked.query, ids=asked.id, types=list(asked.type), tags=asked.tag, mode=asked.mode
    )
    return answer(recall_json(recall(actor_of(request), wanted)))


@router.get("/context", response={**out.ERRORS, 200: out.PackOut})
def read_context(request: HttpRequest, wanted: Query[ContextQuery]) -> HttpResponse:
    """Give what an agent should know when its session begins; with `as_of` or `known_at`, what it was then."""
    pack = get_context(
        actor_of(request),
        group=wanted.group,
        query=wanted.query,
        thread=wanted.thread,
        token_budget=wanted.token_budget or DEFAULT_BUDGET,
        narrowing=wanted.moments(),
    )
    return answer(pack_json(pack))


@router.post("/checkpoints", response={**out.ERRORS, 201: out.SavedOut})
def add_checkpoint(request: HttpRequest, body: CheckpointIn) -> HttpResponse:
    """Keep where work stands as the newest of its thread, or of the group."""
    saved = save_checkpoint(actor_of(request), group=body.group, thread=body.thread, state=body.state)
    return answer(checkpoint_json(saved), status=201)


@router.get("/checkpoints/latest", response={**out.ERRORS, 200: out.CheckpointOut})
def read_latest_checkpoint(request: HttpRequest, wanted: Query[CheckpointQuery]) -> HttpResponse:
    """Give the newest checkpoint of a thread, or of the group."""
    group = find_group(actor_of(request), wanted.group)
    thread = clean_line(wanted.thread, field="thread", max_chars=200)
    found = latest_checkpoint(group, thread)
    if found is None:
        raise NotFound("There is no checkpoint yet.", hint="POST /api/checkpoints saves one.")
    return answer(_checkpoint_json(found, group.slug))


def _checkpoint_json(checkpoint: Checkpoint, group: str) -> dict[str, object]:
    return {
        "id": str(checkpoint.id),
        "group": group,
        "thread": checkpoint.thread.name if checkpoint.thread else None,
        "state": checkpoint.state,
        "author": checkpoint.author_name,
        "created_at": checkpoint.created_at.isoformat(),
    }
