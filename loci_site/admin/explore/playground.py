"""The playground of recall: a question with all its options, and for each answer how it came to its place."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from access.actor import Actor
from access.admin.caller import actor_of
from access.errors import InvalidInput, LociError
from loci_site.admin.explore.page import asked, group_names, moments, page, shown_moment, with_values
from memories.browse.inspection import RecallReason, explain_for
from memories.models import Memory
from memories.queries.versions import find_memory
from memories.queries.visibility import as_q, listed_by
from memories.recall import Item, RecallRequest, RecallResult, recall
from memories.recall.fusion import MODES
from memories.recall.trace import Trace
from memories.recall.weights import TUNING
from memories.types import Type

MAX_DROPPED = 60  # of those left out, shown
BOOSTS = {
    "thread": "its thread answers too",
    "beside": "what was stored right before or after it answers as well",
    "date": "the question names its date",
    "time": "it says when, and the question asks that",
    "speaker": "the question names who speaks",
    "said": "the question says who said it, and this is by them",
    "length": "too short or too long to say much",
    "confidence": "how sure it is",
    "trust": "verified or disputed",
    "elsewhere": "another group's",
    "relation": "hangs on an entity that the question names",
}
FIELDS = ("q", "group", "mode", "type", "as_of", "known_at", "results", "budget", "why")
STEPS = {
    "question": "What the question was read as",
    "candidates": "What both searches found",
    "fuse": "Both scores became one",
    "relations": "Which relations were followed",
    "adjust": "What was added for dates, names, threads and trust",
    "relevance": "Whether there is an answer at all",
}


@dataclass(frozen=True)
class ScoreSegment:
    """A piece of a score's bar, of 100."""

    name: str
    tone: str
    start: float
    width: float


@dataclass(frozen=True)
class RankedAnswer:
    """One answer with its numbers. `boosts` are what was added, each with why."""

    rank: int
    item: Item
    numbers: Mapping[str, float]
    boosts: tuple[tuple[str, str, float], ...]
    bar: tuple[ScoreSegment, ...]
    why_url: str


@dataclass(frozen=True)
class DroppedCandidate:
    """A candidate that did not become an answer, and the step that took it out."""

    memory: Memory
    why: str
    score: float | None


def playground(request: HttpRequest) -> HttpResponse:
    """Ask as an agent would; `?why=` asks what became of one memory."""
    actor = actor_of(request)
    given = {name: asked(request, name) for name in FIELDS}
    groups = group_names(actor)
    if len(groups) == 1:  # there is nothing to choose, and a search from another page names no group
        given["group"] = given["group"] or groups[0]
    context: dict[str, Any] = {
        "title": "Recall playground",
        "given": given,
        "groups": groups,
        "modes": MODES,
        "types": Type.values,
        "here": with_values(reverse("admin:explore_recall"), **given),
    }
    if given["q"]:
        try:
            context |= _answered(request, actor, given)
        except LociError as refusal:
            context |= {"refusal": refusal}
    status = context["refusal"].status if "refusal" in context else 200
    return page(request, "playground.html", context, status=status)


def _answered(request: HttpRequest, actor: Actor, given: dict[str, str]) -> dict[str, Any]:
    narrowing = moments(request)
    wanted = RecallRequest(
        given["q"],
        group=given["group"] or None,
        narrowing=_narrowed(narrowing, given["type"]),
        max_results=_number(given, "results"),
        token_budget=_number(given, "budget"),
        mode=given["mode"] or None,
        explain=True,
    )
    answer = recall(actor, wanted)
    trace = answer.trace or Trace()
    shown = answer.items or answer.nearest
    dropped = _dropped(actor, trace)
    return {
        "answer": answer,
        "places": _places(answer, shown, given),
        "dropped": dropped,
        "more_dropped": max(0, len(trace.dropped) - len(dropped)),
        "steps": [(STEPS.get(step.name, step.name), _told(step.detail)) for step in trace.steps],
        "why": _why(actor, answer, trace, narrowing, given) if given["why"] else None,
        "moments": (shown_moment(narrowing.as_of), shown_moment(narrowing.known_at)),
    }


