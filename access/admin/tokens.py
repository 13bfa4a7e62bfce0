"""API tokens in the browser: made (the secret is shown once), looked at, revoked."""

from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path
from django.utils import timezone
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from access.actor import ADMIN, CREATE_GROUP, CURATE, READ, WRITE, Actor
from access.admin.caller import actor_of
from access.admin.columns import column
from access.admin.confirm import Confirmation, reason_form, render_confirmation
from access.admin.form_errors import show_error
from access.admin.page import LociAdmin
from access.connect import claude_line, client_json
from access.errors import LociError
from access.groups import entered_groups
from access.models import ApiToken
from access.tokens import NewToken, create_token, revoke_token

SCOPES = (
    (READ, "read: recall and inspect"),
    (WRITE, "write: store, forget, dispute"),
    (CURATE, "curate: approve, reject, pin, purge"),
    (CREATE_GROUP, "create-group: make a group by storing into it"),
    (ADMIN, "admin: change groups and members"),
)


class TokenForm(forms.Form):
    """What a new token may do, and where."""

    name = forms.CharField(
        max_length=120, help_text="The agent that will use it.", widget=UnfoldAdminTextInputWidget()
    )
    user = forms.ModelChoiceField(
        User.objects.none(),
        help_text="The token never has more rights than this person has now.",
        widget=UnfoldAdminSelectWidget(),
    )
    scopes = forms.MultipleChoiceField(
        choices=SCOPES, initial=[READ, WRITE], widget=UnfoldAdminCheckboxSelectMultipleWidget()
    )
    groups = forms.MultipleChoiceField(
        required=False,
        help_text="None ticked: every group that the person may enter.",
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
    )
    default_group = forms.ChoiceField(
        required=False, help_text="Used where the agent names no group.", widget=UnfoldAdminSelectWidget()
    )
    expires_at = forms.DateTimeField(
        required=False,
        label="Ends at",
        help_text="UTC. Empty: it does not end.",
        widget=UnfoldAdminTextInputWidget(attrs={"type": "datetime-local"}),
    )

    def __init__(self, actor: Actor, data: Any = None) -> None:
        super().__init__(data)
        self.rooms = {group.slug: group for group in entered_groups(actor)}
        people = User.objects.filter(is_active=True)
        choices = [(slug, slug) for slug in self.rooms]
        mine = self.fields["user"]
        mine.queryset = people if actor.all_groups else people.filter(pk__in=[actor.user_id])  # type: ignore[attr-defined]
        mine.initial = actor.user_id
        self.fields["groups"].choices = choices  # type: ignore[attr-defined]
        self.fields["default_group"].choices = [("", "none"), *choices]  # type: ignore[attr-defined]
        if not choices:
            del self.fields["groups"], self.fields["default_group"]
        if not actor.may(CREATE_GROUP):
            self.fields["scopes"].choices = [s for s in SCOPES if s[0] != CREATE_GROUP]  # type: ignore[attr-defined]

    def create(self, actor: Actor) -> NewToken:
        """Make the token through the service."""
        said = self.cleaned_data
        ends: datetime | None = said["expires_at"]
        return create_token(
            actor,
            user=said["user"],
            name=said["name"],
            scopes=said["scopes"],
            groups=[self.rooms[slug] for slug in said.get("groups", [])],
            default_group=self.rooms.get(said.get("default_group", "")),
            expires_at=ends,
        )


