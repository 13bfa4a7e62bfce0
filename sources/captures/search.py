"""Search for the extension's panel: conversations by title, turns and memories by words or meaning."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Final, Literal

from access.actor import Actor
from access.answers import Answer, Day, ShownAs, Untrusted
from access.visibility import Narrowing, check_may_read
from memories.browse.suggest import MAX_LIMIT, Excerpt, excerpt_of, suggest
from memories.language.cleaning import clean_line
from memories.models import Memory, Thread
from memories.search.query_terms import words
from memories.sessions.conversations import labelled
from memories.types import State
from sources.captures.keep import PLATFORM, SentConversation, check_name

DEFAULT_LIMIT: Final = 10
MAX_CHARS, MAX_WORDS = 200, 8
_MAX_TITLES: Final = 5  # conversations found by their titles, before what they hold
_MAX_ASKED_CHARS: Final = 2000  # of an open conversation, compared with what is stored
LIVE: Final = frozenset({State.LIVE.value})


@dataclass(frozen=True)
class PanelQuery:
    """A query of the panel. `platform` limits it to one site; times are those of the turns."""

    query: str
    platform: str = ""
    after: datetime | None = None
    before: datetime | None = None
    group: str | None = None
    limit: int = DEFAULT_LIMIT
    by_meaning: bool = False


@dataclass(frozen=True)
class PanelItem(Answer):
    """A conversation found by its title, a turn of one, or a memory of another origin.

    `excerpt` is a line of the text, `marks` the ranges of characters in it that match.
    """

    kind: Literal["conversation", "turn", "memory"]
    id: str
    title: str
    platform: str
    url: str
    thread: str
    group: str
    at: Annotated[Day, ShownAs(name="date")]
    excerpt: str
    marks: tuple[tuple[int, int], ...]
    how: str
    trust: str = ""
    type: str = ""
    untrusted: Untrusted = True


def search_panel(actor: Actor, asked: PanelQuery) -> list[PanelItem]:
    """Conversations with the words in their title, then turns and memories, best first; not logged or counted.

    Raises:
        NotPermitted, GroupNotFound: the actor may not read, or not there.
        InvalidInput: a value is not allowed.
    """
    check_may_read(actor)
    if asked.platform:
        check_name(asked.platform, PLATFORM, field="platform", allowed="a host such as claude.ai")
    typed = clean_line(asked.query, field="query", max_chars=MAX_CHARS)
    narrowing = Narrowing(
        source=f"browser:{asked.platform}" if asked.platform else "", after=asked.after, before=asked.before
    )
    found = suggest(
        actor, typed, group=asked.group, limit=min(asked.limit, MAX_LIMIT), by_meaning=asked.by_meaning,
        narrowing=narrowing, states=LIVE,
    )  # fmt: skip
    titled = [] if asked.by_meaning else _find_by_title(actor, replace(asked, query=typed))
    items = [*titled, *(_item_of(each.memory, each.excerpt, each.how) for each in found)]
    return items[: asked.limit]


def _find_by_title(actor: Actor, asked: PanelQuery) -> list[PanelItem]:
    wanted = words(asked.query)[:MAX_WORDS]
    rows = labelled(actor, wanted, asked.group).exclude(title="")
    rows = rows.filter(platform=asked.platform) if asked.platform else rows
    rows = rows.filter(active_at__gte=asked.after) if asked.after else rows
    rows = rows.filter(active_at__lt=asked.before) if asked.before else rows
    titled = [(row, excerpt_of(row.title, wanted)) for row in rows[:_MAX_TITLES]]
    return [
        PanelItem(
            "conversation", str(row.id), row.title, row.platform, row.url, row.name, row.group.slug,
            row.active_at or row.created_at, found.text, found.marks, "title",
        )
        for row, found in titled
    ]  # fmt: skip


def find_related(
    actor: Actor, sent: SentConversation, text: str, *, limit: int = DEFAULT_LIMIT
) -> list[PanelItem]:
    """Memories of the actor's groups near the open conversation in meaning, without its own turns."""
    check_may_read(actor)
    asked = " ".join(f"{sent.title} {text[-_MAX_ASKED_CHARS:]}".split())
    if len(asked) > MAX_CHARS:
        asked = asked[-MAX_CHARS:].partition(" ")[2]  # at whole words
    found = suggest(actor, asked, limit=MAX_LIMIT, by_meaning=True, states=LIVE)
    items = (_item_of(each.memory, each.excerpt, each.how) for each in found)
    return [item for item in items if item.thread != sent.thread][:limit]


def _item_of(memory: Memory, excerpt: Excerpt, how: str) -> PanelItem:
    """A memory as an item; a captured one has its conversation's title and address."""
    thread = memory.thread or Thread()
    return PanelItem(
        kind="turn" if thread.platform else "memory",
        id=str(memory.id),
        title=thread.title,
        platform=thread.platform,
        url=thread.url,
        thread=thread.name,
        group=memory.group.slug,
        at=memory.moment,
        excerpt=excerpt.text,
        marks=excerpt.marks,
        how=how,
        trust=memory.trust,
        type=memory.type,
    )
