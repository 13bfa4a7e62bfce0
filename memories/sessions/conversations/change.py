"""Tagging a conversation, deleting it with its turns and bringing it back, and purging it with all that was made from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from access.actor import CURATE, WRITE, Actor
from access.additions import additions
from access.answers import ABSENT, Answer
from access.audit.operations import Operation
from access.errors import Conflict, GroupFull, NotFound, NotPermitted
from access.groups import hold_groups
from access.groups.guarding import admit
from access.models import AuditEntry
from memories.draft import clean_tags
from memories.lifecycle.purge import Certificate, preview_purge, purge_rows
from memories.lifecycle.verbs import forget, restore
from memories.models import Checkpoint, Memory, Thread
from memories.sessions.conversations import find_conversation
from memories.sessions.conversations.move import check_reason, log_thread
from memories.store.policy import Change, held_back
from memories.store.withdrawn.marks import refuse_withdrawn_texts
from memories.types import State


@dataclass(frozen=True)
class Deleted:
    """A conversation that was deleted or restored, and the number of memories affected."""

    thread: Thread
    memories: int


def tag(actor: Actor, id_: str | UUID, tags: Sequence[str], *, reason: str = "") -> Thread:
    """Set the tags of a conversation.

    Raises:
        NotFound, NotPermitted: the conversation is missing or closed to the actor.
        InvalidInput: a tag is not allowed.
        Conflict: a tag or the reason is a text that was withdrawn in its group.
    """
    thread = find_conversation(actor, id_, right=WRITE)
    admitted = admit(list(clean_tags(tuple(tags))), actor.door, thread.group, field="tags").value
    fresh = [tag.lower() for tag in admitted]
    refuse_withdrawn_texts(actor, thread.group, fresh, field="tags")
    reason = check_reason(actor, reason, thread.group)
    if fresh == thread.tags:
        return thread
    with transaction.atomic():
        changed = {"tags": [thread.tags, fresh]}
        log_thread(actor, thread, thread.group, action="tag", changes=changed, reason=reason)
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
        live = Memory.objects.filter(state=State.LIVE)
        for row in rows:
            if live.filter(pk=row.pk).exists():  # a summary may have gone with a source
                forget(actor, row.id, reason=reason)
        Thread.objects.filter(pk=thread.pk).update(deleted_at=timezone.now())
        log_thread(actor, thread, thread.group, action="delete", memories=[str(row.id) for row in rows])
        for follow in additions("after deleting a conversation"):
            follow(thread)
    return Deleted(thread, len(rows))


def bring_back(actor: Actor, id_: str | UUID) -> Deleted:
    """Restore a deleted conversation and the turns forgotten with it. One transaction.

    Raises:
        NotFound, NotPermitted: there is no such deleted conversation, or it is closed to the actor.
        Conflict: it was purged, or its group is full.
    """
    thread = find_conversation(actor, id_, right=WRITE, is_deleted=True)
    logged = AuditEntry.objects.filter(operation=Operation.THREAD, subject=f"thread:{thread.id}")
    deletions = [row.payload for row in logged.select_related("payload_row").order_by("-key")]
    if deletions and deletions[0].get("action") == "purge":
        hint = "Its turns are destroyed and cannot be restored."
        raise Conflict("This conversation was purged.", hint=hint)
    ids: list[str] = next((each["memories"] for each in deletions if each.get("action") == "delete"), [])
    with transaction.atomic():
        hold_groups([thread.group_id])
        count = 0
        for row in Memory.objects.filter(id__in=ids, state=State.FORGOTTEN):
            try:
                restore(actor, row.id)
            except GroupFull:
                raise
            except Conflict:  # withdrawn since
                continue
            count += 1
        Thread.objects.filter(pk=thread.pk).update(deleted_at=None)
        log_thread(actor, thread, thread.group, action="restore", memories=count)
        for follow in additions("after restoring a conversation"):
            follow(thread)
    thread.deleted_at = None
    return Deleted(thread, count)


@dataclass(frozen=True)
class PurgedConversation(Answer):
    """A purged conversation, or a preview (`dry_run`): the turns, the consequences, and the certificate of what was destroyed."""

    id: UUID
    memories: int
    consequences: tuple[str, ...] = ()
    certificate: Annotated[Certificate | None, ABSENT] = None
    dry_run: bool = False


def purge(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> PurgedConversation:
    """Destroy the turns of a conversation in every state, as the purge of a memory does, and its checkpoints. Irreversible.

    The thread stays without title, address and tags, so that its browser's later turns are refused. One transaction.

    Raises:
        NotFound, NotPermitted: it is missing or closed to the actor, who must curate its group; or the actor is an agent and
            a person verified or pinned a turn.
    """
    try:
        thread = find_conversation(actor, id_, right=CURATE)
    except NotFound:
        thread = find_conversation(actor, id_, right=CURATE, is_deleted=True)
    turns = list(Memory.objects.filter(thread=thread, root=None).select_related("group", "thread"))
    reason = check_reason(actor, reason, thread.group)
    saved = Checkpoint.objects.filter(thread=thread).count()
    lines = _describe_purge(len(turns), saved)
    if dry_run:
        also = preview_purge(actor, turns) if turns else ()
        return PurgedConversation(thread.id, len(turns), (*lines, *also), dry_run=True)
    if not turns:
        blank(actor, thread)
        return PurgedConversation(thread.id, 0, lines)
    purged = purge_rows(actor, turns, reason=reason, follow=partial(blank, actor, thread))
    lines = (*lines, *purged.followed.consequences)
    return PurgedConversation(thread.id, len(turns), lines, purged.certificate)


def _describe_purge(turns: int, saved: int) -> tuple[str, ...]:
    """What becomes of the turns, the checkpoints and the thread."""
    line = ngettext(
        "{count} turn with all versions, words, vectors and log payloads: destroyed",
        "{count} turns with all versions, words, vectors and log payloads: destroyed",
        turns,
    )
    of_saved = ngettext("{count} checkpoint: destroyed", "{count} checkpoints: destroyed", saved)
    return (
        line.format(count=turns),
        *([of_saved.format(count=saved)] if saved else []),
        gettext(
            "its title, address and tags are blanked, and later turns of its browser are refused; "
            "a backup has title and checkpoints until it is rotated out"
        ),
        gettext("the same texts are refused in its group from now on"),
    )


def blank(actor: Actor, thread: Thread) -> None:
    """Destroy the thread's checkpoints and its own words; it counts as deleted."""
    Checkpoint.objects.filter(thread=thread).delete()
    rows = Thread.objects.filter(pk=thread.pk)
    rows.update(title="", url="", tags=[], summary=None, deleted_at=timezone.now())
    log_thread(actor, thread, thread.group, action="purge")
