"""The review page: one deck of open decisions, decided card by card with one key each, or many at once.

The page's script fetches cards and posts decisions to these views, which call the services that every interface uses.
"""

import json
from collections import Counter
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from access.actor import CURATE
from access.admin.caller import actor_of
from access.admin.form_errors import refusing_as_json
from access.admin.page import render_in_site
from access.errors import InvalidInput, LociError
from access.groups import entered_groups
from memories.draft import check_choice
from memories.queries.versions import parse_id
from memories.review.card import link_card, memory_card, proposal_card
from memories.review.decide import AT_ONCE, CHOICES, ReviewDecision, decide, decide_many, take_back
from memories.review.preview import preview_effect
from memories.review.queue import (
    CardKind,
    Deck,
    find_sent_by,
    find_stale_proposals,
    may_review,
    review_deck,
)

_MAX_CHOSEN = 100  # cards at once, as many as the list shows
_KEYS = [(choice.key, gettext_lazy(choice.help)) for choice in CHOICES.values() if choice.key]
_KEYS.insert(-1, ("x", gettext_lazy("swap which of the two stays")))  # before 'dismiss'
_KEYS += [
    ("1 – 4", gettext_lazy("select another memory")),
    ("j  →", gettext_lazy("next card, without deciding")),
    ("k  ←", gettext_lazy("previous card")),
    ("c", gettext_lazy("tick the card, to decide many at once")),
    ("u", gettext_lazy("undo the last decision")),
    ("w", gettext_lazy("give a reason (kept in the audit log)")),
    ("?", gettext_lazy("this list")),
]
# For the page's script.
_DECISIONS = [
    {
        "verb": choice.verb,
        "key": choice.key,
        "label": gettext_lazy(choice.label),
        "past": gettext_lazy(choice.past),
        "takesOther": choice.takes_other,
    }
    for choice in CHOICES.values()
]


@require_GET
def _count_view(request: HttpRequest) -> JsonResponse:
    """The number of cards in the caller's deck, for the sidebar; 0 for who has none."""
    actor = actor_of(request)
    counts = review_deck(actor, limit=0).counts.values() if may_review(actor) else ()
    return JsonResponse(
        {"count": sum(each.value for each in counts), "more": any(each.is_capped for each in counts)}
    )


@require_GET
def review_page(request: HttpRequest) -> HttpResponse:
    """Show the deck with its first card; `?kind=` and `?group=` filter it."""
    actor = actor_of(request)
    kinds = [CardKind(kind) for kind in request.GET.getlist("kind") if kind in CardKind.__members__.values()]
    groups = [group.slug for group in entered_groups(actor, CURATE)]
    chosen = request.GET.get("group", "")
    chosen = chosen if chosen in groups else ""
    deck = review_deck(actor, kinds=kinds, group=chosen or None) if may_review(actor) else Deck((), {})
    context = {
        "title": gettext("Review"),
        "deck": deck,
        "kinds": [
            (kind, deck.counts[kind], kind in kinds) for kind in CardKind if deck.counts.get(kind) is not None
        ],
        "chosen_kinds": [str(kind) for kind in kinds],
        "groups": groups,
        "chosen_group": chosen,
        "may_review": may_review(actor),
        "keys": _KEYS,
        "select": gettext("Select {content}"),
        "decisions": _DECISIONS,
        "at_once": [(verb, gettext(CHOICES[verb].label)) for verb in AT_ONCE],
    }
    return render_in_site(request, "admin/memories/review/page.html", context)


@require_GET
def _card_view(request: HttpRequest, kind: str, id_: UUID) -> HttpResponse:
    """One card as a fragment of the page."""
    if kind not in CardKind.__members__.values():
        raise Http404
    actor = actor_of(request)
    if kind == CardKind.PROPOSAL:
        card = proposal_card(actor, id_)
    else:
        card = link_card(actor, id_) if CardKind(kind).is_link else memory_card(actor, id_)
    token = card.origin.token_id
    sent = find_sent_by(actor, token, limit=_MAX_CHOSEN) if token else []
    return TemplateResponse(request, "admin/memories/review/card.html", {"card": card, "sent": len(sent)})


@require_GET
def _effect_view(request: HttpRequest) -> HttpResponse:
    """The results of recall before and after a decision, as a fragment of the card."""
    query = request.GET.get("question", "")[:500]
    try:
        effect = preview_effect(actor_of(request), _read_decision(request.GET), question=query)
    except LociError as refusal:
        if refusal.status in (403, 404):
            raise
        context: dict[str, Any] = {"refusal": refusal}
        return TemplateResponse(request, "admin/memories/review/effect.html", context)
    return TemplateResponse(request, "admin/memories/review/effect.html", {"effect": effect})


