"""Routes for a browser extension: pairing, captures, the questions of its panel, and what its own copies must lose.

Every route checks Host and Origin. Questions are POSTs: a browser sends no Origin with an extension's GET, and their words
belong in no address.
"""

from typing import Annotated, Literal

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import Field

from access.actor import Actor, Via
from access.answers import Answer, ShownAs
from access.errors import NotAuthenticated, NotPermitted
from access.sign_in.client_address import address_of
from access.sign_in.lockouts import count_failed_token
from access.tokens.pairing import pair
from loci_site import __version__
from loci_site.api.auth import Token, actor_of
from loci_site.api.responses import Refused, answer, answer_write
from loci_site.api.schemas.answers import Document, list_of, responses, written
from loci_site.api.schemas.fields import Timestamp
from loci_site.api.schemas.requests import Body
from memories.browse.serializers import StoredOut
from memories.browse.suggest import MAX_LIMIT
from memories.store import Outcome
from sources.captures.keep import (
    KeptConversation,
    SentConversation,
    SentTurn,
    keep_conversations,
    remember_selection,
)
from sources.captures.removed import RemovedTurns, list_removed
from sources.captures.search import DEFAULT_LIMIT, PanelItem, PanelQuery, find_related, search_panel

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


class RelatedIn(Body):
    """The open conversation, and what was said last in it."""

    conversation: PlaceIn
    text: str = ""
    limit: Limit = DEFAULT_LIMIT


class RemovedIn(Body):
    """The `until` of the last answer; null asks for everything."""

    since: Timestamp | None = None


class ExtensionToken(Token):
    """`Authorization: Bearer loci_…` of a browser extension, or of a program that sends no Origin.

    A token of an extension works with the extension's Origin alone, and no other token with the Origin of an extension or a
    foreign page.
    """

    def authenticate(self, request: HttpRequest, token: str) -> Actor:
        """The token's Actor, if host and Origin are allowed."""
        actor = super().authenticate(request, token)
        _check_origin(request, actor)
        return actor


class _AnyExtension:
    """No authentication: the code in the body is the secret."""

    def __call__(self, request: HttpRequest) -> Actor:
        """An Actor without any right."""
        request.get_host()  # raises for a host that is not this server's
        return Actor(name="a browser", via=Via.REST)


def _check_origin(request: HttpRequest, actor: Actor) -> None:
    """Raise NotPermitted for a foreign Origin. The Origin of a bound token was checked before."""
    own = f"{request.scheme}://{request.get_host()}"  # get_host() also checks the Host header
    sent = request.headers.get("Origin", "")
    if actor.origin or not sent or sent == own or sent in settings.LOCI.server.allowed_origins:
        return
    raise NotPermitted(
        "This Origin may not use the token.", hint="Pair this browser's extension: My account shows a code."
    )


router = Router(tags=["captures"], auth=ExtensionToken())
STATUS = {Outcome.CREATED: 201, Outcome.QUEUED: 202}


class CapturedOut(Answer):
    """The conversations in the order of the request."""

    conversations: Annotated[tuple[KeptConversation, ...], ShownAs(lambda kept, _: kept)]


@router.post("/pair", auth=_AnyExtension(), response=responses(PairedOut, 201))
def pair_browser(request: HttpRequest, body: PairIn) -> HttpResponse:
    """Exchange the code of My account for a token of this browser extension, which works with its Origin alone. A code works
    once, for 5 minutes and 5 tries.
    """
    try:
        made = pair(body.code, origin=request.headers.get("Origin", ""), name=body.name)
    except NotAuthenticated as error:
        raise count_failed_token(error, address=address_of(request), via=Via.REST) from None
    token = made.token
    return answer(
        {
            "token": made.secret,
            "user": token.user.get_username(),
            "origin": token.origin,
            "scopes": token.scopes,
            "version": __version__,
        },
        status=201,
    )


@router.post("/captures", response=responses(CapturedOut))
def keep_captures(request: HttpRequest, body: CapturesIn) -> HttpResponse:
    """Keep turns of conversations. Sent again they change nothing; an id with another text becomes a new version. They live
    in a private group of the person until they are assigned to another.
    """
    kept = keep_conversations(actor_of(request), [each.with_turns() for each in body.conversations])
    return answer(CapturedOut.json(kept))


@router.post("/captures/remember", response=responses(written(StoredOut), 200, 201, 202))
def remember_captured_selection(request: HttpRequest, body: SelectionIn) -> HttpResponse:
    """Keep a selected text as one fact in the conversation's group. 202: it waits for a curator."""
    actor = actor_of(request)
    place = body.conversation.conversation()
    stored = remember_selection(actor, place, body.text, tags=body.tags)
    if stored.outcome == Outcome.REFUSED:
        raise Refused(f"It was not stored: {stored.why}", hint="Nothing was written.")
    return answer_write(actor, StoredOut.json(stored), status=STATUS.get(stored.outcome, 200))


@router.post("/captures/search", response=responses(list_of(PanelItem)))
def search_captures(request: HttpRequest, body: PanelIn) -> HttpResponse:
    """Find conversations by title, then turns and memories by words, or by meaning. Neither logged nor counted."""
    found = search_panel(actor_of(request), PanelQuery(**body.model_dump()))
    return answer({"items": [PanelItem.json(each) for each in found]})


@router.post("/captures/related", response=responses(list_of(PanelItem)))
def find_related_memories(request: HttpRequest, body: RelatedIn) -> HttpResponse:
    """What the person's groups know that is near the open conversation, without its own turns."""
    place = body.conversation.conversation()
    found = find_related(actor_of(request), place, body.text, limit=body.limit)
    return answer({"items": [PanelItem.json(each) for each in found]})


@router.get("/captures/removed", response=responses(RemovedTurns))
def read_removed_captures(request: HttpRequest, params: Query[RemovedIn]) -> HttpResponse:
    """As the POST, for programs without an Origin."""
    return answer(RemovedTurns.json(list_removed(actor_of(request), params.since)))


@router.post("/captures/removed", response=responses(RemovedTurns))
def list_removed_captures(request: HttpRequest, body: RemovedIn) -> HttpResponse:
    """The turns that were purged, or whose conversation was deleted, since then: local copies of them have to go."""
    return answer(RemovedTurns.json(list_removed(actor_of(request), body.since)))
