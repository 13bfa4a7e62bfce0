"""Routes for conversations: list, read, tag, move to a group, delete and bring back."""

from dataclasses import replace
from typing import Annotated, Literal
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import Field

from access.actor import WRITE
from access.answers import Answer, ShownAs
from access.errors import InvalidInput
from loci_site.api.auth import actor_of
from loci_site.api.responses import answer
from loci_site.api.schemas.answers import page_of, responses
from loci_site.api.schemas.fields import Timestamp
from loci_site.api.schemas.requests import Body, PageQuery
from memories.browse.serializers import MemoryOut
from memories.sessions.conversations import (
    ConversationFilter,
    ConversationOut,
    find_conversation,
    list_conversations,
    read_conversation,
    with_counts,
)
from memories.sessions.conversations.change import PurgedConversation, bring_back, delete, purge, tag
from memories.sessions.conversations.move import Moved, assign

router = Router(tags=["conversations"])


class ConversationsQuery(PageQuery):
    """Filters of the list. `q` are words of the title; times are those of the last turn."""

    group: str | None = None
    platform: str | None = Field(None, description="A site's host; empty: conversations of no site.")
    tag: str = ""
    q: str = ""
    after: Timestamp | None = None
    before: Timestamp | None = None


class ChangeConversationIn(Body):
    """The fields to change; absent fields stay as they are."""

    tags: list[str] | None = None
    group: str | None = Field(None, description="The group to move it to.")
    reason: str = ""


class ReadConversationOut(Answer):
    """A conversation with a page of its turns in order."""

    conversation: ConversationOut
    turns: tuple[MemoryOut, ...]
    next: int | None


class ChangedConversationOut(Answer):
    """The conversation afterwards. `queued` says why the move waits for a curator, `proposal` is the id that it waits under."""

    conversation: Annotated[ConversationOut, ShownAs(lambda *_: None)]
    former_group: Annotated[str, ShownAs("former")]
    memories: int
    queued: str
    proposal: UUID | None


@router.get("/conversations", response=responses(page_of(ConversationOut)))
def list_all_conversations(request: HttpRequest, params: Query[ConversationsQuery]) -> HttpResponse:
    """List conversations, newest first: threads with turns, in one group or all that the caller may read."""
    actor = actor_of(request)
    wanted = ConversationFilter(
        params.group, params.platform, params.tag, params.q, params.after, params.before
    )
    page = list_conversations(actor, wanted, cursor=params.cursor, limit=params.limit)
    return answer(
        {"items": [ConversationOut.json(each) for each in with_counts(actor, page.rows)], "next": page.next}
    )


@router.get("/conversations/{conversation_id}", response=responses(ReadConversationOut))
def read_one_conversation(
    request: HttpRequest, conversation_id: str, after: Annotated[int, Field(ge=-1)] = -1
) -> HttpResponse:
    """Read a conversation: its live turns in order. `after`: the `next` of the page before."""
    actor = actor_of(request)
    found = read_conversation(actor, conversation_id, after=after)
    return answer(ReadConversationOut.json(found, is_person=actor.is_person))


@router.patch(
    "/conversations/{conversation_id}",
    response=responses(ChangedConversationOut, 200, 202),
)
def change_conversation(
    request: HttpRequest, conversation_id: str, body: ChangeConversationIn
) -> HttpResponse:
    """Tag a conversation, or, as a person, move it to another group with its turns. 202: the move waits for a curator there.
    Moving it back undoes a move.
    """
    actor = actor_of(request)
    if body.tags is None and not body.group:
        raise InvalidInput("Nothing is named to be changed.", hint="Send tags or group.", field="group")
    thread = find_conversation(actor, conversation_id, right=WRITE)
    moved = Moved(thread, thread.group.slug, thread.group.slug, 0)
    if body.tags is not None:
        moved = replace(moved, thread=tag(actor, conversation_id, body.tags, reason=body.reason))
    if body.group:
        moved = assign(actor, conversation_id, body.group, reason=body.reason)
    [shown] = with_counts(actor, (moved.thread,))
    changed = ChangedConversationOut.json(moved) | {"conversation": ConversationOut.json(shown)}
    return answer(changed, status=202 if moved.queued else 200)


@router.delete("/conversations/{conversation_id}", response=responses(PurgedConversation))
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
        return answer(PurgedConversation.json(purge(actor, conversation_id, reason=reason, dry_run=dry_run)))
    if dry_run:
        raise InvalidInput("dry_run is for verb=purge.", hint="Deleting can be undone.", field="dry_run")
    gone = delete(actor, conversation_id, reason=reason)
    return answer(PurgedConversation.json(PurgedConversation(gone.thread.id, gone.memories)))


@router.post("/conversations/{conversation_id}/undelete", response=responses(PurgedConversation))
def restore_conversation(request: HttpRequest, conversation_id: str) -> HttpResponse:
    """Bring a deleted conversation back with the turns that its deletion forgot."""
    back = bring_back(actor_of(request), conversation_id)
    return answer(PurgedConversation.json(PurgedConversation(back.thread.id, back.memories)))
