"""The recall log in the admin: the queries that agents asked, and their results."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext, gettext_lazy

from access.actor import Actor
from access.admin.caller import actor_of
from access.admin.columns import column, shorten
from access.admin.day_range import DayRangeFilter
from access.admin.page import LociAdmin
from memories.admin.filters import GroupFilter
from memories.admin.log import ViaFilter
from memories.browse.recalls import visible_recalls, with_hits
from memories.models import RecallLog
from memories.recall_log import unpack_hits


@admin.register(RecallLog)
class RecallLogAdmin(LociAdmin):
    """One row per recall, kept for maintenance.recall_log_days."""

    named_by = "key"
    list_name = gettext_lazy("Recalls")
    list_display = ("at", "question", "group", "actor", "via", "result_count", "duration")
    list_display_links = ("at", "question")
    list_select_related = ("group",)
    list_filter = (GroupFilter, ViaFilter, "abstained", "degraded", ("at", DayRangeFilter))
    ordering = ("-key",)
    empty_hint = gettext_lazy("Every recall is logged here: the question, the results and the time it took.")

    def visible(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        return rows.filter(visible_recalls(actor))

    def show_row(self, request: HttpRequest, recall: RecallLog) -> HttpResponse:
        """Show one recall with those of its results that the caller may see."""
        [logged] = with_hits(actor_of(request), [recall])
        context = {"title": gettext("Recall"), "recall": recall, "hits": logged.hits, "unseen": logged.unseen}
        return self.render(request, "admin/memories/recalllog/page.html", context)

    @column(gettext_lazy("question"))
    def question(self, recall: RecallLog) -> str:
        return shorten(recall.query, 100)

    @column(gettext_lazy("results"))
    def result_count(self, recall: RecallLog) -> str:
        return gettext("nothing relevant") if recall.abstained else str(len(unpack_hits(bytes(recall.hits))))

    @column(gettext_lazy("time (ms)"), ordering="duration_ms")
    def duration(self, recall: RecallLog) -> str:
        return f"{recall.duration_ms:.1f}"
