"""Admin pages of lock-outs, for superusers: listed and lifted."""

from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path
from django.utils import timezone

from access.actor import Actor
from access.admin.caller import actor_of
from access.admin.columns import column
from access.admin.confirm import Confirmation, reason_form, render_confirmation
from access.admin.page import LociAdmin
from access.errors import LociError
from access.models import Attempts
from access.sign_in.throttle import lift_lock

KIND_LABELS = {
    "login": "logins with one name",
    "login-from": "logins with any name",
    "register": "registrations of programs",
    "token": "invalid tokens",
    "oauth": "the codes and tokens of one program",
    "oauth-from": "the codes and tokens of any program",
}


@admin.register(Attempts)
class LockoutAdmin(LociAdmin):
    """The locks in force after too many attempts."""

    list_name = "Lock-outs"
    list_display = ("address", "what", "person", "count", "refused_until")
    empty_hint = "Nobody is locked out."

    def visible(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        """The locks in force, for superusers only."""
        locks = rows.filter(until__gt=timezone.now()).select_related("user")
        return locks if actor.all_groups else locks.none()

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Superusers only."""
        return actor_of(request).all_groups

    def get_urls(self) -> list[URLPattern]:
        """Django's URLs and the page that lifts a lock."""
        view = self.admin_site.admin_view(self.lift_view)
        return [
            path("<str:object_id>/lift/", view, name="access_attempts_lift"),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the confirmation at once: lifting is the only action."""
        return self.lift_view(request, object_id)

    def lift_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask for confirmation, then lift the lock."""
        row: Attempts = self.get_or_404(request, object_id)
        question = Confirmation(
            title=f"Lift the lock of {row.user or 'an unknown user'} at {row.address}?",
            button="Lift the lock",
            back=self.url("changelist"),
            facts=(("Locked", self.what(row)), ("Attempts", str(row.count))),
            consequences=("the next attempt is allowed at once", "the count restarts"),
            asks_reason=None,
        )
        if request.method != "POST":
            return render_confirmation(self, request, question, reason_form(request, question))
        try:
            lift_lock(actor_of(request), row)
            messages.success(request, f"{row.address} can try again.")
        except LociError as error:
            messages.error(request, str(error))
        return HttpResponseRedirect(self.url("changelist"))

    @column("locked")
    def what(self, row: Attempts) -> str:
        """The kind of attempts that are refused."""
        return KIND_LABELS.get(row.kind, row.kind)

    @column("person", empty="unknown")
    def person(self, row: Attempts) -> str | None:
        """The user whose name was used."""
        return row.user.get_username() if row.user else None

    @column("until", ordering="until")
    def refused_until(self, row: Attempts) -> datetime | None:
        """The end of the lock."""
        return row.until
