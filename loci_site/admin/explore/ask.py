"""Ask: a question in one group or in all, its answer as an agent gets it, and how each memory got its place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from access.actor import Actor
from access.admin.caller import actor_of
from access.admin.columns import in_words
from access.admin.page import render_in_site
from access.errors import LociError
from access.groups import entered_groups
from access.models import Group
from access.visibility import Narrowing
from loci_site.admin.explore.page import (
    parse_number,
    query_narrowing,
    query_text,
    query_texts,
    store_url,
    url_with_query,
)
from memories.browse.listing import ListFilter, list_memories
from memories.models import Memory
from memories.queries.visibility import as_q, listed_by
from memories.recall import MAX_QUERY_CHARS, Item, RecallRequest, RecallResult, recall
from memories.recall.abstention import UNSURE
from memories.recall.scoring import MODES, Trace
from memories.store.withdrawn.left_out import find_left_out_at_home
from memories.types import Type

_NEWEST = 30  # memories of a page before anything is asked
_MAX_DROPPED = 60  # candidates listed as left out
_LEAST_BOOST, _BOOSTS_TOLD = 0.005, 3  # in words; the numbers have the others
_BOOSTS = {
    "thread": gettext_lazy("another memory of its thread is an answer too"),
    "neighbours": gettext_lazy("the memory stored right before or after it is an answer too"),
    "date": gettext_lazy("the question names its date"),
    "speaker": gettext_lazy("the question names its speaker"),
    "length": gettext_lazy("too short or too long to be informative"),
    "confidence": gettext_lazy("its confidence"),
    "verified": gettext_lazy("a person verified it"),
    "elsewhere": gettext_lazy("it belongs to another group"),
    "identifier": gettext_lazy("it has an identifier of the question"),
    "number": gettext_lazy("it has a number of the question"),
    "tags": gettext_lazy("its tags are words of the question"),
    "importance": gettext_lazy("its importance"),
    "recency": gettext_lazy("how recently it was stored, among these"),
    "relation": gettext_lazy("related to an entity that the question names"),
    "newest": gettext_lazy("the newest note of its thread"),
}
FIELDS = ("q", "group", "mode", "type", "tags", "results", "budget")
STEPS = {
    "question": gettext_lazy("Parsed question"),
    "candidates": gettext_lazy("Candidates of both searches"),
    "score": gettext_lazy("Scores"),
    "relations": gettext_lazy("Relations followed"),
    "dates": gettext_lazy("Memories of the time that the question names"),
    "second hop": gettext_lazy("A second search, for the name in the best memory"),
    "judge": gettext_lazy("The best in the order of a judge"),
    "newest first": gettext_lazy("Of events that say the same, the newest first"),
    "verified first": gettext_lazy("Verified memories before texts that say nearly the same"),
    "relevance": gettext_lazy("Is anything relevant?"),
}


@dataclass(frozen=True)
class _RankedAnswer:
    """One answer with its scores. `boosts`: name, reason and value of each adjustment; `why` has it all in words."""

    why: str
    item: Item
    boosts: tuple[tuple[str, str, float], ...]


@dataclass(frozen=True)
class _DroppedCandidate:
    memory: Memory
    why: str
    score: float | None


def ask(request: HttpRequest) -> HttpResponse:
    """The answer as an agent gets it, and why each memory has its place; without a question the newest memories."""
    actor = actor_of(request)
    given = query_texts(request, *FIELDS, max_chars=MAX_QUERY_CHARS)
    groups = entered_groups(actor)
    if len(groups) == 1:  # no choice to make
        given["group"] = given["group"] or groups[0].slug
    context: dict[str, Any] = {
        "title": gettext("Ask"),
        "given": given,
        "groups": [group.slug for group in groups],
        "modes": MODES,
        "types": Type.values,
        "defaults": settings.LOCI.retrieval,
    }
    narrowing = Narrowing()
    try:
        narrowing = query_narrowing(request)
        if given["q"]:
            context |= _answer_question(actor, given, narrowing)
            here = next((group for group in groups if group.slug == given["group"]), None)
            context["store_url"] = store_url(actor, given["q"], here) if here or not given["group"] else ""
        else:
            filters = ListFilter(group=given["group"] or None)
            page = list_memories(actor, filters, cursor=query_text(request, "cursor"), limit=_NEWEST)
            context |= {
                "page": page,
                "more": url_with_query("", group=given["group"], cursor=page.next or ""),
            }
    except LociError as refusal:
        context |= {"refusal": refusal}
    context |= {
        "start": _slider_start([place.item.memory for place in context.get("places", ())], groups, narrowing),
        "narrowing": narrowing,
        "zone": str(timezone.get_current_timezone()),
    }
    status = context["refusal"].status if "refusal" in context else 200
    return render_in_site(request, "admin/explore/ask.html", context, status=status)


def _slider_start(memories: Sequence[Memory], groups: Sequence[Group], narrowing: Narrowing) -> datetime:
    """The moment from which the sliders begin: the first of what is shown and of the groups, with a margin."""
    now = timezone.now()
    seen = [
        narrowing.as_of,
        narrowing.known_at,
        *(row.moment for row in memories),
        *(row.created_at for row in groups),
    ]
    first = min([*filter(None, seen), now])
    return max(first, datetime(200, 1, 1, tzinfo=UTC)) - max((now - first) * 0.05, timedelta(days=1))


def _answer_question(actor: Actor, given: dict[str, str], narrowing: Narrowing) -> dict[str, Any]:
    """Recall with the given options, in all groups unless one is given; the result as the template's context."""
    tags = frozenset(filter(None, (tag.strip().lower() for tag in given["tags"].split(","))))
    query = RecallRequest(
        given["q"],
        group=given["group"] or None,
        everywhere=not given["group"],
        narrowing=replace(narrowing, types=frozenset({given["type"]} if given["type"] else ()), tags=tags),
        max_results=parse_number(given, "results"),
        token_budget=parse_number(given, "budget"),
        mode=given["mode"] or None,
        explain=True,
    )
    answer = recall(actor, query)
    if query.everywhere:  # recall itself leaves out what its one group has withdrawn
        hidden = find_left_out_at_home(item.memory for item in (*answer.items, *answer.nearest))
        answer = replace(
            answer, items=_without(answer.items, hidden), nearest=_without(answer.nearest, hidden)
        )
    trace = answer.trace or Trace()
    dropped = _dropped_candidates(actor, trace)
    return {
        "answer": answer,
        "doubt": answer.doubt if answer.doubt != UNSURE else "",  # which the confidence says
        "places": _rank_answers(answer),
        "dropped": dropped,
        "more_dropped": max(0, len(trace.dropped) - len(dropped)),
        "steps": [(STEPS.get(step.name, step.name), _describe_step(step.detail)) for step in trace.steps],
    }


