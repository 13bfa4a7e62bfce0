"""Bodies and answers of the routes for conversations."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from loci_site.api.schemas.answers import Document
from loci_site.api.schemas.fields import Timestamp
from loci_site.api.schemas.requests import Body, PageQuery
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


class RemovedQuery(BaseModel):
    """The `until` of the last answer; without it, everything."""

    since: Timestamp | None = None


class RemovedIn(Body):
    """The `until` of the last answer; null asks for everything."""

    since: Timestamp | None = None


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


class ChangeConversationIn(Body):
    """The fields to change; absent fields stay as they are."""

    tags: list[str] | None = None
    group: str | None = Field(None, description="The group to move it to.")
    reason: str = ""
