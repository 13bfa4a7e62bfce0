"""Admin pages of lock-outs, for superusers: listed and lifted."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from access.actor import Actor
from access.admin.caller import actor_of
from access.admin.columns import column, field_column
from access.admin.page import LociAdmin
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
class LockoutAdmin(LociAdmin):
    """The locks in force after too many attempts."""

    list_name = gettext_lazy("Lock-outs")
    list_display = ("address", "what", "person", "count", "refused_until")
    list_display_links = None
    actions = ("lift",)
    empty_hint = gettext_lazy("No one is locked out.")

    def visible(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        """The locks in force, for superusers only."""
        locks = rows.filter(until__gt=timezone.now()).select_related("user")
        return locks if actor.all_groups else locks.none()

    def has_module_permission(self, request: HttpRequest) -> bool:
        return actor_of(request).all_groups

    @admin.action(description=gettext_lazy("Lift the lock"))
    def lift(self, request: HttpRequest, locks: QuerySet[Attempts]) -> None:
        """Allow the next attempt at once; each lock also ends by itself."""
        for lock in locks:
            lift_lock(actor_of(request), lock)
            line = gettext("{address} can try again.").format(address=lock.address)
            messages.success(request, line)

    @column(gettext_lazy("locked"))
    def what(self, row: Attempts) -> str:
        """The kind of attempts that are refused."""
        return str(_KIND_LABELS.get(row.kind, row.kind))

    @column(gettext_lazy("person"), empty=gettext_lazy("unknown"))
    def person(self, row: Attempts) -> str | None:
        return row.user.get_username() if row.user else None

    refused_until = field_column(gettext_lazy("until"), "until")
