"""Turns that browsers must delete from their own copies: the text was purged or the conversation deleted here."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Final

from django.utils import timezone

from access.actor import Actor
from access.answers import Answer, ShownAs
from access.models import ApiToken
from memories.language.cleaning import format_count
from memories.models import Memory, Thread
from memories.store.places import OutsideCopies, PurgedTexts, TextPlace
from memories.types import State
from sources.captures.inbox import check_may_capture
from sources.models import CapturedTurn

MAX_ROWS: Final = 1000
_MARGIN: Final = timedelta(minutes=1)  # how long a deletion may take to be written


@dataclass(frozen=True)
class RemovedTurn(Answer):
    """A turn to delete, by the site's own ids."""

    platform: str
    conversation: str
    turn: str
    at: datetime


@dataclass(frozen=True)
class RemovedTurns(Answer):
    """Turns removed since a time, oldest first; `until` is the next call's `since`, `has_more` means call again now."""

    items: tuple[RemovedTurn, ...]
    until: datetime
    has_more: Annotated[bool, ShownAs(name="more")]


def list_removed(actor: Actor, since: datetime | None) -> RemovedTurns:
    """The turns of this person removed after `since`; None means ever.

    Raises:
        NotPermitted: the actor's token has no scope 'capture'.
    """
    user = check_may_capture(actor)
    rows = CapturedTurn.objects.filter(user=user, removed_at__isnull=False).order_by("removed_at", "key")
    rows = rows.filter(removed_at__gt=since) if since is not None else rows
    found = list(rows[:MAX_ROWS])
    if not found:
        return RemovedTurns((), since or timezone.now() - _MARGIN, False)
    # The last row's time, not the clock's: a deletion that is written just now is then part of the next answer.
    until = found[-1].removed_at or timezone.now()
    if len(found) == MAX_ROWS:  # rows of one moment are not split, since the next call begins after it
        found += rows.filter(removed_at=until, key__gt=found[-1].key)
    items = tuple(
        RemovedTurn(row.platform, row.conversation, row.turn, row.removed_at or until) for row in found
    )
    return RemovedTurns(items, until, rows.filter(removed_at__gt=until).exists())


def mark_removed(thread: Thread) -> int:
    """Mark the turns of a deleted conversation for removal from its browser."""
    ids = Memory.objects.filter(thread=thread, root=None).values("id")
    return CapturedTurn.objects.filter(memory_id__in=ids, removed_at=None).update(removed_at=timezone.now())


def mark_kept(thread: Thread) -> int:
    """Note that the turns of a conversation that was brought back need not go from its browser, but for withdrawn ones."""
    ids = Memory.objects.filter(thread=thread, root=None).exclude(state=State.FORGOTTEN).values("id")
    return CapturedTurn.objects.filter(memory_id__in=ids).exclude(removed_at=None).update(removed_at=None)


def _purge_captures(doomed: PurgedTexts) -> int:
    rows = CapturedTurn.objects.filter(memory_id__in=doomed.ids)
    return rows.update(removed_at=timezone.now())


CAPTURES_PLACE: Final = TextPlace("captured turns", "captured turns", CapturedTurn, erases=_purge_captures)


class BrowserCopies(OutsideCopies):
    """Copies in paired browsers, deleted at the browser's next contact; a purge's certificate says so."""

    name = "browsers"

    def find(self, doomed: PurgedTexts) -> tuple[str, ...]:
        """How many paired browsers of the people whose turns they were have yet to connect."""
        users = CapturedTurn.objects.filter(memory_id__in=doomed.ids).values_list("user", flat=True)
        count = ApiToken.objects.filter(user__in=set(users), revoked_at=None).exclude(origin="").count()
        browsers = format_count(count, "paired browser")
        return (f"{browsers} may hold a copy until the next contact, which deletes it",) if count else ()
