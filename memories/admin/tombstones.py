"""Tombstones: which texts may not come back, and lifting that."""

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
from memories.lifecycle.lift_tombstone import curated_rooms, lift
from memories.models import Tombstone


@admin.register(Tombstone)
class TombstoneAdmin(LociAdmin):
    """The standing tombstones of the groups that the caller curates; a row's page asks whether to lift it."""

    list_name = "Tombstones"
    list_display = ("standing", "group", "reason", "author_name", "created_at")
    list_display_links = ("standing", "reason")
    list_select_related = ("group",)
    list_filter = (GroupFilter, "kind")
    ordering = ("-key",)
    empty_hint = "A retracted or purged text leaves a row here: it is refused until a curator lifts that."

    def visible(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        """Give those that stand in the groups the actor may curate."""
        return rows.filter(curated_rooms(actor), lifted_at=None)

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
            consequences=("the text may be stored in this group again", "nothing comes back by itself"),
        )
        form = reason_form(request, question)
        if request.method != "POST" or not form.is_valid():
            return render_confirmation(self, request, question, form)
        try:
            lift(actor_of(request), mark.id, reason=form.cleaned_data["reason"])
        except LociError as refusal:
            messages.error(request, str(refusal))
        else:
            messages.success(request, "The tombstone is lifted.")
        return HttpResponseRedirect(back)

    @column("kind", ordering="kind", labels={"purged": "danger", "retracted": "warning"})
    def standing(self, mark: Tombstone) -> str:
        """Give the kind in one word."""
        return mark.kind
