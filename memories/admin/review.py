"""The review page: one deck of what waits, decided card by card with one key each, or many at once.

The page's script fetches cards and posts decisions; all of it goes through the services that every face calls.
"""

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.views.decorators.http import require_GET, require_POST

from access.actor import CURATE, Actor
from access.admin.caller import actor_of
from access.errors import InvalidInput, LociError
from access.groups import entered_groups
from memories.draft import check_choice
from memories.queries.versions import parse_id
from memories.review.card import Card, link_card, memory_card
from memories.review.decide import AT_ONCE, DecisionResult, ReviewDecision, decide, decide_many
from memories.review.preview import effect_of
from memories.review.queue import CardKind, Deck, may_review, review_deck
from memories.review.undo import take_back

View = Callable[..., HttpResponse]
MAX_CHOSEN = 100  # at once; as many as the list shows
KEYS = (
    ("a", "approve: it counts from now on"),
    ("r", "reject: recall never returns it"),
    ("e", "edit the text"),
    ("m", "merge it into the one chosen beside it"),
    ("s", "let it replace the one chosen beside it"),
    ("x", "swap which of the two stays"),
    ("d", "dismiss: both may stay as they are"),
    ("1 – 4", "choose the one beside it"),
    ("j  →", "next, without deciding"),
    ("k  ←", "the one before"),
    ("c", "tick it, to decide many at once"),
    ("u", "undo the last decision"),
    ("w", "say why (kept in the audit log)"),
    ("?", "this list"),
)
SETS_ASIDE = {"approve": "Approve", "reject": "Reject", "dismiss": "Dismiss"}


@require_GET
def page_view(request: HttpRequest) -> HttpResponse:
    """Show the deck with its first card; `?kind=` and `?group=` narrow it."""
    actor = actor_of(request)
    kinds = [CardKind(kind) for kind in request.GET.getlist("kind") if kind in CardKind.__members__.values()]
    rooms = [room.slug for room in entered_groups(actor) if actor.may(CURATE, room.key)]
    group = request.GET.get("group", "")
    group = group if group in rooms else ""
    deck = review_deck(actor, kinds=kinds, group=group or None) if may_review(actor) else Deck((), {})
    context = {
        **admin.site.each_context(request),
        "title": "Review",
        "deck": deck,
        "kinds": [
            (kind, deck.counts[kind], kind in kinds) for kind in CardKind if deck.counts.get(kind) is not None
        ],
        "chosen_kinds": [str(kind) for kind in kinds],
        "rooms": rooms,
        "group": group,
        "may_review": may_review(actor),
        "keys": KEYS,
        "at_once": [(verb, SETS_ASIDE[verb]) for verb in AT_ONCE],
    }
    request.current_app = admin.site.name
    return TemplateResponse(request, "admin/memories/review/page.html", context)


@require_GET
def card_view(request: HttpRequest, kind: str, id_: UUID) -> HttpResponse:
    """Give one card as a part of the page."""
    card = _card(actor_of(request), kind, id_)
    context = {"card": card, "verbs": [choice.verb for choice in card.choices]}
    return TemplateResponse(request, "admin/memories/review/card.html", context)


@require_GET
def effect_view(request: HttpRequest) -> HttpResponse:
    """Give what recall returns before and after a decision, as a part of the card."""
    question = request.GET.get("question", "")[:500]
    try:
        effect = effect_of(actor_of(request), _decision(request.GET), question=question)
    except LociError as refusal:
        if refusal.status in (403, 404):
            raise
        context: dict[str, Any] = {"refusal": refusal}
        return TemplateResponse(request, "admin/memories/review/effect.html", context)
    return TemplateResponse(request, "admin/memories/review/effect.html", {"effect": effect})


@require_POST
def decide_view(request: HttpRequest) -> HttpResponse:
    """Carry one decision out; the answer names the rows of the log that undo it."""
    return JsonResponse(_told(decide(actor_of(request), _decision(request.POST))))


