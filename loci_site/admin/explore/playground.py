"""The recall playground: a question with every option, and how each answer got its place."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy

from access.actor import Actor
from access.admin.caller import actor_of
from access.admin.columns import in_words
from access.errors import LociError
from access.visibility import Narrowing
from loci_site.admin.explore.page import (
    group_names,
    moment_texts,
    parse_number,
    query_narrowing,
    query_text,
    render_page,
    url_with_query,
)
from loci_site.admin.phrases import in_sentence
from memories.browse.inspection import RecallReason, explain_for
from memories.models import Memory
from memories.queries.versions import find_memory
from memories.queries.visibility import as_q, listed_by
from memories.recall import Item, RecallRequest, RecallResult, recall
from memories.recall.scoring import MODES, Trace
from memories.types import Type

_MAX_DROPPED = 60  # candidates listed as left out
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
FIELDS = ("q", "group", "mode", "type", "as_of", "known_at", "results", "budget", "why")
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
class _ScoreSegment:
    """A segment of a score's bar; `start` and `width` in percent of the bar."""

    name: str
    tone: str
    start: float
    width: float


@dataclass(frozen=True)
class _RankedAnswer:
    """One answer with its scores. `boosts`: name, reason and value of each adjustment."""

    rank: int
    item: Item
    numbers: Mapping[str, float]
    boosts: tuple[tuple[str, str, float], ...]
    bar: tuple[_ScoreSegment, ...]


@dataclass(frozen=True)
class _DroppedCandidate:
    memory: Memory
    why: str
    score: float | None


def playground(request: HttpRequest) -> HttpResponse:
    """Recall as an agent would; `?why=` explains what became of one memory."""
    actor = actor_of(request)
    given = {name: query_text(request, name) for name in FIELDS}
    groups = group_names(actor)
    if len(groups) == 1:  # no choice to make, and links from other pages name no group
        given["group"] = given["group"] or groups[0]
    context: dict[str, Any] = {
        "title": gettext("Recall playground"),
        "given": given,
        "groups": groups,
        "modes": MODES,
        "types": Type.values,
        "defaults": settings.LOCI.retrieval,
    }
    if given["q"]:
        try:
            narrowing = query_narrowing(request)
            given |= moment_texts(narrowing)
            context |= _answer_question(actor, given, narrowing)
        except LociError as refusal:
            context |= {"refusal": refusal}
    context["here"] = url_with_query(reverse("admin:explore_recall"), **given)
    status = context["refusal"].status if "refusal" in context else 200
    return render_page(request, "playground.html", context, status=status)


def _answer_question(actor: Actor, given: dict[str, str], narrowing: Narrowing) -> dict[str, Any]:
    """Recall with the given options; the result as the template's context."""
    query = RecallRequest(
        given["q"],
        group=given["group"] or None,
        narrowing=replace(narrowing, types=frozenset({given["type"]} if given["type"] else ())),
        max_results=parse_number(given, "results"),
        token_budget=parse_number(given, "budget"),
        mode=given["mode"] or None,
        explain=True,
    )
    answer = recall(actor, query)
    trace = answer.trace or Trace()
    dropped = _dropped_candidates(actor, trace)
    return {
        "answer": answer,
        "places": _rank_answers(answer),
        "dropped": dropped,
        "more_dropped": max(0, len(trace.dropped) - len(dropped)),
        "steps": [(STEPS.get(step.name, step.name), _describe_step(step.detail)) for step in trace.steps],
        "why": _explain_memory(actor, answer, trace, narrowing, given) if given["why"] else None,
    }


def _rank_answers(answer: RecallResult) -> list[_RankedAnswer]:
    """The answers, or the closest matches of an abstention, in order."""
    items = answer.items or answer.nearest
    top_score = max((item.score for item in items), default=0.0)
    ranked = []
    for rank, item in enumerate(items, start=1):
        named = ((name, why, item.numbers.get(name)) for name, why in _BOOSTS.items())
        boosts = tuple((in_words(name), str(why), value) for name, why, value in named if value)
        bar = _score_bar(item.score, item.numbers, top_score, answer.mode)
        ranked.append(_RankedAnswer(rank, item, item.numbers, boosts, bar))
    return ranked


def _score_bar(
    score: float, numbers: Mapping[str, float], top_score: float, mode: str
) -> tuple[_ScoreSegment, ...]:
    """The parts of a score side by side: meaning, words, boosts. The top score fills the bar."""
    if top_score <= 0:
        return ()
    if mode != "hybrid":
        return (_ScoreSegment("score", "tone", 0.0, round(100 * max(score, 0) / top_score, 1)),)
    parts = [
        ("meaning", "blue", numbers.get("meaning", 0.0)),
        ("words", "tone", numbers.get("words", 0.0)),
        ("boosts", "green", sum(max(0.0, numbers.get(name, 0.0)) for name in _BOOSTS)),
    ]
    # Penalties shorten the whole bar, so that its length is the score.
    scale = max(score, 0.0) / (sum(max(value, 0.0) for *_, value in parts) or 1.0)
    segments, start = list[_ScoreSegment](), 0.0
    for name, tone, value in parts:
        width = 100 * max(value, 0.0) * scale / top_score
        segments.append(_ScoreSegment(name, tone, round(start, 1), round(width, 1)))
        start += width
    return tuple(segments)


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


def _explain_memory(
    actor: Actor, answer: RecallResult, trace: Trace, narrowing: Narrowing, given: dict[str, str]
) -> tuple[Memory | None, RecallReason | None, str]:
    """What became of the memory `given["why"]` in this answer; else why the question does not find it."""
    try:
        memory = find_memory(actor, given["why"], field="why")
    except LociError as refusal:
        return None, None, str(refusal)
    for rank, item in enumerate(answer.items, start=1):
        if item.memory.key == memory.key:
            return memory, None, gettext("It is answer {rank}.").format(rank=rank)
    if memory.key in trace.dropped:
        dropped = in_sentence(trace.dropped[memory.key])
        return (
            memory,
            None,
            gettext("It was a candidate and was left out: {dropped}.").format(dropped=dropped),
        )
    why = explain_for(actor, memory, given["q"], narrowing=narrowing)
    line = gettext("In its own group, {slug}: {reason}.")
    return memory, why, line.format(slug=memory.group.slug, reason=in_sentence(why.reason))


def _describe_step(detail: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The non-empty values of a trace step as names and texts."""
    return [
        (name.replace("_", " "), describe_value(value))
        for name, value in detail.items()
        if value not in ("", [], None)
    ]


def describe_value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
