"""Logging in with a password: guesses are slowed down, and what happens is in the audit log. No password is ever kept."""

import logging
from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest

from access import attempts, audit
from access.actor import Actor, Via
from access.attempts import LOGINS, LOGINS_FROM

logger = logging.getLogger(__name__)


class GuardedBackend(ModelBackend):
    """Django's users and passwords; whoever has failed too often is refused, whatever is typed."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Give the user, or None; raise PermissionDenied, as Django wants it, where nothing is tried at all."""
        name = username or ""
        if request is None:  # a program on this machine, which reads the file anyway
            return super().authenticate(request, username, password, **kwargs)
        if login_wait_s(request, name):
            raise PermissionDenied
        user = super().authenticate(request, username, password, **kwargs)
        if user is None:
            _failed(request, name)
        else:
            _succeeded(request, name, user)
        return user


def login_wait_s(request: HttpRequest, name: str) -> int:
    """Give how many seconds logins under this name from this address are refused; 0 where they are not."""
    address = address_of(request)
    return max(
        attempts.wait_s(LOGINS, _folded(name), address),
        attempts.wait_s(LOGINS_FROM, address),
    )


def address_of(request: HttpRequest) -> str:
    """Give where a request comes from; the server has put a trusted proxy's word there."""
    return str(request.META.get("REMOTE_ADDR") or "unknown")


def _failed(request: HttpRequest, name: str) -> None:
    """Count it; the first failure that locks and each later one is logged, not each mistyped password."""
    address = address_of(request)
    user = User.objects.filter(username=name).first()
    with transaction.atomic():
        row = attempts.note(LOGINS, _folded(name), address, user=user)
        attempts.note(LOGINS_FROM, address)
        if row.until is not None:
            # Only a name that there is: people type passwords into the wrong field.
            said = user.get_username() if user else "somebody unknown"
            payload = {
                "action": "locked",
                "address": address,
                "failures": row.count,
                "until": row.until.isoformat(),
            }
            audit.append(Actor(name=said, via=Via.ADMIN), "login", subject=f"user:{said}", payload=payload)
            logger.warning("Logins of %s from %s are refused until %s", said, address, row.until.isoformat())


def _succeeded(request: HttpRequest, name: str, user: Any) -> None:
    with transaction.atomic():
        attempts.forget(LOGINS, _folded(name), address_of(request))
        actor = Actor(name=user.get_username(), via=Via.ADMIN, user_id=user.pk, is_person=True)
        payload = {"action": "login", "address": address_of(request)}
        audit.append(actor, "login", subject=f"user:{user.get_username()}", payload=payload)


def _folded(name: str) -> str:
    return name.strip().casefold()
