"""Relations in the browser. They live in their own room, but who may see their ends is a rule of this one."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.text import Truncator

from access.actor import Actor
from access.admin.caller import actor_of
from access.admin.columns import column
from access.admin.page import LociAdmin, LociChangeList
from memories.admin.filters import GroupFilter
from memories.entities.statements import hidden_ends, show_heads
from memories.models import Memory
from memories.queries.visibility import as_q, listed_by
from memories.types import State
from relations.models import Relation


class RelationList(LociChangeList):
    """A page of relations, whose ends are the versions that count now."""

    def get_results(self, request: HttpRequest) -> None:
        """Cut the page out of the rows."""
        super().get_results(request)
        rows: Sequence[Relation] = self.result_list  # fetched once, and shown from that
        show_heads(rows)


@admin.register(Relation)
class RelationAdmin(LociAdmin):
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
        rows = rows.filter(group__in=visibility.groups)
        # An end that is its own head is judged by the database; the few that were replaced, by their heads.
        seen = Memory.objects.filter(as_q(visibility), superseded_by=None).values("key")
        replaced = _replaced_ends(rows)
        shown = replaced - hidden_ends(actor, replaced)
        return rows.filter(
            Q(subject__in=seen) | Q(subject__in=shown), Q(object__in=seen) | Q(object__in=shown)
        )

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[LociChangeList]:
        """List relations with their ends as they stand now."""
        return RelationList

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show one relation with the memories that prove it."""
        relation: Relation = self.get_or_404(request, object_id)
        show_heads([relation])
        seen = Memory.objects.filter(as_q(listed_by(actor_of(request), None)), proves__relation=relation)
        context = {"title": "Relation", "relation": relation, "evidence": seen.select_related("group")[:50]}
        return self.render(request, "admin/relations/relation/page.html", context)

    @column("subject")
    def subject_text(self, relation: Relation) -> str:
        """Give the start of the subject."""
        return _end_text(relation.subject)

    @column("object")
    def object_text(self, relation: Relation) -> str:
        """Give the start of the object."""
        return _end_text(relation.object)

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


def _replaced_ends(rows: QuerySet[Relation]) -> set[int]:
    """Give the ends, as keys of roots, in whose place another version or memory stands."""
    subjects = rows.filter(subject__superseded_by__isnull=False).values_list("subject", flat=True)
    objects = rows.filter(object__superseded_by__isnull=False).values_list("object", flat=True)
    return {*subjects, *objects}


def _end_text(end: Memory) -> str:
    """Give the start of an end; of one that does not count, also its state."""
    text = Truncator(end.content).chars(60)
    return text if end.state == State.LIVE else f"{text} ({end.state})"
