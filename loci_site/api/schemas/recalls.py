"""Schemas of logged recalls and of feedback on what they returned."""

from typing import Literal

from pydantic import Field

from loci_site.api.schemas.document import Document, StoredText
from loci_site.api.schemas.fields import Timestamp
from loci_site.api.schemas.requests import Body, PageQuery
from memories.types import State


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
        description="Id of the recall; default: the caller's newest of the last day that returned the memory.",
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
