"""The forms of My account. The services validate; forms only ask and show the errors."""

from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext, gettext_lazy

from access import SCOPES
from access.actor import READ, WRITE, Actor
from access.admin.columns import in_words
from access.clients import CLIENTS
from access.models import Group, Theme
from access.sign_in.login import wait_message
from access.tokens import NewToken, create_token, expiry_after
from loci_site.app.forms import PeopleForm

_EXPIRIES = (
    ("", gettext_lazy("Never")),
    ("30", gettext_lazy("In 30 days")),
    ("90", gettext_lazy("In 90 days")),
    ("365", gettext_lazy("In a year")),
)


class OwnPasswordForm(PasswordChangeForm):
    """Django's form; too many wrong old passwords lock it as they lock the login."""

    is_wrong = False

    def __init__(self, request: HttpRequest, user: User, data: Any = None) -> None:
        super().__init__(user, data, label_suffix="")
        self.request = request
        self.fields["old_password"].label = gettext("Your password now")
        self.fields["new_password1"].help_text = gettext(
            "At least 10 characters, and not one that others often choose."
        )

    def clean_old_password(self) -> str:
        """Check the lock before the password, so that a stolen session cannot guess it."""
        if wait := wait_message(self.request, self.user.get_username()):
            raise ValidationError(wait)
        try:
            return str(super().clean_old_password())
        except ValidationError:
            self.is_wrong = True
            raise


class ClientForm(PeopleForm):
    """Which client to connect; its token has what it needs, in every group of the person."""

    client = forms.ChoiceField(
        label=gettext_lazy("Your client"), choices=[(name, spec.title) for name, spec in CLIENTS.items()]
    )


class OwnTokenForm(PeopleForm):
    """A token for one's own agent, with no more than one's own roles allow."""

    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=120,
        widget=forms.TextInput(attrs={"autofocus": True, "placeholder": "claude-code-laptop"}),
        help_text=gettext_lazy("The agent that will use it, and where."),
    )
    scopes = forms.MultipleChoiceField(label=gettext_lazy("It may"), widget=forms.CheckboxSelectMultiple)
    groups = forms.MultipleChoiceField(
        label=gettext_lazy("Groups"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("None: every group that you may enter, later ones included."),
    )
    default_group = forms.ChoiceField(
        label=gettext_lazy("Default group"),
        required=False,
        help_text=gettext_lazy("Used if the agent names no group."),
    )
    expires = forms.ChoiceField(label=gettext_lazy("Expires"), choices=_EXPIRIES, required=False)

    def __init__(self, data: Any = None, *, groups: list[Group], scopes: list[str]) -> None:
        super().__init__(data, initial={"scopes": [scope for scope in scopes if scope in (READ, WRITE)]})
        self.groups_by_slug = {group.slug: group for group in groups}
        choices = [(group.slug, group.title or group.slug) for group in groups]
        described = [
            (scope, gettext("{name}: {value}").format(name=scope, value=in_words(SCOPES[scope])))
            for scope in scopes
        ]
        self.fields["scopes"].choices = described  # type: ignore[attr-defined]
        self.fields["groups"].choices = choices  # type: ignore[attr-defined]
        self.fields["default_group"].choices = [("", gettext("None")), *choices]  # type: ignore[attr-defined]
        if not choices:
            del self.fields["groups"], self.fields["default_group"]

    def create(self, actor: Actor, user: User) -> NewToken:
        values = self.cleaned_data
        return create_token(
            actor,
            user=user,
            name=values["name"],
            scopes=values["scopes"],
            groups=[self.groups_by_slug[slug] for slug in values.get("groups", [])],
            default_group=self.groups_by_slug.get(values.get("default_group", "")),
            expires_at=expiry_after(int(values["expires"] or 0)),
        )


class PreferenceForm(PeopleForm):
    """Language, theme, time zone and keys."""

    language = forms.ChoiceField(label=gettext_lazy("Language"), required=False)
    theme = forms.ChoiceField(label=gettext_lazy("Theme"), choices=Theme.choices, required=False)
    time_zone = forms.ChoiceField(label=gettext_lazy("Time zone"), required=False)
    shortcuts = forms.BooleanField(label=gettext_lazy("Keyboard shortcuts of single letters"), required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        languages = [("", gettext("As the browser")), *settings.LANGUAGES]
        self.fields["language"].choices = languages  # type: ignore[attr-defined]
        zones = sorted(name for name in available_timezones() if "/" in name and not name.startswith("Etc/"))
        named = [
            ("", gettext("As the browser")),
            ("UTC", "UTC"),
            *((name, name.replace("_", " ")) for name in zones),
        ]
        self.fields["time_zone"].choices = named  # type: ignore[attr-defined]
