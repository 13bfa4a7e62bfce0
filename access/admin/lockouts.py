"""Who is locked out, for superusers: looked at and lifted."""

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

WHAT = {
    "login": "logging in under a name",
    "login-from": "logging in under any name",
    "register": "registering programs",
    "token": "tokens that do not work",
    "oauth": "the codes and tokens of one program",
    "oauth-from": "the codes and tokens of any program",
}


@admin.register(Attempts)
class LockoutAdmin(LociAdmin):
    """What is refused now because it was tried too often."""

    list_name = "Lock-outs"
    list_display = ("address", "what", "person", "count", "refused_until")
    empty_hint = "Nobody is locked out."

    def visible(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        """Give what is refused now; nothing to anybody but a superuser."""
        refused = rows.filter(until__gt=timezone.now()).select_related("user")
        return refused if actor.all_groups else refused.none()

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Superusers."""
        return actor_of(request).all_groups

    def get_urls(self) -> list[URLPattern]:
        """Add the page that lifts."""
        view = self.admin_site.admin_view(self.lift_view)
        return [
            path("<str:object_id>/lift/", view, name="access_attempts_lift"),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Ask at once: there is nothing else to be done with one."""
        return self.lift_view(request, object_id)

    def lift_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, then let them try again."""
        row: Attempts = self.get_or_404(request, object_id)
        question = Confirmation(
            title=f"Let {row.user or 'whoever is'} at {row.address} try again?",
            button="Lift the lock",
            back=self.url("changelist"),
            facts=(("Refused", self.what(row)), ("Tried", str(row.count))),
            consequences=("it can be tried again at once", "the count begins anew"),
            asks_reason=None,
        )
        if request.method != "POST":
            return render_confirmation(self, request, question, reason_form(request, question))
        try:
            lift_lock(actor_of(request), row)
            messages.success(request, f"{row.address} can try again.")
        except LociError as refusal:
            messages.error(request, str(refusal))
        return HttpResponseRedirect(self.url("changelist"))

    @column("refused")
    def what(self, row: Attempts) -> str:
        """Say what is refused."""
        return WHAT.get(row.kind, row.kind)

    @column("person", empty="nobody known")
    def person(self, row: Attempts) -> str | None:
        """Say whose name was tried."""
        return row.user.get_username() if row.user else None

    @column("until", ordering="until")
    def refused_until(self, row: Attempts) -> datetime | None:
        """Say until when."""
        return row.until
