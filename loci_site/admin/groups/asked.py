"""What was asked in a group: its recalls as questions, those without an answer first."""

from datetime import timedelta
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from access.actor import CURATE, WRITE, Actor
from access.models import Group
from loci_site.admin.groups.tabs import render_tab
from memories.browse.recalls import grouped_questions

DAYS: Final = 90
_SHOWN: Final = 100


def show_asked(request: HttpRequest, actor: Actor, group: Group) -> HttpResponse:
    """The questions of the last DAYS; a reader who may not curate sees her own."""
    since = timezone.now() - timedelta(days=DAYS)
    asked = grouped_questions(actor, group=group, since=since, limit=_SHOWN)
    context = {
        # Asked most often first: an answer helps most there.
        "missed": sorted((each for each in asked if each.recall.abstained), key=lambda each: -each.times),
        "answered": [each for each in asked if not each.recall.abstained],
        "days": DAYS,
        "sees_all": actor.may(CURATE, group.key),
        "may_write": actor.may(WRITE, group.key) and not group.archived,
    }
    return render_tab(request, group, "asked", context)
