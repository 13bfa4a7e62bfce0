"""Turns that browsers must delete from their own copies: the text was purged or the conversation deleted here."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.utils import timezone

from access.actor import Actor
from access.models import ApiToken
from memories.models import Memory, Thread
from memories.store.purge_hooks import ClearedCopies, PurgedTexts
from sources.captures.inbox import check_may_capture
from sources.models import CapturedTurn

MAX_ROWS: Final = 1000


@dataclass(frozen=True)
class RemovedTurn:
    """A turn to delete, by the site's own ids."""

    platform: str
    conversation: str
    turn: str
    at: datetime


@dataclass(frozen=True)
class RemovedTurns:
    """Turns removed since a time, oldest first; `until` is the next call's `since`, `has_more` means call again now."""

    items: tuple[RemovedTurn, ...]
    until: datetime
    has_more: bool


def list_removed(actor: Actor, since: datetime | None) -> RemovedTurns:
    """The turns of this person removed after `since`; None means ever.

    Raises:
        NotPermitted: the actor's token has no scope 'capture'.
    """
    user = check_may_capture(actor)
    now = timezone.now()
    rows = CapturedTurn.objects.filter(user=user, removed_at__isnull=False)
    rows = rows.filter(removed_at__gt=since) if since is not None else rows
    found = list(rows.order_by("removed_at", "key")[: MAX_ROWS + 1])
    # Rows of one moment are not split between two answers: the next call begins after that moment.
    has_more = len(found) > MAX_ROWS
    until = found[MAX_ROWS].removed_at if has_more else now
    shown = [row for row in found if not has_more or row.removed_at != until] or found
    until = (shown[-1].removed_at if has_more else now) or now
    items = tuple(
        RemovedTurn(row.platform, row.conversation, row.turn, row.removed_at or now) for row in shown
    )
    return RemovedTurns(items, until, has_more and len(shown) < len(found))


def mark_removed(thread: Thread) -> int:
    """Mark the turns of a deleted conversation for removal from its browser."""
    ids = Memory.objects.filter(thread=thread, root=None).values("id")
    return CapturedTurn.objects.filter(memory_id__in=ids, removed_at=None).update(removed_at=timezone.now())


def purge_captures(doomed: PurgedTexts) -> int:
    """Mark purged turns for removal from their browsers; returns their number."""
    rows = CapturedTurn.objects.filter(memory_id__in=doomed.ids)
    return rows.update(removed_at=timezone.now())


class BrowserCopies:
    """Copies in paired browsers, deleted at the browser's next contact; a purge's certificate says so."""

    def note(self) -> str:
        """Nothing to record: the rows of the turns are the record."""
        return ""

    def clear(self, ids: frozenset[UUID], texts: tuple[str, ...], *, note: str) -> ClearedCopies:
        """Name the people whose browsers have yet to connect."""
        users = CapturedTurn.objects.filter(memory_id__in=ids).values_list("user", flat=True)
        paired = ApiToken.objects.filter(user__in=set(users), revoked_at=None).exclude(origin="")
        count = paired.count()
        if not count:
            return ClearedCopies()
        browsers = "1 paired browser" if count == 1 else f"{count} paired browsers"
        return ClearedCopies(
            remains=(f"{browsers} may hold a copy until the next contact, which deletes it",)
        )
