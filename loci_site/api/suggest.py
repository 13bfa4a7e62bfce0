"""Suggestions while a person types, for the admin's search box and for programs."""

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import BaseModel, Field

from loci_site.api.auth import actor_of
from loci_site.api.responses import answer
from loci_site.api.schemas import responses as out
from loci_site.api.schemas.document import Document
from memories.browse.suggest import DEFAULT_LIMIT, MAX_LIMIT, MatchKind, Suggestion, suggest
from memories.types import State, Trust, Type

router = Router(tags=["recall"])


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


@router.get("/suggest", response={**out.ERRORS, 200: SuggestedOut})
def suggest_memories(request: HttpRequest, params: Query[SuggestQuery]) -> HttpResponse:
    """Suggest memories in any state for the text typed so far. Suggestions are neither logged nor counted as recalls."""
    found = suggest(
        actor_of(request), params.q, group=params.group, limit=params.limit, by_meaning=params.by_meaning
    )
    return answer({"items": [render_suggestion(each) for each in found]})


def render_suggestion(each: Suggestion) -> dict[str, Any]:
    """A suggestion as JSON."""
    memory = each.memory
    return {
        "id": str(memory.id),
        "text": each.text,
        "marks": each.excerpt.marks,
        "how": each.how,
        "group": memory.group.slug,
        "type": memory.type,
        "state": memory.state,
        "trust": memory.trust,
        "date": memory.moment.date().isoformat(),
        "thread": memory.thread.name if memory.thread else None,
        "source": memory.source,
    }