@require_POST
def _decide_view(request: HttpRequest) -> HttpResponse:
    """Carry out one decision; the response has the names of the audit rows that undo it."""
    done = decide(actor_of(request), _read_decision(request.POST))
    return JsonResponse(
        {
            "said": list(done.consequences),
            "id": str(done.id),
            "entries": list(done.entries),
            "stale": _stale_ids(request),
        }
    )


@require_POST
def _undo_view(request: HttpRequest) -> HttpResponse:
    """Undo decisions, last first, each as a whole; the response lists those that could not be undone."""
    actor, lines, failed = actor_of(request), list[str](), list[str]()
    for entries in reversed(parse_entries(request.POST.get("entries", ""))):
        try:
            lines += take_back(actor, entries)
        except LociError as refusal:
            failed.append(str(refusal))
    status = 409 if failed and not lines else 200
    body = {"said": list(dict.fromkeys(lines)), "failed": failed, "stale": _stale_ids(request)}
    return JsonResponse(body, status=status)


@require_POST
def _many_view(request: HttpRequest) -> HttpResponse:
    """Carry out many decisions, or preview them (`preview=1`); the response lists those that failed.

    They are about the cards that are `chosen`, or about all that a `token` sent.
    """
    verb = request.POST.get("verb", "")
    check_choice(verb, AT_ONCE, field="verb")
    chosen = request.POST.getlist("chosen")
    if token := request.POST.get("token", ""):
        sent = find_sent_by(actor_of(request), parse_id(token, field="token"), limit=_MAX_CHOSEN)
        chosen = [f"{kind}:{id_}" for kind, id_ in sent]
    if not 1 <= len(chosen) <= _MAX_CHOSEN:
        raise InvalidInput(
            gettext("Choose 1 to {max_chosen} cards.").format(max_chosen=_MAX_CHOSEN), field="chosen"
        )
    reason = request.POST.get("reason", "")
    decisions = [_parse_chosen(verb, each, reason) for each in chosen]
    is_preview = request.POST.get("preview") == "1"
    found = decide_many(actor_of(request), decisions, dry_run=is_preview)
    times = Counter(line for done in found.done for line in done.consequences)
    return JsonResponse(
        {
            "done": len(found.done),
            "said": [{"line": line, "times": count} for line, count in times.items()],
            "failed": [{"id": str(id_), "why": why} for id_, why in found.failed],
            "entries": [list(done.entries) for done in found.done],
            "stale": [] if is_preview else _stale_ids(request),
        }
    )


def _stale_ids(request: HttpRequest) -> list[str]:
    """The proposals that the page has to mark, since a decision changed what they are about."""
    return [str(id_) for id_ in find_stale_proposals(actor_of(request))]


def _read_decision(fields: QueryDict) -> ReviewDecision:
    """The decision in the request's fields; a browser sends line ends as CR LF."""
    names = ("verb", "id", "other", "link", "reason", "proposal")
    content = fields.get("content", "").replace("\r\n", "\n")
    return ReviewDecision(**{name: fields.get(name, "") for name in names}, content=content)


def _parse_chosen(verb: str, chosen: str, reason: str) -> ReviewDecision:
    """The decision about a ticked card, written "kind:id"."""
    kind, _, id_ = chosen.partition(":")
    parse_id(id_, field="chosen")
    if kind == CardKind.PROPOSAL:
        return ReviewDecision(verb, proposal=id_, reason=reason)
    if kind not in (CardKind.CONFLICT, CardKind.DUPLICATE):
        return ReviewDecision(verb, id_, reason=reason)
    return ReviewDecision(verb, link=id_, reason=reason)


def parse_entries(text: str) -> list[list[str]]:
    """The names of audit rows from JSON, a list for each decision."""
    try:
        lists = json.loads(text)
    except (ValueError, RecursionError):
        lists = None
    if not isinstance(lists, list) or not all(
        isinstance(names, list) and all(isinstance(name, str) for name in names) for names in lists
    ):
        raise InvalidInput("'entries' is not a list of lists of names of audit rows.", field="entries")
    if not 1 <= len(lists) <= _MAX_CHOSEN:
        raise InvalidInput(
            gettext("Send 1 to {max_chosen} decisions.").format(max_chosen=_MAX_CHOSEN), field="entries"
        )
    return lists


def review_urls() -> list[URLPattern]:
    """The URLs of the review, below the admin's own."""
    wrap = admin.site.admin_view
    return [
        path("", wrap(review_page), name="review"),
        path("count/", wrap(_count_view), name="review_count"),
        path("card/<str:kind>/<uuid:id_>/", wrap(_card_view), name="review_card"),
        path("effect/", wrap(_effect_view), name="review_effect"),
        path("decide/", wrap(refusing_as_json(_decide_view)), name="review_decide"),
        path("undo/", wrap(refusing_as_json(_undo_view)), name="review_undo"),
        path("many/", wrap(refusing_as_json(_many_view)), name="review_many"),
    ]