def _without(items: tuple[Item, ...], keys: set[int]) -> tuple[Item, ...]:
    return tuple(item for item in items if item.memory.key not in keys)


def _rank_answers(answer: RecallResult) -> list[_RankedAnswer]:
    """The answers, or the closest matches of an abstention, in order."""
    ranked = []
    for item in answer.items or answer.nearest:
        named = ((name, why, item.numbers.get(name)) for name, why in _BOOSTS.items())
        boosts = tuple((in_words(name), str(why), value) for name, why, value in named if value)
        ranked.append(_RankedAnswer(_tell_why(item.numbers, boosts), item, boosts))
    return ranked


def _tell_why(numbers: Mapping[str, float], boosts: Sequence[tuple[str, str, float]]) -> str:
    """Which searches found it, in which place, and what raised or lowered its score most."""
    places = (
        (gettext("by words (place {place})"), numbers.get("keyword_rank")),
        (gettext("by meaning (place {place})"), numbers.get("vector_rank")),
    )
    strong = sorted(
        (boost for boost in boosts if abs(boost[2]) >= _LEAST_BOOST), key=lambda boost: -abs(boost[2])
    )
    parts = (
        (gettext("found {how}"), [line.format(place=f"{place:.0f}") for line, place in places if place]),
        (gettext("raised: {how}"), [why for _, why, value in strong[:_BOOSTS_TOLD] if value > 0]),
        (gettext("lowered: {how}"), [why for _, why, value in strong[:_BOOSTS_TOLD] if value < 0]),
    )
    return " · ".join(line.format(how="; ".join(how)) for line, how in parts if how)


def _dropped_candidates(actor: Actor, trace: Trace) -> list[_DroppedCandidate]:
    """Visible candidates that were left out, in the trace's order: the closest first."""
    keys = list(trace.dropped)[:_MAX_DROPPED]
    rows = Memory.objects.filter(as_q(listed_by(actor, None)), key__in=keys).select_related("group")
    found = rows.in_bulk()
    return [
        _DroppedCandidate(found[key], trace.dropped[key], trace.numbers.get(key, {}).get("final"))
        for key in keys
        if key in found
    ]


def _describe_step(detail: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The non-empty values of a trace step as names and texts."""
    return [
        (name.replace("_", " "), _describe_value(value))
        for name, value in detail.items()
        if value not in ("", [], None)
    ]


def _describe_value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
