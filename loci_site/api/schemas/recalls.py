"""Schemas of logged recalls, of feedback on what they returned, and of suggestions."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from loci_site.api.schemas.document import Document, StoredText
from loci_site.api.schemas.fields import Timestamp
from loci_site.api.schemas.requests import Body, PageQuery
from memories.browse.suggest import DEFAULT_LIMIT, MAX_LIMIT, MatchKind
from memories.types import State, Trust, Type


class RecallsQuery(PageQuery):
    """Filters of the recall log."""

    question: str = Field("", description="Part of the question.")
    group: str | None = None
    since: Timestamp | None = Field(None, description="Asked then or later.")


class HitOut(Document):
    """A memory that a recall returned, as it is now."""

    id: str
    score: float
    state: State


class LoggedRecallOut(StoredText):
    """A recall of the log; `hits` are the results that the caller may see, best first, `unseen` the number of the others."""

    id: str
    at: str
    question: str
    group: str | None
    actor: str
    via: str
    mode: str
    abstained: bool
    degraded: bool
    duration_ms: float
    hits: list[HitOut]
    unseen: int


class RecallLogPage(Document):
    """A page of logged recalls."""

    items: list[LoggedRecallOut]
    next: str | None


class FeedbackIn(Body):
    """Ids of recalled memories by what became of them."""

    used: list[str] = Field([], description="They helped.")
    wrong: list[str] = Field([], description="They misled, or did not fit the question.")
    recall: str = Field(
        "",
        description="Id of the recall; default: the caller's newest of the last 24 hours that returned the memory.",
    )


class VerdictOut(Document):
    """A stored verdict; `recall` is null if no recall of the caller that returned the memory is known."""

    id: str
    verdict: Literal["used", "wrong"]
    recall: str | None


class FeedbackOut(Document):
    """The verdicts; `recorded` counts those that were not stored before."""

    recorded: int
    feedback: list[VerdictOut]


class SuggestQuery(BaseModel):
    """The text typed so far. `by_meaning` searches by meaning only: it needs the model, and suits a pause in typing."""

    q: str
    group: str | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT
    by_meaning: bool = False


class SuggestionOut(Document):
    """A suggested memory: a line of its text with the ranges of characters that match, and the kind of match.

    `date` is the day that the memory is valid from, else that it was stored.
    """

    id: str
    text: str
    marks: list[tuple[int, int]]
    how: MatchKind
    group: str
    type: Type
    state: State
    trust: Trust
    date: str
    thread: str | None
    source: str


class SuggestedOut(Document):
    """Suggestions, best first."""

    items: list[SuggestionOut]
