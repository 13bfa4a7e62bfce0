"""Relations in the browser. They live in their own room, but who may see their ends is a rule of this one."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.text import Truncator

from access.actor import Actor
from access.admin.caller import actor_of
from access.admin.columns import column
from access.admin.page import RoomAdmin
from memories.admin.filters import GroupFilter
from memories.models import Memory
from memories.visibility import as_q, listed_by
from relations.models import Relation


@admin.register(Relation)
class RelationAdmin(RoomAdmin):
    """Subject –predicate→ object; read-only, stored by agents and maintenance."""

    list_name = "Relations"
    list_display = ("subject_text", "predicate", "object_text", "group", "sureness", "standing", "created_at")
    list_display_links = ("subject_text",)
    list_filter = (GroupFilter,)
    search_fields = ("predicate",)
    search_help_text = "A predicate"
    empty_hint = "Relations appear when agents store who or what things are, and how they hang together."
    ordering = ("-key",)

    def visible(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        """Give the relations of the actor's groups both of whose ends may be seen."""
        rows = rows.select_related("group", "subject", "object")
        visibility = listed_by(actor, None)
        if visibility.groups is None:
            return rows
        seen = Memory.objects.filter(as_q(visibility)).values("key")
        return rows.filter(group__in=visibility.groups, subject__in=seen, object__in=seen)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show one relation with the memories that prove it."""
        relation: Relation = self.get_or_404(request, object_id)
        seen = Memory.objects.filter(as_q(listed_by(actor_of(request), None)), proves__relation=relation)
        context = {"title": "Relation", "relation": relation, "evidence": seen.select_related("group")[:50]}
        return self.render(request, "admin/relations/relation/page.html", context)

    @column("subject")
    def subject_text(self, relation: Relation) -> str:
        """Give the start of the subject."""
        return Truncator(relation.subject.content).chars(60)

    @column("object")
    def object_text(self, relation: Relation) -> str:
        """Give the start of the object."""
        return Truncator(relation.object.content).chars(60)

    @column("confidence", ordering="confidence")
    def sureness(self, relation: Relation) -> str:
        """Give the confidence with two digits."""
        return f"{relation.confidence:.2f}"

    @column("state", labels={"current": "success"})
    def standing(self, relation: Relation) -> str:
        """Say whether it still counts."""
        if relation.retired_at is not None:
            return "retired"
        return "current" if relation.valid_to is None else "ended"
