"""Tombstones in the admin: list the barred texts, and lift a bar."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext, gettext_lazy

from access.actor import Actor
from access.admin.caller import actor_of
from access.admin.columns import column, field_column, in_words
from access.admin.confirm import Confirmation, confirm
from access.admin.day_range import ago
from access.admin.page import LociAdmin
from memories.admin.filters import GroupFilter
from memories.lifecycle.purge.lift_tombstone import (
    in_curated_groups,
    known_texts,
    lift_tombstones,
    recognition,
)
from memories.models import Tombstone


@admin.register(Tombstone)
class TombstoneAdmin(LociAdmin):
    """The tombstones in force in the groups that the caller curates; a row's page asks whether to lift it."""

    list_name = gettext_lazy("Tombstones")
    list_display = (
        "kind_label", "group", "scope", "recognises", "text", "reason", "author_name", "created_at",
    )  # fmt: skip
    list_display_links = ("kind_label", "reason")
    list_select_related = ("group",)
    list_filter = (GroupFilter, "kind")
    ordering = ("-key",)
    empty_hint = gettext_lazy(
        "Retracting or purging a memory adds a row here: the text is refused until a curator lifts the tombstone."
    )

    def visible(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        return rows.filter(in_curated_groups(actor), lifted_at=None)

    def prepare_rows(self, request: HttpRequest, rows: QuerySet[Any]) -> None:
        """Attach to each row the first words of its text, if it still exists and the caller may see it."""
        texts = known_texts(actor_of(request), rows)
        for mark in rows:
            mark.text = texts.get(mark.memory_id, "")

    def show_row(self, request: HttpRequest, mark: Tombstone) -> HttpResponse:
        """Ask for the reason, then lift the tombstone."""
        question = Confirmation(
            title=gettext("Lift this tombstone?"),
            button=gettext("Lift"),
            back=self.url("changelist"),
            about=mark.reason,
            facts=(
                (in_words("group"), mark.group.slug),
                (gettext("what happened"), mark.get_kind_display()),
                (gettext("author"), mark.author_name),
                (in_words("at"), ago(mark.created_at)),
                (in_words("scope"), mark.get_scope_display()),
                (gettext("recognises"), in_words(recognition(mark))),
                (gettext("text"), known_texts(actor_of(request), [mark]).get(mark.memory_id, "")),
            ),
            consequences=(
                gettext("the text may be stored in this group again"),
                gettext("no memory is restored"),
            ),
        )

        def lift(reason: str) -> str:
            lift_tombstones(actor_of(request), mark.id, reason=reason)
            return gettext("The tombstone is lifted.")

        return confirm(self, request, question, lift)

    @column(gettext_lazy("recognises"))
    def recognises(self, mark: Tombstone) -> str:
        return in_words(recognition(mark))

    @column(gettext_lazy("text"))
    def text(self, mark: Tombstone) -> str:
        return getattr(mark, "text", "") or "—"

    kind_label = field_column(
        gettext_lazy("kind"), "kind", labels={"purged": "danger", "retracted": "warning"}
    )