@require_POST
def undo_view(request: HttpRequest) -> HttpResponse:
    """Take decisions back, the last first, each as a whole; says which could not be."""
    actor, said, failed = actor_of(request), list[str](), list[str]()
    for entries in reversed(_entries(request.POST.get("entries", ""))):
        try:
            said += take_back(actor, entries).said
        except LociError as refusal:
            failed.append(str(refusal))
    status = 409 if failed and not said else 200
    return JsonResponse({"said": list(dict.fromkeys(said)), "failed": failed}, status=status)


@require_POST
def many_view(request: HttpRequest) -> HttpResponse:
    """Say what deciding many would do (`preview=1`), or decide them; what fails is listed beside."""
    verb = request.POST.get("verb", "")
    check_choice(verb, list(AT_ONCE), field="verb")
    chosen = request.POST.getlist("chosen")
    if not 1 <= len(chosen) <= MAX_CHOSEN:
        raise InvalidInput(f"Choose 1 to {MAX_CHOSEN} cards.", field="chosen")
    reason = request.POST.get("reason", "")
    decisions = [_of_chosen(verb, each, reason) for each in chosen]
    is_preview = request.POST.get("preview") == "1"
    found = decide_many(actor_of(request), decisions, dry_run=is_preview)
    said: dict[str, int] = {}
    for done in found.done:
        for line in done.said:
            said[line] = said.get(line, 0) + 1
    return JsonResponse(
        {
            "done": len(found.done),
            "said": [{"line": line, "times": times} for line, times in said.items()],
            "failed": [{"id": str(id_), "why": why} for id_, why in found.failed],
            "entries": [list(done.entries) for done in found.done],
        }
    )


def _card(actor: Actor, kind: str, id_: UUID) -> Card:
    if kind not in CardKind.__members__.values():
        raise Http404
    return link_card(actor, id_) if CardKind(kind).is_link else memory_card(actor, id_)


def _decision(said: QueryDict) -> ReviewDecision:
    """Give the decision that was posted; a browser sends line ends as CR LF."""
    names = ("verb", "id", "other", "link", "reason")
    content = said.get("content", "").replace("\r\n", "\n")
    return ReviewDecision(**{name: said.get(name, "") for name in names}, content=content)


def _of_chosen(verb: str, chosen: str, reason: str) -> ReviewDecision:
    """Give the decision about a card that was ticked, written "kind:id"."""
    kind, _, id_ = chosen.partition(":")
    parse_id(id_, field="chosen")
    if kind not in (CardKind.CONFLICT, CardKind.DUPLICATE):
        return ReviewDecision(verb, id_, reason=reason)
    return ReviewDecision(verb, link=id_, reason=reason)


def _entries(said: str) -> list[list[int]]:
    """Read the numbers of the log's rows, a list for each decision."""
    try:
        given = json.loads(said)
        lists = [[int(number) for number in entries] for entries in given]
    except (ValueError, TypeError):
        raise InvalidInput("The rows to be undone are no lists of numbers.", field="entries") from None
    if not 1 <= len(lists) <= MAX_CHOSEN:
        raise InvalidInput(f"Give 1 to {MAX_CHOSEN} decisions.", field="entries")
    return lists


def _told(done: DecisionResult) -> dict[str, Any]:
    return {"said": list(done.said), "id": str(done.id), "entries": list(done.entries)}


def _answering(view: View) -> View:
    """Let a refusal be JSON: the page's script shows it, where a redirect would hide it."""

    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except LociError as refusal:
            told = {"message": refusal.message, "hint": refusal.hint, "field": refusal.field or ""}
            return JsonResponse(told, status=refusal.status)

    return answered


def review_urls() -> list[URLPattern]:
    """Give the addresses of the review, below the admin's own."""
    wrap = admin.site.admin_view
    return [
        path("", wrap(page_view), name="review"),
        path("card/<str:kind>/<uuid:id_>/", wrap(card_view), name="review_card"),
        path("effect/", wrap(effect_view), name="review_effect"),
        path("decide/", wrap(_answering(decide_view)), name="review_decide"),
        path("undo/", wrap(_answering(undo_view)), name="review_undo"),
        path("many/", wrap(_answering(many_view)), name="review_many"),
    ]
