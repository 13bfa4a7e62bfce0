"""Routes for recall, suggestions while a person types, the recall log and feedback on it, the context pack and checkpoints."""

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import Field

from access.errors import NotFound
from access.groups import find_group
from loci_site.api.auth import actor_of
from loci_site.api.responses import answer, answer_write
from loci_site.api.schemas.answers import page_of, responses, written
from loci_site.api.schemas.requests import (
    CheckpointIn,
    CheckpointsQuery,
    ContextQuery,
    FeedbackIn,
    RecallIn,
    RecallQuery,
    RecallsQuery,
)
from loci_site.hooks.repository import with_last_checkout
from memories.browse.recalls import LoggedRecallOut, find_recall, list_recalls, with_hits
from memories.browse.serializers import CheckpointOut, PackOut, RecalledOut, SavedOut
from memories.browse.suggest import (
    DEFAULT_LIMIT,
    MAX_LIMIT,
    SuggestedOut,
    SuggestedThreadOut,
    SuggestionOut,
    suggest,
    suggest_threads,
)
from memories.language.cleaning import clean_line
from memories.review.feedback import FeedbackOut, give_feedback
from memories.sessions.checkpoints import save_checkpoint
from memories.sessions.context_pack import get_context
from memories.sessions.threads import latest_checkpoint, list_checkpoints
from sources.artifacts.evidence import recall_kinds, wide_json

router = Router(tags=["recall"])


@router.post("/recall", response=responses(RecalledOut))
def recall_memories(request: HttpRequest, body: RecallIn) -> HttpResponse:
    """Find the memories that answer a query, best first, among those that the caller may see; or read memories in full by
    their ids. `where` holds the filters. With `kinds: ["memories", "evidence"]`, `evidence` has the chunks of files that
    answer it.
    """
    actor = with_last_checkout(actor_of(request))
    return answer(wide_json(recall_kinds(actor, body.recall_request(), body.kinds)))


@router.get("/recall", response=responses(RecalledOut))
def recall_by_address(request: HttpRequest, params: Query[RecallQuery]) -> HttpResponse:
    """Recall as POST does, for clients that can only open an address."""
    actor = with_last_checkout(actor_of(request))
    return answer(wide_json(recall_kinds(actor, params.recall_request(), params.kinds)))


@router.get("/context", response=responses(PackOut))
def read_context(request: HttpRequest, params: Query[ContextQuery]) -> HttpResponse:
    """Read the context pack for the start of a session; with `as_of` or `known_at`, that of an earlier time."""
    asked = params.model_dump(exclude={"as_of", "known_at"})
    actor = with_last_checkout(actor_of(request))
    return answer(PackOut.json(get_context(actor, **asked, narrowing=params.narrowing())))


@router.post("/checkpoints", response=responses(written(SavedOut), 201))
def add_checkpoint(request: HttpRequest, body: CheckpointIn) -> HttpResponse:
    """Save a checkpoint as the newest of its thread, or of the group."""
    actor = actor_of(request)
    return answer_write(actor, SavedOut.json(save_checkpoint(actor, **dict(body))), status=201)


@router.get("/checkpoints/latest", response=responses(CheckpointOut))
def read_latest_checkpoint(request: HttpRequest, group: str | None = None, thread: str = "") -> HttpResponse:
    """Read the newest checkpoint of a thread, or of the group."""
    found = latest_checkpoint(
        find_group(actor_of(request), group), clean_line(thread, field="thread", max_chars=200)
    )
    if found is None:
        raise NotFound("There is no checkpoint yet.", hint="POST /api/checkpoints saves one.")
    return answer(CheckpointOut.json(found))


@router.get("/checkpoints", response=responses(page_of(CheckpointOut)))
def list_saved_checkpoints(request: HttpRequest, params: Query[CheckpointsQuery]) -> HttpResponse:
    """List the checkpoints of a group or of one thread, newest first."""
    return answer(CheckpointOut.page(list_checkpoints(actor_of(request), **dict(params))))


@router.get("/recalls", response=responses(page_of(LoggedRecallOut)))
def list_logged_recalls(request: HttpRequest, params: Query[RecallsQuery]) -> HttpResponse:
    """List logged recalls, newest first: the caller's own, and those of groups that the caller may curate. A recall is
    logged within retrieval.access_flush_s seconds.
    """
    actor = actor_of(request)
    page = list_recalls(actor, **dict(params))
    return answer(
        {"items": [LoggedRecallOut.json(each) for each in with_hits(actor, page.rows)], "next": page.next}
    )


@router.get("/recalls/{recall_id}", response=responses(LoggedRecallOut))
def read_logged_recall(request: HttpRequest, recall_id: str) -> HttpResponse:
    """Read one logged recall: the question, and what it returned."""
    actor = actor_of(request)
    [recall] = with_hits(actor, [find_recall(actor, recall_id)])
    return answer(LoggedRecallOut.json(recall))


@router.post("/feedback", response=responses(FeedbackOut))
def add_feedback(request: HttpRequest, body: FeedbackIn) -> HttpResponse:
    """Say which recalled memories were used, and which were wrong. People see it in review and on the memory's page; rank
    never depends on it. A verdict counts once for each recall and memory; a later one replaces it.
    """
    return answer(FeedbackOut.json(give_feedback(actor_of(request), **dict(body))))


@router.get("/suggest", response=responses(SuggestedOut))
def suggest_memories(
    request: HttpRequest,
    q: str,
    group: str | None = None,
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
    by_meaning: bool = False,
) -> HttpResponse:
    """Suggest memories in any state, and threads by their titles, for the text typed so far. Suggestions are neither logged
    nor counted as recalls. `by_meaning` searches memories by meaning only: it needs the model, and suits a pause in typing.
    """
    actor = actor_of(request)
    found = suggest(actor, q, group=group, limit=limit, by_meaning=by_meaning)
    threads = [] if by_meaning else suggest_threads(actor, q, group=group)
    return answer(
        {
            "items": [SuggestionOut.json(each) for each in found],
            "threads": [SuggestedThreadOut.json(each) for each in threads],
        }
    )
