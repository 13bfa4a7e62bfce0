"""The login form, which shows how long a lock-out lasts."""

from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext

from access.sign_in.login import login_wait_s

MINUTE_S = 60


class LoginForm(AuthenticationForm):
    """Django's login form; after too many failures it shows how long to wait instead of a wrong password."""

    def clean(self) -> dict[str, Any]:
        """Check the lock before and after, so that the attempt that causes a lock reports it at once."""
        self._refuse_while_locked()
        try:
            checked: dict[str, Any] = super().clean()
        except ValidationError:
            self._refuse_while_locked()
            raise
        return checked

    def _refuse_while_locked(self) -> None:
        wait = wait_message(self.request, self.cleaned_data.get("username") or "") if self.request else ""
        if wait:
            raise ValidationError(wait)


def wait_message(request: HttpRequest, name: str) -> str:
    """How long logins with this name from this address are refused; empty if they are allowed."""
    waits = login_wait_s(request, name)
    if not waits:
        return ""
    minutes = -(-waits // MINUTE_S)
    duration = (
        gettext("{count} seconds").format(count=waits)
        if waits < 2 * MINUTE_S
        else gettext("{count} minutes").format(count=minutes)
    )
    message = gettext("Too many failed logins. Try again in {duration}, or ask an admin to lift the lock.")
    return message.format(duration=duration)
