"""Bodies and answers of the routes for conversations."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from loci_site.api.schemas.document import Document, StoredText
from loci_site.api.schemas.fields import Timestamp
from loci_site.api.schemas.requests import Body, PageQuery
from loci_site.api.schemas.responses import CertificateOut, MemoryOut
from memories.browse.suggest import MAX_LIMIT
from memories.sessions.conversations import ConversationFilter
from sources.captures.keep import SentConversation, SentTurn
from sources.captures.search import DEFAULT_LIMIT, PanelQuery

Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT)]


class PairIn(Body):
    """The six digits that My account shows, and a name for this browser."""

    code: str
    name: str = Field("", description="Shown in My account, such as 'Firefox on the laptop'.")


class PairedOut(Document):
    """The token, shown this once; it works with the Origin of this request alone."""

    token: str
    user: str
    origin: str
    scopes: list[str]
    version: str


class TurnIn(Body):
    """A turn, by the site's own id; the same id with another text is an edit."""

    id: str
    role: Literal["user", "assistant"]
    text: str
    at: Timestamp | None = Field(None, description="When it was said.")


class PlaceIn(Body):
    """A conversation of a site."""

    platform: str = Field(description="The site's host: claude.ai, chatgpt.com, gemini.google.com.")
    id: str = Field(description="The site's id of the conversation.")
    title: str = ""
    url: str = ""

    def conversation(self, turns: tuple[SentTurn, ...] = ()) -> SentConversation:
        """The conversation for the services."""
        return SentConversation(self.platform, self.id, turns, self.title, self.url)


class ConversationIn(PlaceIn):
    """A conversation and the turns of it to keep, in order."""

    turns: list[TurnIn]

    def with_turns(self) -> SentConversation:
        """The conversation with its turns for the services."""
        return self.conversation(
            tuple(SentTurn(each.id, each.role, each.text, each.at) for each in self.turns)
        )


class CapturesIn(Body):
    """Conversations, with at most 200 turns in all."""

    conversations: list[ConversationIn]


class KeptTurnOut(Document):
    """What became of a turn. All are settled: none needs to be sent again."""

    id: str
    outcome: Literal["created", "changed", "reinforced", "queued", "unchanged", "refused"]
    why: str = ""


class KeptConversationOut(Document):
    """Where a conversation is kept: its thread, and the group that this is in."""

    platform: str
    id: str
    thread: str
    group: str
    turns: list[KeptTurnOut]


class CapturedOut(Document):
    """The conversations in the order of the request."""

    conversations: list[KeptConversationOut]


class SelectionIn(Body):
    """A selected text of a conversation, to be one fact."""

    conversation: PlaceIn
    text: str
    tags: list[str] = []


class PanelIn(Body):
    """A question of the panel."""

    query: str
    platform: str = ""
    after: Timestamp | None = None
    before: Timestamp | None = None
    group: str | None = None
    limit: Limit = DEFAULT_LIMIT
    by_meaning: bool = Field(False, description="By meaning alone; suits a pause in typing.")

    def asked(self) -> PanelQuery:
        """The question for the service."""
        return PanelQuery(**self.model_dump())


class RelatedIn(Body):
    """The open conversation, and what was said last in it."""

    conversation: PlaceIn
    text: str = ""
    limit: Limit = DEFAULT_LIMIT


class PanelItemOut(Document):
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
    date: str
    excerpt: str
    marks: list[tuple[int, int]]
    how: str
    trust: str
    type: str
    untrusted: bool


class PanelOut(Document):
    """Items, likeliest first."""

    items: list[PanelItemOut]


class RemovedQuery(BaseModel):
    """The `until` of the last answer; without it, everything."""

    since: Timestamp | None = None


class RemovedIn(Body):
    """The `until` of the last answer; null asks for everything."""

    since: Timestamp | None = None


class RemovedTurnOut(Document):
    """A turn whose local copy has to go."""

    platform: str
    conversation: str
    turn: str
    at: str


class RemovedOut(Document):
    """The turns removed since then, oldest first. Pass `until` as the next `since`; with `more`, at once."""

    items: list[RemovedTurnOut]
    until: str
    more: bool


class ConversationsQuery(PageQuery):
    """Filters of the list. `q` are words of the title; times are those of the last turn."""

    group: str | None = None
    platform: str | None = Field(None, description="A site's host; empty: conversations of no site.")
    tag: str = ""
    q: str = ""
    after: Timestamp | None = None
    before: Timestamp | None = None

    def wanted(self) -> ConversationFilter:
        """The filters for the service."""
        return ConversationFilter(self.group, self.platform, self.tag, self.q, self.after, self.before)


class TurnsQuery(BaseModel):
    """`after`: the `next` of the page before."""

    after: Annotated[int, Field(ge=-1)] = -1


class ConversationOut(StoredText):
    """A conversation; `thread` is the name by which a recall narrows and agents read it."""

    id: str
    thread: str
    title: str
    platform: str
    url: str
    group: str
    tags: list[str]
    turns: int
    at: str
    summary: str


class ConversationPageOut(Document):
    """Conversations, newest first."""

    items: list[ConversationOut]
    next: str | None


class ReadConversationOut(Document):
    """A conversation with a page of its turns in order."""

    conversation: ConversationOut
    turns: list[MemoryOut]
    next: int | None


class ChangeConversationIn(Body):
    """The fields to change; absent fields stay as they are."""

    tags: list[str] | None = None
    group: str | None = Field(None, description="The group to move it to.")
    reason: str = ""


class ChangedConversationOut(Document):
    """The conversation afterwards. `queued` says why the move waits for a curator, `proposal` is the id that it waits under."""

    conversation: ConversationOut
    former_group: str
    memories: int
    queued: str
    proposal: str | None


class DeletedConversationOut(Document):
    """The number of memories that were forgotten, brought back or purged."""

    id: str
    memories: int
    dry_run: bool = False
    consequences: list[str] = None  # type: ignore[assignment]  # absent unless purged
    certificate: CertificateOut = None  # type: ignore[assignment]  # absent unless turns were purged
