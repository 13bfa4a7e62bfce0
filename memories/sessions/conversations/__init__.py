"""Conversations as people use them: list and read here, `move.py` moves them, `change.py` tags, deletes and purges them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final
from urllib.parse import urlsplit
from uuid import UUID

from django.db.models import Count, F, Q, QuerySet
from django.db.models.functions import Coalesce

from access.actor import READ, Actor
from access.answers import Answer, ShownAs, Untrusted
from access.errors import NotFound, NotPermitted
from access.groups import find_group
from access.visibility import check_may_read
from memories.language.cleaning import clean_line
from memories.models import Memory, Thread
from memories.queries.expressions import HasTag
from memories.queries.pages import DEFAULT_LIMIT, Page, page_of
from memories.queries.versions import parse_id
from memories.queries.visibility import as_q, listed_by
from memories.store.withdrawn.left_out import find_left_out
from memories.types import State

_TURNS_SHOWN: Final = 100
LIVE: Final = frozenset({State.LIVE.value})
MAX_FILTER_CHARS: Final = 200
CONVERSATION: Final = "source_conversation"  # in the metadata of a note: where it was taken from


@dataclass(frozen=True)
class ConversationFilter:
    """Filters of the list. `words` occur in the title or name; times are those of the last turn.

    `platform` None: every conversation; "": those that no site has.
    """

    group: str | None = None
    platform: str | None = None
    tag: str = ""
    words: str = ""
    after: datetime | None = None
    before: datetime | None = None


@dataclass(frozen=True)
class _ListedConversation:
    """A thread in a list, with its number of live turns and the time of the last one."""

    thread: Thread
    turns: int

    @property
    def at(self) -> datetime:
        """When the last turn was said, or else the thread created."""
        return self.thread.active_at or self.thread.created_at

    @property
    def summary(self) -> str:
        """The text of its summary; empty without a live one."""
        made = self.thread.summary
        return made.content if made is not None and made.state == State.LIVE else ""


class ConversationOut(Answer):
    """A conversation; `thread` is the name by which a recall narrows and agents read it."""

    id: Annotated[UUID, ShownAs("thread.id")]
    thread: Annotated[str, ShownAs("thread.name")]
    title: Annotated[str, ShownAs("thread.title")]
    platform: Annotated[str, ShownAs("thread.platform")]
    url: Annotated[str, ShownAs("thread.url")]
    group: Annotated[str, ShownAs("thread.group.slug")]
    tags: Annotated[tuple[str, ...], ShownAs("thread.tags")]
    turns: int
    at: datetime
    summary: str
    untrusted: Untrusted


@dataclass(frozen=True)
class _ReadConversation:
    """A conversation with a page of its turns in order; `next` is the cursor of the following ones."""

    conversation: _ListedConversation
    turns: tuple[Memory, ...]
    next: int | None


def list_conversations(
    actor: Actor, wanted: ConversationFilter, *, cursor: str = "", limit: int = DEFAULT_LIMIT
) -> Page[Thread]:
    """A page of the conversations with turns in the groups that the actor may read, newest first.

    Raises:
        InvalidInput: the cursor or the limit is not allowed.
        GroupNotFound, NotPermitted: the group is missing or closed to the actor.
    """
    rows = readable(actor, wanted.group).filter(Q(platform__gt="") | Q(memories__isnull=False)).distinct()
    if wanted.platform is not None:
        rows = rows.filter(platform=wanted.platform)
    if wanted.tag:
        rows = rows.filter(Q(HasTag(F("tags"), wanted.tag)))
    for word in clean_line(wanted.words, field="q", max_chars=MAX_FILTER_CHARS).split()[:8]:
        rows = rows.filter(Q(title__icontains=word) | Q(name__icontains=word))
    dated = rows.annotate(at=Coalesce("active_at", "created_at"))
    if wanted.after:
        dated = dated.filter(at__gte=wanted.after)
    if wanted.before:
        dated = dated.filter(at__lt=wanted.before)
    return page_of(dated.select_related("group", "summary"), cursor=cursor, limit=limit)


def with_counts(actor: Actor, threads: tuple[Thread, ...]) -> list[_ListedConversation]:
    """The conversations with their numbers of turns that the actor may read."""
    visibility = listed_by(actor, None, states=LIVE)
    rows = Memory.objects.filter(as_q(visibility), thread__in=[thread.key for thread in threads])
    counts: Mapping[int | None, int] = dict(rows.values_list("thread").annotate(Count("key")).order_by())
    return [_ListedConversation(thread, counts.get(thread.key, 0)) for thread in threads]


def find_by_address(actor: Actor, address: str) -> Thread | None:
    """The readable conversation of a site with this web address, however it is spelt; None if there is none."""
    wanted = _bare_address(address)
    site, _, path = wanted.partition("/")
    name = f"{site}/{path.rpartition('/')[2]}"  # the address ends with the site's id of the conversation
    rows = readable(actor).filter(Q(name=name) | Q(url__icontains=wanted), platform=site) if path else ()
    return next((row for row in rows if row.name == name or _bare_address(row.url) == wanted), None)


def _bare_address(address: str) -> str:
    """A web address without scheme, `www.`, query, fragment and last slash; "" for another text."""
    try:
        parts = urlsplit(address.strip())
        host = parts.hostname if parts.scheme in ("http", "https") else ""
    except ValueError:  # brackets that hold no address
        host = ""
    return f"{host.removeprefix('www.')}{parts.path.rstrip('/')}" if host else ""


def labelled(actor: Actor, typed: Sequence[str], group: str | None = None) -> QuerySet[Thread]:
    """The readable threads with all these words in the title, or without a title in the name; newest first."""
    rows = readable(actor, group).select_related("group") if typed else Thread.objects.none()
    for word in typed:
        rows = rows.filter(Q(title__icontains=word) | Q(title="", name__icontains=word))
    return rows.order_by(Coalesce("active_at", "created_at").desc(), "-key")


def readable(actor: Actor, group: str | None = None) -> QuerySet[Thread]:
    """The threads of one group, or of all that the actor may read, without deleted ones.

    Raises:
        GroupNotFound, NotPermitted: the group is missing or closed to the actor.
    """
    rows = Thread.objects.filter(deleted_at=None)
    if group:
        return rows.filter(group=find_group(actor, group))
    check_may_read(actor)
    keys = actor.keys_where(READ)
    return rows if keys is None else rows.filter(group__in=keys)


def find_conversation(
    actor: Actor, id_: str | UUID, *, right: str = READ, is_deleted: bool = False
) -> Thread:
    """The thread with this id, in a group where the actor has the right.

    Raises:
        NotFound: there is none in a group that the actor may enter, or it is deleted (not deleted, with `is_deleted`).
        NotPermitted: the actor lacks the right there.
    """
    rows = Thread.objects.select_related("group", "summary", "owner").filter(id=parse_id(id_, field="id"))
    thread = rows.filter(deleted_at__isnull=not is_deleted).first()
    if thread is None or not actor.may_enter(thread.group_id):
        raise NotFound("No conversation of that id, or you don't have access.", field="id")
    lacking = next((each for each in (READ, right) if not actor.may(each, thread.group_id)), "")
    if lacking:
        raise NotPermitted(
            f"You may not {lacking} in the group '{thread.group.slug}'.",
            hint=f"Needs scope '{lacking}' and a role in the group that allows it.",
        )
    return thread


def read_conversation(actor: Actor, id_: str | UUID, *, after: int = -1) -> _ReadConversation:
    """A conversation with its live turns after the position `after`. Raises as find_conversation() does."""
    thread = find_conversation(actor, id_)
    visibility = listed_by(actor, thread.group, states=LIVE)
    rows = Memory.objects.filter(as_q(visibility), thread=thread, position__gt=after)
    found = list(rows.select_related("group", "thread").order_by("position", "key")[: _TURNS_SHOWN + 1])
    hidden = find_left_out(found, visibility)
    shown = tuple(row for row in found[:_TURNS_SHOWN] if row.key not in hidden)
    [conversation] = with_counts(actor, (thread,))
    after_these = found[_TURNS_SHOWN - 1].position if len(found) > _TURNS_SHOWN else None
    return _ReadConversation(conversation, shown, after_these)
