"""Search as one types, for the admin's search box and for programs."""

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import BaseModel, Field

from loci_site.api.auth import actor_of
from loci_site.api.responses import answer
from loci_site.api.schemas import responses as out
from memories.browse.suggest import DEFAULT_LIMIT, MAX_LIMIT, MatchKind, Suggestion, suggest
from memories.types import State, Trust, Type

router = Router(tags=["recall"])


class SuggestQuery(BaseModel):
    """What was typed so far. With `by_meaning` by meaning alone: it takes the model, and is for a pause in typing."""

    q: str
    group: str | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT
    by_meaning: bool = False


class SuggestionOut(out.Document):
    """A memory that may be meant: a line of its text, and by what it was found."""

    id: str
    text: str
    how: MatchKind
    group: str
    type: Type
    state: State
    trust: Trust


class SuggestedOut(out.Document):
    """Suggestions, the likeliest first."""

    items: list[SuggestionOut]


@router.get("/suggest", response={**out.ERRORS, 200: SuggestedOut})
def suggest_memories(request: HttpRequest, wanted: Query[SuggestQuery]) -> HttpResponse:
    """Give memories in any state that what was typed so far may mean; nothing is logged or counted as recalled."""
    found = suggest(
        actor_of(request), wanted.q, group=wanted.group, limit=wanted.limit, by_meaning=wanted.by_meaning
    )
    return answer({"items": [_told(each) for each in found]})


def _told(each: Suggestion) -> dict[str, str]:
    memory = each.memory
    return {
        "id": str(memory.id),
        "text": each.text,
        "how": each.how,
        "group": memory.group.slug,
        "type": memory.type,
        "state": memory.state,
        "trust": memory.trust,
    }
