"""Password login with throttling and audit rows. No password is ever stored or logged."""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext

from access import audit
from access.actor import Actor, Via
from access.audit.operations import Operation
from access.limits.throttle import clear_attempts, wait_s
from access.sign_in.client_address import address_of, network_of
from access.sign_in.lockouts import LOGIN, LOGIN_FROM, count_try
from access.sign_in.sessions import SignInWay

BACKEND = "access.sign_in.login.GuardedBackend"  # the backend of every session, however it began


class GuardedBackend(ModelBackend):
    """Django's users and passwords; after too many failures every login is refused."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """The user, or None. Raises PermissionDenied during a lock, so that Django tries no other backend."""
        name = username or ""
        if request is None:  # a program on this machine, which can read the database anyway
            return super().authenticate(request, username, password, **kwargs)
        if _login_wait_s(request, name):
            raise PermissionDenied
        user = super().authenticate(request, username, password, **kwargs)
        if user is None:
            count_failure(request, name)
        else:
            log_success(request, name, user)
        return user

    def get_user(self, user_id: int) -> Any:
        """The user of a session, with their preferences in the same query: every page needs both."""
        user = User.objects.select_related("preference").filter(pk=user_id).first()
        return user if user is not None and self.user_can_authenticate(user) else None


def _login_wait_s(request: HttpRequest, name: str) -> int:
    """Seconds for which logins with this name from this address are refused; 0 if they are allowed."""
    network = network_of(address_of(request))
    return max(
        wait_s(LOGIN, _folded(name), network),
        wait_s(LOGIN_FROM, network),
    )


def count_failure(request: HttpRequest, name: str) -> None:
    """Count a failed login; the start of a lock is logged once."""
    address = address_of(request)
    user = User.objects.filter(username=name).first()
    with transaction.atomic():
        count_try(LOGIN, _folded(name), network_of(address), address=address, user=user)
        count_try(LOGIN_FROM, network_of(address))


def log_success(request: HttpRequest, name: str, user: Any, *, way: SignInWay = SignInWay.PASSWORD) -> None:
    """Clear the failures under this name, and log the login and its method."""
    with transaction.atomic():
        clear_attempts(LOGIN, _folded(name), network_of(address_of(request)))
        actor = Actor(name=user.get_username(), via=Via.APP, user_id=user.pk, is_person=True)
        payload = {"action": "login", "by": way, "address": address_of(request)}
        audit.append(actor, Operation.LOGIN, subject=f"user:{user.get_username()}", payload=payload)


def _folded(name: str) -> str:
    return name.strip().casefold()


_MINUTE_S = 60


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
    waits = _login_wait_s(request, name)
    if not waits:
        return ""
    minutes = -(-waits // _MINUTE_S)
    duration = (
        gettext("{count} seconds").format(count=waits)
        if waits < 2 * _MINUTE_S
        else gettext("{count} minutes").format(count=minutes)
    )
    message = gettext("Too many failed logins. Try again in {duration}, or ask an admin to lift the lock.")
    return message.format(duration=duration)
