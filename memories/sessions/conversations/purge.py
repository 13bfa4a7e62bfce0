"""Purging a conversation: its turns and all that was made from them, its checkpoints, and what the thread itself says."""

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext, ngettext

from access.actor import CURATE, Actor
from access.answers import ABSENT, Answer
from access.errors import NotFound
from memories.draft import clean_reason
from memories.lifecycle.purge import Certificate, preview_purge, purge_rows
from memories.models import Checkpoint, Memory, Thread
from memories.sessions.conversations import find_conversation
from memories.sessions.conversations.move import log_thread
from memories.store.policy import Change, held_back
from memories.store.withdrawn.marks import refuse_withdrawn_reason


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
    thread = find_to_purge(actor, id_)
    turns = list(Memory.objects.filter(thread=thread, root=None).select_related("group", "thread"))
    for row in Memory.objects.filter(thread=thread, superseded_by=None).select_related("group"):
        held_back(actor, Change.PURGE, row)
    reason = clean_reason(reason)
    refuse_withdrawn_reason(actor, thread.group, reason)
    saved = Checkpoint.objects.filter(thread=thread).count()
    lines = describe(len(turns), saved)
    if dry_run:
        also = preview_purge(actor, turns) if turns else ()
        return PurgedConversation(thread.id, len(turns), (*lines, *also), dry_run=True)

    def follow() -> None:
        blank(actor, thread)

    if not turns:
        follow()
        return PurgedConversation(thread.id, 0, lines)
    purged = purge_rows(actor, turns, reason=reason, follow=follow)
    lines = (*lines, *purged.followed.consequences)
    return PurgedConversation(thread.id, len(turns), lines, purged.certificate)


def describe(turns: int, saved: int) -> tuple[str, ...]:
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


def find_to_purge(actor: Actor, id_: str | UUID) -> Thread:
    """The thread, deleted or not."""
    try:
        return find_conversation(actor, id_, right=CURATE)
    except NotFound:
        return find_conversation(actor, id_, right=CURATE, is_deleted=True)


def blank(actor: Actor, thread: Thread) -> None:
    """Destroy the thread's checkpoints and its own words; it counts as deleted."""
    Checkpoint.objects.filter(thread=thread).delete()
    Thread.objects.filter(pk=thread.pk).update(
        title="", url="", tags=[], summary=None, deleted_at=timezone.now()
    )
    log_thread(actor, thread, thread.group, action="purge")