def _narrowed(narrowing: Any, type_: str) -> Any:
    return type(narrowing)(**{**vars(narrowing), "types": frozenset({type_} if type_ else ())})


def _number(given: dict[str, str], name: str) -> int | None:
    if not given[name]:
        return None
    try:
        return int(given[name])
    except ValueError:
        raise InvalidInput(f"'{given[name][:20]}' is no whole number.", field=name) from None


def _places(answer: RecallResult, shown: tuple[Item, ...], given: dict[str, str]) -> list[RankedAnswer]:
    most = max((item.score for item in shown), default=0.0)
    return [_place(rank, item, most, answer.mode, given) for rank, item in enumerate(shown, start=1)]


def _place(rank: int, item: Item, most: float, mode: str, given: dict[str, str]) -> RankedAnswer:
    numbers = item.numbers
    boosts = tuple((name, why, numbers[name]) for name, why in BOOSTS.items() if numbers.get(name))
    why_url = with_values(reverse("admin:explore_recall"), **{**given, "why": str(item.memory.id)})
    return RankedAnswer(rank, item, numbers, boosts, _bar(item.score, numbers, most, mode), why_url)


def _bar(score: float, numbers: Mapping[str, float], most: float, mode: str) -> tuple[ScoreSegment, ...]:
    """Lay what a score is made of side by side: meaning, words, and what was added."""
    if most <= 0:
        return ()
    if mode != "hybrid":
        return (ScoreSegment("score", "tone", 0.0, round(100 * max(score, 0) / most, 1)),)
    meaning = numbers.get("vector_share", 0.0) * numbers.get("vector", 0.0) / TUNING.full_cosine
    named = [
        ("meaning", "blue", meaning),
        ("words", "tone", numbers.get("fused", score) - meaning),
        ("added", "green", sum(max(0.0, numbers.get(name, 0.0)) for name in BOOSTS)),
    ]
    # What was taken off shortens the bar, so that its length is the score.
    scale = max(score, 0.0) / (sum(max(value, 0.0) for *_, value in named) or 1.0)
    found, start = list[ScoreSegment](), 0.0
    for name, tone, value in named:
        width = 100 * max(value, 0.0) * scale / most
        found.append(ScoreSegment(name, tone, round(start, 1), round(width, 1)))
        start += width
    return tuple(found)


def _dropped(actor: Actor, trace: Trace) -> list[DroppedCandidate]:
    """Give candidates that were left out, the nearest to the answer first."""
    keys = list(trace.dropped)[:MAX_DROPPED]
    rows = Memory.objects.filter(as_q(listed_by(actor, None)), key__in=keys).select_related("group")
    found = rows.in_bulk()
    return [
        DroppedCandidate(found[key], trace.dropped[key], trace.numbers.get(key, {}).get("final"))
        for key in keys
        if key in found
    ]


def _why(
    actor: Actor, answer: RecallResult, trace: Trace, narrowing: Any, given: dict[str, str]
) -> tuple[Memory | None, RecallReason | None, str]:
    """Say what became of one memory in this very answer, or where the question leaves it out."""
    try:
        memory = find_memory(actor, given["why"], field="why")
    except LociError as refusal:
        return None, None, str(refusal)
    for rank, item in enumerate(answer.items, start=1):
        if item.memory.key == memory.key:
            return memory, None, f"It is answer {rank}."
    if memory.key in trace.dropped:
        return memory, None, f"It was a candidate, and was left out: {trace.dropped[memory.key]}."
    why = explain_for(actor, memory, given["q"], narrowing=narrowing)
    return memory, why, f"In its own group, {memory.group.slug}: {why.reason}."


def _told(detail: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Give a step's values as words."""
    return [
        (name.replace("_", " "), _said(value))
        for name, value in detail.items()
        if value not in ("", [], None)
    ]


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
