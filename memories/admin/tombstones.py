"""Tombstones in the admin: list the barred texts, and lift a bar."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from access.actor import Actor
from access.admin.caller import actor_of
from access.admin.columns import column
from access.admin.confirm import Confirmation, reason_form, render_confirmation
from access.admin.page import LociAdmin
from access.errors import LociError
from memories.admin.filters import GroupFilter
from memories.lifecycle.purge.lift_tombstone import in_curated_groups, lift_tombstones
from memories.models import Tombstone


@admin.register(Tombstone)
class TombstoneAdmin(LociAdmin):
    """The tombstones in force in the groups that the caller curates; a row's page asks whether to lift it."""

    list_name = "Tombstones"
    list_display = ("kind_label", "group", "reason", "author_name", "created_at")
    list_display_links = ("kind_label", "reason")
    list_select_related = ("group",)
    list_filter = (GroupFilter, "kind")
    ordering = ("-key",)
    empty_hint = "Retracting or purging a memory adds a row here: the text is refused until a curator lifts the tombstone."

    def visible(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        """The tombstones in force in the groups that the actor may curate."""
        return rows.filter(in_curated_groups(actor), lifted_at=None)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Ask for the reason, then lift the tombstone."""
        mark: Tombstone = self.get_or_404(request, object_id)
        back = self.url("changelist")
        question = Confirmation(
            title="Lift this tombstone?",
            button="Lift",
            back=back,
            about=mark.reason,
            facts=(
                ("group", mark.group.slug),
                ("what happened", mark.get_kind_display()),
                ("by", mark.author_name),
            ),
            consequences=("the text may be stored in this group again", "no memory is restored"),
        )
        form = reason_form(request, question)
        if request.method != "POST" or not form.is_valid():
            return render_confirmation(self, request, question, form)
        try:
            lift_tombstones(actor_of(request), mark.id, reason=form.cleaned_data["reason"])
        except LociError as refusal:
            messages.error(request, str(refusal))
        else:
            messages.success(request, "The tombstone is lifted.")
        return HttpResponseRedirect(back)

    @column("kind", ordering="kind", labels={"purged": "danger", "retracted": "warning"})
    def kind_label(self, mark: Tombstone) -> str:
        """The kind."""
        return mark.kind
