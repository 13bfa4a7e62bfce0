"""Admin pages of lock-outs, for superusers: listed and lifted."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from access.actor import Actor
from access.admin.caller import actor_of
from access.admin.columns import column, field_column
from access.admin.confirm import Confirmation, confirm
from access.admin.page import PageAdmin
from access.models import Attempts
from access.sign_in.lockouts import lift_lock

_KIND_LABELS = {
    "login": gettext_lazy("logins with one name"),
    "login-from": gettext_lazy("logins with any name"),
    "register": gettext_lazy("registrations of programs"),
    "token": gettext_lazy("invalid tokens"),
    "oauth": gettext_lazy("the codes and tokens of one program"),
    "oauth-from": gettext_lazy("the codes and tokens of any program"),
}


@admin.register(Attempts)
class LockoutAdmin(PageAdmin):
    """The locks in force after too many attempts."""

    list_name = gettext_lazy("Lock-outs")
    list_hint = gettext_lazy("Each lock ends by itself. Open one to lift it at once.")
    list_display = ("address", "what", "person", "count", "refused_until")
    own_pages = {"lift": ("<str:object_id>/lift/", "change_view")}
    empty_hint = gettext_lazy("No one is locked out.")

    def visible(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        """The locks in force, for superusers only."""
        locks = rows.filter(until__gt=timezone.now()).select_related("user")
        return locks if actor.all_groups else locks.none()

    def has_module_permission(self, request: HttpRequest) -> bool:
        return actor_of(request).all_groups

    def show_row(self, request: HttpRequest, row: Attempts) -> HttpResponse:
        """Ask for confirmation at once, since lifting is the only action; then lift the lock."""
        title, user = gettext("Lift the lock of {user} at {address}?"), row.user or gettext("an unknown user")
        question = Confirmation(
            title=title.format(user=user, address=row.address),
            button=gettext("Lift the lock"),
            back=self.url("changelist"),
            facts=((gettext("Locked"), self.what(row)), (gettext("Attempts"), str(row.count))),
            consequences=(gettext("the next attempt is allowed at once"), gettext("the count restarts")),
            asks_reason=None,
        )

        def lift(reason: str) -> str:
            lift_lock(actor_of(request), row)
            return gettext("{address} can try again.").format(address=row.address)

        return confirm(self, request, question, lift)

    @column(gettext_lazy("locked"))
    def what(self, row: Attempts) -> str:
        """The kind of attempts that are refused."""
        return str(_KIND_LABELS.get(row.kind, row.kind))

    @column(gettext_lazy("person"), empty=gettext_lazy("unknown"))
    def person(self, row: Attempts) -> str | None:
        return row.user.get_username() if row.user else None

    refused_until = field_column(gettext_lazy("until"), "until")
