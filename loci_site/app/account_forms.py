"""The forms of My account. The services validate; forms only ask and show the errors."""

from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext, gettext_lazy
from unfold.forms import AdminOwnPasswordChangeForm
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldBooleanSwitchWidget

from access.clients import CLIENTS
from access.models import Theme
from access.sign_in.login import wait_message


class OwnPasswordForm(AdminOwnPasswordChangeForm):  # type: ignore[misc]  # unfold has no types
    """unfold's form; too many wrong old passwords lock it as they lock the login."""

    is_wrong = False

    def __init__(self, request: HttpRequest, user: User, data: Any = None) -> None:
        super().__init__(user, data)
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


class ClientForm(forms.Form):
    """Which client to connect; its token has what it needs, in every group of the person."""

    client = forms.ChoiceField(
        label=gettext_lazy("Your client"),
        choices=[(name, spec.title) for name, spec in CLIENTS.items()],
        widget=UnfoldAdminSelectWidget(),
    )


class PreferenceForm(forms.Form):
    """Language, theme, time zone and keys."""

    language = forms.ChoiceField(
        label=gettext_lazy("Language"), required=False, widget=UnfoldAdminSelectWidget()
    )
    theme = forms.ChoiceField(
        label=gettext_lazy("Theme"),
        choices=Theme.choices,
        required=False,
        widget=UnfoldAdminSelectWidget(),
    )
    time_zone = forms.ChoiceField(
        label=gettext_lazy("Time zone"), required=False, widget=UnfoldAdminSelectWidget()
    )
    shortcuts = forms.BooleanField(
        label=gettext_lazy("Keyboard shortcuts of single letters"),
        required=False,
        widget=UnfoldBooleanSwitchWidget(),
    )

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
