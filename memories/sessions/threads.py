"""Threads of work and their saved checkpoints, as sessions read them."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Count, Max, Q, QuerySet
from django.db.models.functions import Coalesce

from access.actor import Actor
from access.groups import find_group
from access.models import Group
from memories.models import Checkpoint, Thread
from memories.queries.pages import DEFAULT_LIMIT, Page, page_of
from memories.queries.quoting import escape, fence_checkpoint
from memories.search.query_terms import STOP_WORDS, words

_MIN_WORD_CHARS: Final = 3
MAX_WORDS: Final = 8  # of a question, looked for in threads' names
_MAX_CANDIDATES: Final = 50
_MAX_MATCHED: Final = 5
MAX_RECENT: Final = 3  # conversations that a pack names besides


@dataclass(frozen=True)
class ThreadCheckpoints:
    """A thread with checkpoints ("": the group itself), their number, and when the newest was saved."""

    thread: str
    count: int
    newest: datetime


def latest_checkpoint(group: Group, thread: str = "", *, at: datetime | None = None) -> Checkpoint | None:
    """The newest checkpoint of a thread, or without a name of any in the group; with `at`, the newest by then."""
    rows = checkpoints_of(group, at).select_related("thread", "group")
    if thread:
        rows = rows.filter(thread__name=thread)
    return rows.order_by("-key").first()


def threads_with_checkpoints(group: Group, *, at: datetime | None = None) -> list[ThreadCheckpoints]:
    """The threads of a group with checkpoints (by `at`), the last saved first."""
    saved = checkpoints_of(group, at).values("thread__name")
    rows = saved.annotate(count=Count("key"), newest=Max("created_at"))
    found = [ThreadCheckpoints(row["thread__name"] or "", row["count"], row["newest"]) for row in rows]
    return sorted(found, key=lambda each: (each.newest, each.thread), reverse=True)


def checkpoints_of(group: Group, at: datetime | None = None) -> QuerySet[Checkpoint]:
    """The checkpoints of a group, saved by `at` if it is set."""
    rows = Checkpoint.objects.filter(group=group, held="")
    return rows.filter(created_at__lte=at) if at else rows


def list_checkpoints(
    actor: Actor, *, group: str | None, thread: str | None, cursor: str = "", limit: int = DEFAULT_LIMIT
) -> Page[Checkpoint]:
    """A page of the checkpoints of a group, newest first; of one thread ("": the group itself), or of all (None).

    Raises:
        InvalidInput: the cursor or the limit is not allowed.
        GroupRequired, GroupNotFound, NotPermitted: the group is missing or closed to the actor.
    """
    rows = checkpoints_of(find_group(actor, group)).select_related("group", "thread")
    if thread is not None:
        rows = rows.filter(thread__name=thread) if thread else rows.filter(thread=None)
    return page_of(rows, cursor=cursor, limit=limit)


def state_text(checkpoint: Checkpoint) -> str:
    """The state of a checkpoint as text: its only text, or JSON."""
    state = checkpoint.state
    return str(state.get("text") or json.dumps(state, ensure_ascii=False, sort_keys=True))


def fence_saved(checkpoint: Checkpoint, body: str) -> str:
    """A checkpoint with this text between its marks."""
    thread = checkpoint.thread.name if checkpoint.thread else ""
    return fence_checkpoint(body, author=checkpoint.author_name, when=checkpoint.created_at, thread=thread)


def thread_label(thread: str) -> str:
    """A thread's name in quotes; the group itself has none."""
    return f"'{escape(thread)}'" if thread else "the group itself"


@dataclass(frozen=True)
class MatchedThread:
    """A thread that matches a question or is recent, with its numbers of memories and checkpoints."""

    name: str
    memories: int
    checkpoints: int
    title: str = ""
    at: datetime | None = None  # of its last turn, if it is known


def matching_threads(
    group: Group, query: str, *, also: Collection[int] = (), at: datetime | None = None
) -> list[MatchedThread]:
    """Threads of the group with words of the question in name or title, or in `also` (keys); best match first.

    Then the most recent others with turns.
    """
    wanted = [word for word in words(query) if len(word) >= _MIN_WORD_CHARS and word not in STOP_WORDS]
    wanted = wanted[:MAX_WORDS]
    rows = Thread.objects.filter(group=group, deleted_at=None)
    rows = rows.filter(created_at__lte=at) if at else rows
    found: list[Thread] = []
    if wanted or also:
        fits = Q(key__in=also)
        for word in wanted:
            fits |= Q(name__icontains=word) | Q(title__icontains=word)
        found = list(rows.filter(fits).order_by("-key")[:_MAX_CANDIDATES])
        found.sort(key=lambda each: -sum(word in f"{each.name} {each.title}".lower() for word in wanted))
    best = {each.key: each for each in found[:_MAX_MATCHED]}
    recent = rows.exclude(title="").exclude(key__in=best).order_by(Coalesce("active_at", "created_at").desc())
    best |= {each.key: each for each in recent[:MAX_RECENT]}
    counted = (
        Thread.objects.filter(key__in=best)
        .values("key")
        .annotate(turns=Count("memories", distinct=True), saved=Count("checkpoints", distinct=True))
    )
    counts = {row["key"]: (row["turns"], row["saved"]) for row in counted}
    return [MatchedThread(each.name, *counts[key], each.title, each.active_at) for key, each in best.items()]
