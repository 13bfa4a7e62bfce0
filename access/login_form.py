"""The login form: it says how long one is locked out. Not in access.admin, whose pages need the site that reads this."""

from typing import Any

from django.core.exceptions import ValidationError
from unfold.forms import AuthenticationForm

from access.login import login_wait_s

MINUTE_S = 60


class LoginForm(AuthenticationForm):  # type: ignore[misc]  # unfold has no types
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
        waits = login_wait_s(self.request, self.cleaned_data.get("username") or "")
        if waits:
            said = f"{waits} seconds" if waits < 2 * MINUTE_S else f"{-(-waits // MINUTE_S)} minutes"
            raise ValidationError(
                f"Too many failed logins. Try again in {said}, or ask an admin to lift the lock."
            )
