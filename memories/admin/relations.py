"""Relations in the admin. They are here, not in `relations`, because visibility of memories decides who sees them."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext, gettext_lazy

from access.actor import Actor
from access.admin.caller import actor_of
from access.admin.columns import column, in_brackets, in_words, join_list, shorten
from access.admin.page import LociAdmin
from memories.admin.filters import GroupFilter
from memories.entities.lines import statement_of
from memories.entities.statements import hidden_ends, show_heads
from memories.models import Memory
from memories.queries.visibility import as_q, listed_by
from memories.types import State
from relations.models import Relation

_LIST_CHARS = 160


@admin.register(Relation)
class RelationAdmin(LociAdmin):
    """Subject, predicate, object; read-only, stored by agents and maintenance."""

    list_name = gettext_lazy("Relations")
    list_display = ("statement", "state", "group", "created_at")
    list_filter = (GroupFilter,)
    search_fields = ("predicate",)
    search_help_text = gettext_lazy("Predicate")
    empty_hint = gettext_lazy(
        "Relations appear when agents store how people and things relate to each other."
    )
    ordering = ("-key",)

    def visible(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        """The relations in the actor's groups between two memories that the actor may see."""
        rows = rows.select_related("group", "subject", "object")
        visibility = listed_by(actor, None)
        if visibility.groups is None:
            return rows
        rows = rows.filter(group__in=visibility.groups)
        # The database checks the ends that are current; the few replaced ones are checked by their current versions.
        seen = Memory.objects.filter(as_q(visibility), superseded_by=None).values("key")
        replaced = {
            *rows.filter(subject__superseded_by__isnull=False).values_list("subject", flat=True),
            *rows.filter(object__superseded_by__isnull=False).values_list("object", flat=True),
        }
        shown = replaced - hidden_ends(actor, replaced)
        is_subject_seen = Q(subject__in=seen) | Q(subject__in=shown)
        return rows.filter(is_subject_seen, Q(object__in=seen) | Q(object__in=shown))

    def prepare_rows(self, request: HttpRequest, rows: QuerySet[Any]) -> None:
        """Show the current versions of their ends."""
        show_heads(list(rows))

    def show_row(self, request: HttpRequest, relation: Relation) -> HttpResponse:
        """Show one relation with the memories that are its evidence."""
        show_heads([relation])
        seen = Memory.objects.filter(as_q(listed_by(actor_of(request), None)), proves__relation=relation)
        evidence = seen.select_related("group")[:50]
        context = {
            "title": gettext("Relation"),
            "relation": relation,
            "predicate": relation.predicate.replace("_", " "),
            "evidence": evidence,
        }
        return self.render(request, "admin/relations/relation/page.html", context)

    @column(gettext_lazy("relation"))
    def statement(self, relation: Relation) -> str:
        """The relation as a sentence, with the states of its ends that are not live."""
        ends: tuple[Memory, Memory] = relation.subject, relation.object
        states = [in_words(end.state) for end in ends if end.state != State.LIVE]
        text = shorten(statement_of(ends[0], relation.predicate, ends[1]), _LIST_CHARS)
        return text + in_brackets(join_list(states))

    @column("")
    def state(self, relation: Relation) -> str:
        """That it is ended or retired; nothing for a current one."""
        if relation.retired_at is not None:
            return in_words("retired")
        return "" if relation.valid_to is None else in_words("ended")
