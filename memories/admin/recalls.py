"""What was recalled: which questions agents ask, and what they got."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.text import Truncator

from access.actor import Actor
from access.admin.caller import actor_of
from access.admin.columns import column
from access.admin.day_range import DayRangeFilter
from access.admin.page import LociAdmin
from memories.admin.filters import GroupFilter
from memories.admin.log import ViaFilter
from memories.models import Memory, RecallLog
from memories.queries.visibility import as_q, listed_by
from memories.recall.recall_log import unpack_hits


@admin.register(RecallLog)
class RecallLogAdmin(LociAdmin):
    """One row per recall; kept for a while, then dropped."""

    named_by = "key"
    list_name = "Recalls"
    list_display = ("at", "question", "group", "actor", "via", "found", "mode", "took")
    list_display_links = ("at", "question")
    list_select_related = ("group",)
    list_filter = (GroupFilter, ViaFilter, "abstained", "degraded", ("at", DayRangeFilter))
    ordering = ("-key",)
    empty_hint = "Every recall leaves a row here: what was asked, what came back, how long it took."

    def visible(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        """Give the recalls in the groups the actor may enter, and the actor's own."""
        if actor.all_groups:
            return rows
        own = Q(actor=actor.name) | Q(actor__startswith=f"{actor.name}/")
        return rows.filter(own | Q(group__in=actor.roles))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show one recall with what it brought, as far as the caller may see that."""
        recall: RecallLog = self.get_or_404(request, object_id)
        scores = unpack_hits(bytes(recall.hits))
        seen = Memory.objects.filter(
            as_q(listed_by(actor_of(request), None)), key__in=[key for key, _ in scores]
        )
        rows = seen.select_related("group").in_bulk()
        hits = [(rows[key], score) for key, score in scores if key in rows]
        context = {"title": "Recall", "recall": recall, "hits": hits, "unseen": len(scores) - len(hits)}
        return self.render(request, "admin/memories/recalllog/page.html", context)

    @column("question")
    def question(self, recall: RecallLog) -> str:
        """Give the start of the question."""
        return Truncator(recall.query).chars(100)

    @column("brought")
    def found(self, recall: RecallLog) -> str:
        """Say how many memories came back."""
        return "nothing relevant" if recall.abstained else str(len(unpack_hits(bytes(recall.hits))))

    @column("ms", ordering="duration_ms")
    def took(self, recall: RecallLog) -> str:
        """Give the milliseconds."""
        return f"{recall.duration_ms:.1f}"
