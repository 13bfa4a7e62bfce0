"""The login form: it says how long one is locked out."""

from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError

from access.sign_in.login import login_wait_s

MINUTE_S = 60


class LoginForm(AuthenticationForm):
    """Django's; whoever has failed too often reads how long to wait, and not that the password is wrong."""

    def clean(self) -> dict[str, Any]:
        """Check the lock before and after: the try that locks says so at once."""
        self._refuse_while_locked()
        try:
            checked: dict[str, Any] = super().clean()
        except ValidationError:
            self._refuse_while_locked()
            raise
        return checked

    def _refuse_while_locked(self) -> None:
        name = self.cleaned_data.get("username") or ""
        waits = login_wait_s(self.request, name) if self.request else 0
        if waits:
            said = f"{waits} seconds" if waits < 2 * MINUTE_S else f"{-(-waits // MINUTE_S)} minutes"
            raise ValidationError(
                f"Too many failed logins. Try again in {said}, or ask an admin to lift the lock."
            )
