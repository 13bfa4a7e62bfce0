"""Routes for conversations: list, read, tag, move to a group, delete and bring back."""

from dataclasses import replace
from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from access.actor import WRITE
from access.errors import InvalidInput
from loci_site.api.auth import actor_of
from loci_site.api.conversations import schemas
from loci_site.api.responses import answer
from loci_site.api.schemas import responses as out
from memories.browse.serializers import certificate_json, memory_json
from memories.sessions.conversations import (
    find_conversation,
    list_conversations,
    read_conversation,
    with_counts,
)
from memories.sessions.conversations.change import bring_back, delete, tag
from memories.sessions.conversations.move import Moved, assign
from memories.sessions.conversations.purge import PurgedConversation, purge

router = Router(tags=["conversations"])


@router.get("/conversations", response={**out.ERRORS, 200: schemas.ConversationPageOut})
def list_all_conversations(request: HttpRequest, params: Query[schemas.ConversationsQuery]) -> HttpResponse:
    """List conversations, newest first: threads with turns, in one group or all that the caller may read."""
    actor = actor_of(request)
    page = list_conversations(actor, params.wanted(), cursor=params.cursor, limit=params.limit)
    return answer({"items": [each.as_dict() for each in with_counts(actor, page.rows)], "next": page.next})


@router.get("/conversations/{conversation_id}", response={**out.ERRORS, 200: schemas.ReadConversationOut})
def read_one_conversation(
    request: HttpRequest, conversation_id: str, params: Query[schemas.TurnsQuery]
) -> HttpResponse:
    """Read a conversation: its live turns in order."""
    actor = actor_of(request)
    found = read_conversation(actor, conversation_id, after=params.after)
    turns = [memory_json(row, is_person=actor.is_person) for row in found.turns]
    return answer({"conversation": found.conversation.as_dict(), "turns": turns, "next": found.next})


@router.patch(
    "/conversations/{conversation_id}",
    response={**out.ERRORS, 200: schemas.ChangedConversationOut, 202: schemas.ChangedConversationOut},
)
def change_conversation(
    request: HttpRequest, conversation_id: str, body: schemas.ChangeConversationIn
) -> HttpResponse:
    """Tag a conversation, or move it to another group with its turns. 202: the move waits for a curator there. Moving it back
    undoes a move.
    """
    actor = actor_of(request)
    if body.tags is None and not body.group:
        raise InvalidInput("Nothing is named to be changed.", hint="Send tags or group.", field="group")
    thread = find_conversation(actor, conversation_id, right=WRITE)
    moved = Moved(thread, thread.group.slug, thread.group.slug, 0)
    if body.tags is not None:
        moved = replace(moved, thread=tag(actor, conversation_id, body.tags))
    if body.group:
        moved = assign(actor, conversation_id, body.group, reason=body.reason)
    [shown] = with_counts(actor, (moved.thread,))
    return answer(
        {
            "conversation": shown.as_dict(),
            "former_group": moved.former,
            "memories": moved.memories,
            "queued": moved.queued,
            "proposal": str(moved.proposal) if moved.proposal else None,
        },
        status=202 if moved.queued else 200,
    )


@router.delete(
    "/conversations/{conversation_id}", response={**out.ERRORS, 200: schemas.DeletedConversationOut}
)
def delete_conversation(
    request: HttpRequest,
    conversation_id: str,
    verb: Literal["delete", "purge"] = "delete",
    reason: str = "",
    dry_run: bool = False,
) -> HttpResponse:
    """Delete a conversation: its turns are forgotten, later ones from its browser refused, and the browser deletes its copies.
    `verb=purge`, for curators, destroys them for good, with a certificate; `dry_run` shows what a purge would destroy.
    """
    actor = actor_of(request)
    if verb == "purge":
        return answer(purged_json(purge(actor, conversation_id, reason=reason, dry_run=dry_run)))
    if dry_run:
        raise InvalidInput("dry_run is for verb=purge.", hint="Deleting can be undone.", field="dry_run")
    gone = delete(actor, conversation_id, reason=reason)
    return answer({"id": str(gone.thread.id), "memories": gone.memories})


def purged_json(purged: PurgedConversation) -> dict[str, Any]:
    """A purge's result as JSON."""
    body: dict[str, Any] = {
        "id": str(purged.id),
        "memories": purged.memories,
        "dry_run": purged.dry_run,
        "consequences": list(purged.consequences),
    }
    if purged.certificate is None:
        return body
    return body | {"certificate": certificate_json(purged.certificate)}


@router.post(
    "/conversations/{conversation_id}/undelete", response={**out.ERRORS, 200: schemas.DeletedConversationOut}
)
def restore_conversation(request: HttpRequest, conversation_id: str) -> HttpResponse:
    """Bring a deleted conversation back with the turns that its deletion forgot."""
    back = bring_back(actor_of(request), conversation_id)
    return answer({"id": str(back.thread.id), "memories": back.memories})
