"""Home: what waits, what was corrected, what was asked without an answer, who uses what, and what the night did."""

from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from access.actor import Actor
from access.admin.caller import actor_of
from access.groups import entered_groups
from loci_site.admin.dashboard.activity import list_activity
from loci_site.admin.dashboard.todo import first_steps, needs_care, review_url
from loci_site.admin.explore.page import store_url
from maintenance.admin.runs import may_undo
from maintenance.models import Run
from maintenance.runs.wording import format_counts
from memories.browse.corrections import find_corrections
from memories.browse.listing import ListFilter, list_memories
from memories.browse.recalls import AskedQuestion, grouped_questions
from memories.review.queue import may_review, review_deck

_WEEK = timedelta(days=7)
_NIGHT = timedelta(days=2)  # an older run says nothing of last night
_LINES = 8  # of a card
_CARDS = 3  # of the Review


def dashboard_context(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The context of Home, within the reader's rights. Called by unfold."""
    actor, since = actor_of(request), timezone.now() - _WEEK
    is_curator = may_review(actor)
    newest = list_memories(actor, ListFilter(), limit=_LINES).rows
    return context | {
        "title": gettext("Home"),
        "steps": first_steps(actor, is_empty=not newest),
        "groups": [group.slug for group in entered_groups(actor)],
        "newest": newest,
        "corrections": find_corrections(actor, since=since, limit=_LINES),
        "missed": _unanswered(actor, since),
        "care": needs_care() if actor.is_admin_of_all else [],
        "run": _last_run(actor),
        **(_deck(actor) if is_curator else {}),
        "is_curator": is_curator,
        "activity": list_activity(actor, since=since, limit=_LINES) if is_curator else [],
    }


def _deck(actor: Actor) -> dict[str, Any]:
    """The first cards of the Review, and its kinds with their numbers."""
    deck = review_deck(actor, limit=_CARDS)
    kinds = [(kind, count, review_url(kind)) for kind, count in deck.counts.items() if count.value]
    return {"deck": deck, "kinds": kinds}


def _unanswered(actor: Actor, since: datetime) -> list[tuple[AskedQuestion, str]]:
    """Questions without an answer, each with the URL that stores one; "" where the actor may not store."""
    asked = grouped_questions(actor, since=since, limit=_LINES, missed_only=True)
    return [(each, store_url(actor, each.question, each.recall.group)) for each in asked]


def _last_run(actor: Actor) -> dict[str, Any] | None:
    """The newest run of maintenance that the actor may see, its counts in words, and the URL of its undo."""
    runs = Run.objects.filter(kind="cycle", dry_run=False, started_at__gte=timezone.now() - _NIGHT)
    if not actor.all_groups:
        runs = runs.filter(group__in=list(actor.roles))
    run = runs.order_by("-key").first()
    if run is None:
        return None
    undo_url = reverse("admin:maintenance_run_undo", args=[run.id]) if may_undo(actor, run) else ""
    return {"run": run, "counts": format_counts(run.counts), "undo_url": undo_url}
