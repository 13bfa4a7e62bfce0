"""Tagging a conversation, deleting it with its turns, and bringing it back."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from access.actor import WRITE, Actor
from access.additions import additions
from access.audit.operations import Operation
from access.errors import Conflict, NotPermitted
from access.groups.guarding import admit
from access.groups.locks import hold_groups
from access.models import AuditEntry
from memories.draft import check_tags
from memories.lifecycle.verbs import forget, restore
from memories.models import Memory, Thread
from memories.sessions.conversations import find_conversation
from memories.sessions.conversations.move import log_thread
from memories.store.policy import Change, held_back
from memories.types import State


@dataclass(frozen=True)
class Deleted:
    """A conversation that was deleted or restored, and the number of memories affected."""

    thread: Thread
    memories: int


def tag(actor: Actor, id_: str | UUID, tags: Sequence[str]) -> Thread:
    """Set the tags of a conversation.

    Raises:
        NotFound, NotPermitted: the conversation is missing or closed to the actor.
        InvalidInput: a tag is not allowed.
    """
    thread = find_conversation(actor, id_, right=WRITE)
    fresh = admit(list(check_tags(tuple(tags))), actor.door, thread.group, field="tags").value
    if fresh == thread.tags:
        return thread
    with transaction.atomic():
        log_thread(actor, thread, thread.group, action="tag", changes={"tags": [thread.tags, fresh]})
        Thread.objects.filter(pk=thread.pk).update(tags=fresh)
    thread.tags = fresh
    return thread


def delete(actor: Actor, id_: str | UUID, *, reason: str = "") -> Deleted:
    """Delete a conversation: forget its live turns and refuse later ones; bring_back() undoes it. One transaction.

    Raises:
        NotFound, NotPermitted: it is missing or closed to the actor, or the group's policy leaves it to a curator.
    """
    thread = find_conversation(actor, id_, right=WRITE)
    with transaction.atomic():
        hold_groups([thread.group_id])
        rows = list(Memory.objects.filter(thread=thread, state=State.LIVE).select_related("group"))
        why = next((doubt for row in rows if (doubt := held_back(actor, Change.FORGET, row))), "")
        if why:
            raise NotPermitted(
                f"Only a curator may delete this conversation: {why}.", hint="Ask a curator of the group."
            )
        for row in rows:
            if Memory.objects.filter(
                pk=row.pk, state=State.LIVE
            ).exists():  # a summary may have gone with a source
                forget(actor, row.id, reason=reason)
        Thread.objects.filter(pk=thread.pk).update(deleted_at=timezone.now())
        log_thread(actor, thread, thread.group, action="delete", memories=[str(row.id) for row in rows])
        for follow in additions("after deleting a conversation"):
            follow(thread)
    return Deleted(thread, len(rows))


def bring_back(actor: Actor, id_: str | UUID, *, reason: str = "") -> Deleted:
    """Restore a deleted conversation and the turns forgotten with it. One transaction.

    Raises:
        NotFound, NotPermitted: there is no such deleted conversation, or it is closed to the actor.
        Conflict: it was purged.
    """
    thread = find_conversation(actor, id_, right=WRITE, is_deleted=True)
    logged = AuditEntry.objects.filter(operation=Operation.THREAD, subject=f"thread:{thread.id}")
    deletions = [row.payload for row in logged.select_related("payload_row").order_by("-key")]
    if deletions and deletions[0].get("action") == "purge":
        raise Conflict(
            "This conversation was purged.", hint="Its turns are destroyed and cannot be restored."
        )
    ids: list[str] = next((each["memories"] for each in deletions if each.get("action") == "delete"), [])
    with transaction.atomic():
        hold_groups([thread.group_id])
        count = 0
        for row in Memory.objects.filter(id__in=ids, state=State.FORGOTTEN):
            with suppress(Conflict):  # withdrawn since
                restore(actor, row.id, reason=reason)
                count += 1
        Thread.objects.filter(pk=thread.pk).update(deleted_at=None)
        log_thread(actor, thread, thread.group, action="restore", memories=count)
        for follow in additions("after restoring a conversation"):
            follow(thread)
    thread.deleted_at = None
    return Deleted(thread, count)
