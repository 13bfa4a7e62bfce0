"""Admin pages of API tokens: created (the secret is shown once), listed, revoked."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from access import SCOPES
from access.actor import READ, WRITE, Actor
from access.admin.caller import actor_of
from access.admin.columns import WORD, column, field_column, join_list
from access.admin.confirm import Confirmation, confirm
from access.admin.form_errors import try_form
from access.admin.page import LociAdmin, Secret, render_secrets
from access.admin.searched_select import SearchedSelect
from access.connect import connect_lines
from access.groups import entered_groups
from access.models import ApiToken
from access.tokens import (
    NewToken,
    create_token,
    grantable_scopes,
    resume_token,
    revoke_token,
    suspend_token,
)

_SCOPE_CHOICES = [
    (scope, format_lazy(gettext_lazy("{name}: {value}"), name=scope, value=pgettext_lazy(WORD, allows)))
    for scope, allows in SCOPES.items()
]


@dataclass(frozen=True)
class _TokenChange:
    """A change of a token: the service, and what its confirmation page says."""

    carry_out: Callable[[Actor, ApiToken], ApiToken]
    question: Any
    button: Any
    done: Any
    consequences: tuple[Any, ...]
    is_dangerous: bool = False


_STAYS = gettext_lazy("memories stored with it stay")
_CHANGES = {
    "revoke": _TokenChange(
        revoke_token,
        gettext_lazy("Revoke the token '{name}'?"),
        gettext_lazy("Revoke"),
        gettext_lazy("The token '{name}' is revoked."),
        (
            gettext_lazy("every request with it is refused from now on"),
            _STAYS,
            gettext_lazy("this cannot be undone"),
        ),
        is_dangerous=True,
    ),
    "suspend": _TokenChange(
        suspend_token,
        gettext_lazy("Suspend the token '{name}'?"),
        gettext_lazy("Suspend"),
        gettext_lazy("The token '{name}' is suspended."),
        (gettext_lazy("every request with it is refused until a person resumes it"), _STAYS),
        is_dangerous=True,
    ),
    "resume": _TokenChange(
        resume_token,
        gettext_lazy("Resume the token '{name}'?"),
        gettext_lazy("Resume"),
        gettext_lazy("The token '{name}' works again."),
        (gettext_lazy("requests with it are answered again"),),
    ),
}


class _TokenForm(forms.Form):
    """The form for a new token."""

    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=120,
        help_text=gettext_lazy("The agent that will use the token."),
        widget=UnfoldAdminTextInputWidget(attrs={"autofocus": True}),
    )
    client = forms.ChoiceField(
        label=gettext_lazy("Client"),
        required=False,
        help_text=gettext_lazy("You get the line that connects it."),
        widget=UnfoldAdminSelectWidget(),
    )
    user = forms.ModelChoiceField(
        User.objects.none(),
        to_field_name="username",
        label=gettext_lazy("Person"),
        help_text=gettext_lazy("The token never has more rights than this person currently has."),
        widget=SearchedSelect(),
    )
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("Scopes"),
        choices=_SCOPE_CHOICES,
        initial=[READ, WRITE],
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
    )
    groups = forms.MultipleChoiceField(
        label=gettext_lazy("Groups"),
        required=False,
        help_text=gettext_lazy("If none is selected: every group that the person may enter."),
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
    )
    no_global = forms.BooleanField(
        label=gettext_lazy("Without global memories of other groups"),
        required=False,
        help_text=gettext_lazy("Needs groups: the token sees what these hold and nothing else."),
        widget=UnfoldBooleanSwitchWidget(),
    )
    default_group = forms.ChoiceField(
        label=gettext_lazy("Default group"),
        required=False,
        help_text=gettext_lazy("Used if the agent names no group."),
        widget=SearchedSelect(),
    )
    expires_at = forms.DateTimeField(
        required=False,
        label=gettext_lazy("Expires at"),
        widget=UnfoldAdminTextInputWidget(attrs={"type": "datetime-local"}),
    )

    def __init__(self, actor: Actor, data: Any = None) -> None:
        super().__init__(data)
        self.groups_by_slug = {group.slug: group for group in entered_groups(actor)}
        users = User.objects.filter(is_active=True)
        choices = [(slug, slug) for slug in self.groups_by_slug]
        owner = self.fields["user"]
        owner.queryset = users if actor.all_groups else users.filter(pk__in=[actor.user_id])  # type: ignore[attr-defined]
        owner.initial = users.filter(pk=actor.user_id or 0).first()
        if not actor.all_groups:
            owner.widget = forms.HiddenInput()
        zone = gettext("In your time zone, {zone}.").format(zone=timezone.get_current_timezone_name())
        self.fields["expires_at"].help_text = zone
        clients = ((line.client, line.client) for line in connect_lines(""))
        self.fields["client"].choices = [("", gettext("none: the token alone")), *clients]  # type: ignore[attr-defined]
        self.fields["groups"].choices = choices  # type: ignore[attr-defined]
        self.fields["default_group"].choices = [("", gettext("none")), *choices]  # type: ignore[attr-defined]
        if not choices:
            del self.fields["groups"], self.fields["no_global"], self.fields["default_group"]
        grantable = grantable_scopes(actor)
        self.fields["scopes"].choices = [each for each in _SCOPE_CHOICES if each[0] in grantable]  # type: ignore[attr-defined]

    def create(self, actor: Actor) -> NewToken:
        values = self.cleaned_data
        return create_token(
            actor,
            user=values["user"],
            name=values["name"],
            scopes=values["scopes"],
            groups=[self.groups_by_slug[slug] for slug in values.get("groups", [])],
            include_global=not values.get("no_global"),
            default_group=self.groups_by_slug.get(values.get("default_group", "")),
            expires_at=values["expires_at"],
        )


@admin.register(ApiToken)
class TokenAdmin(LociAdmin):
    """The user's own tokens; a superuser sees all tokens."""

    list_name = gettext_lazy("Tokens")
    add_label = gettext_lazy("New token")
    list_display = (
        "name", "owner", "hint_text", "scope_list", "reach", "created_at", "used", "expiry", "state",
    )  # fmt: skip
    list_filter = ("all_groups",)
    search_fields = ("name", "user__username", "hint")
    own_pages = {"do": ("<str:object_id>/<str:change>/", "change_token_view")}
    empty_hint = gettext_lazy(
        "An agent needs a token: create one, and Loci shows the command that connects the agent."
    )

    def visible(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        rows = rows.select_related("user", "default_group").prefetch_related("groups")
        return rows if actor.all_groups else rows.filter(user=actor.user_id)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Every logged-in user may create tokens for themselves."""
        return self.has_module_permission(request)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """The form for a new token; then its secret, shown only once."""
        if not self.has_add_permission(request):
            raise PermissionDenied(
                gettext("You may not create tokens without a role in a group. Ask an admin of a group.")
            )
        actor = actor_of(request)
        form = _TokenForm(actor, request.POST if request.method == "POST" else None)
        title, button, back = gettext("Create a token"), gettext("Create the token"), self.url("changelist")
        context = {"title": title, "form": form, "button": button, "back": back}
        answer = try_form(
            form, lambda: self._show_secret(request, form.create(actor), form.cleaned_data["client"])
        )
        return answer or self.render(request, "admin/loci/form.html", context)

    def _show_secret(self, request: HttpRequest, made: NewToken, client: str) -> HttpResponse:
        """The line that connects the client; without one, the token alone."""
        title = gettext("The token “{name}” is created").format(name=made.token.name)
        line = next((each for each in connect_lines(made.secret) if each.client == client), None)
        secret = Secret(client, line.text, line.where) if line else Secret(gettext("Token"), made.secret)
        return render_secrets(request, [secret], {"title": title, "back": self.url("changelist")})

    def show_row(self, request: HttpRequest, token: ApiToken) -> HttpResponse:
        """A token with everything but its secret, which is not stored."""
        context = {
            "title": token.name,
            "token": token,
            "facts": _token_facts(token),
        }
        return self.render(request, "admin/access/apitoken/page.html", context)

    def change_token_view(self, request: HttpRequest, object_id: str, change: str) -> HttpResponse:
        """Ask for confirmation, then revoke, suspend or resume the token."""
        token: ApiToken = self.get_or_404(request, object_id)
        if (chosen := _CHANGES.get(change)) is None:
            raise Http404
        question = Confirmation(
            title=chosen.question.format(name=token.name),
            button=str(chosen.button),
            back=self.url("change", token.id),
            consequences=tuple(map(str, chosen.consequences)),
            is_dangerous=chosen.is_dangerous,
            asks_reason=None,
        )

        def carry_out(reason: str) -> str:
            chosen.carry_out(actor_of(request), token)
            return str(chosen.done.format(name=token.name))

        return confirm(self, request, question, carry_out)

    @column(gettext_lazy("person"), ordering="user__username")
    def owner(self, token: ApiToken) -> str:
        return token.user.get_username()

    @column(gettext_lazy("starts with"))
    def hint_text(self, token: ApiToken) -> str:
        """The first characters of the secret, for recognition."""
        return f"{token.hint}…"

    @column(gettext_lazy("scopes"))
    def scope_list(self, token: ApiToken) -> str:
        return join_list(token.scopes)

    @column(gettext_lazy("groups"))
    def reach(self, token: ApiToken) -> str:
        return _describe_reach(token)

    used = field_column(gettext_lazy("last used"), "last_used_at", empty=gettext_lazy("never"))
    expiry = field_column(gettext_lazy("expires"), "expires_at", empty=gettext_lazy("never"))

    @column(
        gettext_lazy("state"),
        labels={"valid": "success", "suspended": "danger", "revoked": "danger", "expired": "warning"},
    )
    def state(self, token: ApiToken) -> str:
        return token.state


def _describe_reach(token: ApiToken) -> str:
    if token.all_groups:
        return gettext("every group of the person")
    groups = join_list(group.slug for group in token.groups.all()) or gettext("no group")
    alone = gettext("{groups} alone, without global memories of other groups")
    return groups if token.include_global else alone.format(groups=groups)


def _token_facts(token: ApiToken) -> list[tuple[str, Any]]:
    return [
        (gettext("Person"), token.user.get_username()),
        (gettext("Starts with"), f"{token.hint}…"),
        (gettext("Scopes"), join_list(token.scopes)),
        (gettext("Groups"), _describe_reach(token)),
        (gettext("Default group"), token.default_group or gettext("none")),
        (gettext("Created"), token.created_at),
        (gettext("Last used"), token.last_used_at or gettext("never")),
        (gettext("Expires"), token.expires_at or gettext("never")),
        (gettext("Suspended"), token.suspended_at or gettext("no")),
        (gettext("Revoked"), token.revoked_at or gettext("no")),
    ]