@admin.register(ApiToken)
class TokenAdmin(LociAdmin):
    """One's own tokens; a superuser sees everybody's."""

    list_name = "Tokens"
    list_display = (
        "name",
        "owner",
        "begins_with",
        "may",
        "reaches",
        "created_at",
        "used",
        "ends",
        "standing",
    )
    list_filter = ("all_groups",)
    search_fields = ("name", "user__username", "hint")
    empty_hint = "An agent needs a token: make one, and Loci shows the line that connects the agent."

    def visible(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        """Give the tokens the actor may see."""
        rows = rows.select_related("user", "default_group").prefetch_related("groups")
        return rows if actor.all_groups else rows.filter(user=actor.user_id)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Everybody makes tokens for themselves."""
        return self.has_module_permission(request)

    def get_urls(self) -> list[URLPattern]:
        """Add the page that revokes."""
        revoke = self.admin_site.admin_view(self.revoke_view)
        own = [path("<str:object_id>/revoke/", revoke, name="access_apitoken_revoke")]
        return own + list(super().get_urls())

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Ask what the token may do; then show its secret, this once."""
        if not self.has_add_permission(request):
            raise PermissionDenied(
                "You may not make tokens: that takes a role in some group. Ask an admin of one."
            )
        actor = actor_of(request)
        form = TokenForm(actor, request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            try:
                return self._show_secret(request, form.create(actor))
            except LociError as refusal:
                show_error(form, refusal)
        context = {
            "title": "Make a token",
            "form": form,
            "button": "Make the token",
            "back": self.url("changelist"),
        }
        return self.render(request, "admin/loci/form.html", context)

    def _show_secret(self, request: HttpRequest, made: NewToken) -> HttpResponse:
        context = {
            "title": "Token made",
            "token": made.token,
            "secret": made.secret,
            "line": claude_line(made.secret),
            "json": client_json(made.secret),
            "back": self.url("changelist"),
        }
        answer = self.render(request, "admin/access/apitoken/secret.html", context)
        answer["Cache-Control"] = "no-store"
        return answer

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show a token: everything but its secret, which nobody has any more."""
        token: ApiToken = self.get_or_404(request, object_id)
        context = {
            "title": token.name,
            "token": token,
            "facts": _facts(token),
            "revoke_url": self.url("revoke", token.id) if token.revoked_at is None else "",
        }
        return self.render(request, "admin/access/apitoken/page.html", context)

    def revoke_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, then end the token."""
        token: ApiToken = self.get_or_404(request, object_id)
        back = self.url("change", token.id)
        question = Confirmation(
            title=f"Revoke the token '{token.name}'?",
            button="Revoke it",
            back=back,
            consequences=(
                "whoever uses it is refused from now on",
                "what it stored stays",
                "this cannot be taken back",
            ),
            is_dangerous=True,
            asks_reason=None,
        )
        form = reason_form(request, question)
        if request.method != "POST":
            return render_confirmation(self, request, question, form)
        try:
            revoke_token(actor_of(request), token)
            messages.success(request, f"The token '{token.name}' is revoked.")
        except LociError as refusal:
            messages.error(request, str(refusal))
        return HttpResponseRedirect(back)

    @column("person", ordering="user__username")
    def owner(self, token: ApiToken) -> str:
        """Say for whom it acts."""
        return token.user.get_username()

    @column("begins with")
    def begins_with(self, token: ApiToken) -> str:
        """Give the first characters, to recognise it by."""
        return f"{token.hint}…"

    @column("may")
    def may(self, token: ApiToken) -> str:
        """Say what it may do."""
        return ", ".join(token.scopes)

    @column("reaches")
    def reaches(self, token: ApiToken) -> str:
        """Say which groups it reaches."""
        return describe_reach(token)

    @column("last used", ordering="last_used_at", empty="never")
    def used(self, token: ApiToken) -> datetime | None:
        """Say when it was last used."""
        return token.last_used_at

    @column("ends", ordering="expires_at", empty="never")
    def ends(self, token: ApiToken) -> datetime | None:
        """Say when it ends."""
        return token.expires_at

    @column("state", labels={"valid": "success", "revoked": "danger", "expired": "warning"})
    def standing(self, token: ApiToken) -> str:
        """Say whether it may be used now."""
        return standing_of(token)


def standing_of(token: ApiToken) -> str:
    """Give valid, revoked or expired."""
    if token.revoked_at is not None:
        return "revoked"
    return "expired" if token.expires_at is not None and token.expires_at <= timezone.now() else "valid"


def describe_reach(token: ApiToken) -> str:
    """Name the groups that a token is bound to."""
    if token.all_groups:
        return "every group of the person"
    return ", ".join(group.slug for group in token.groups.all()) or "no group"


def _facts(token: ApiToken) -> list[tuple[str, Any]]:
    return [
        ("Person", token.user.get_username()),
        ("Begins with", f"{token.hint}…"),
        ("May", ", ".join(token.scopes)),
        ("Reaches", describe_reach(token)),
        ("Default group", token.default_group or "none"),
        ("Made", token.created_at),
        ("Last used", token.last_used_at or "never"),
        ("Ends", token.expires_at or "never"),
        ("Revoked", token.revoked_at or "no"),
    ]
