"""The sessions in which a person is logged in: noted at the login, listed and ended."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from access.errors import NotFound
from access.sign_in.client_address import address_of

NOTED = "login"  # the key inside a session
_MAX_AGENT_CHARS = 300
# What a browser's own description is recognised by; the first one that occurs names it. Edge and Opera also say Chrome.
BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox", "Firefox"),
    ("Chrome", "Chrome"),
    ("Safari", "Safari"),
)
_SYSTEMS = (("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows"), ("Mac OS", "macOS"), ("Linux", "Linux"))  # fmt: skip


class SignInWay(StrEnum):
    """How a person logged in."""

    PASSWORD = "password"  # noqa: S105 - a way, not a secret
    INVITATION = "invitation"
    OIDC = "oidc"
    PROXY = "proxy"


WAYS = {
    SignInWay.PASSWORD: "with a password",
    SignInWay.INVITATION: "by an invitation",
    SignInWay.OIDC: "through single sign-on",
    SignInWay.PROXY: "through the proxy",
}


@dataclass(frozen=True)
class _OpenSession:
    """One login; `handle` names it without revealing its cookie."""

    handle: str
    since: datetime | None
    expires: datetime
    address: str
    browser: str
    way: str
    is_this: bool


def note_login(request: HttpRequest, way: SignInWay = SignInWay.PASSWORD, *, called: str = "") -> None:
    """Note in the session when, how, from where and with which browser it began.

    `called` is the name that a proxy gave.
    """
    request.session[NOTED] = {
        "by": way,
        "called": called,
        "at": timezone.now().isoformat(),
        "address": address_of(request),
        "agent": request.headers.get("User-Agent", "")[:_MAX_AGENT_CHARS],
    }


def open_sessions(user: User, *, current: str | None) -> list[_OpenSession]:
    """The sessions in which the user is logged in, this one first, then the newest."""
    found = [_describe_session(row, noted, current) for row, noted in _rows_of(user)]
    return sorted(found, key=lambda each: (not each.is_this, -(each.since or each.expires).timestamp()))


def end_session(actor: Actor, user: User, handle: str) -> None:
    """Log the user's session out. One transaction.

    Raises:
        NotFound: the user has no such session.
    """
    keys = [row.session_key for row, _ in _rows_of(user) if constant_time_compare(_handle_of(row), handle)]
    if not keys:
        raise NotFound("That session has ended already.", hint="Reload the page.")
    _end(actor, user, keys)


def end_other_sessions(actor: Actor, user: User, *, current: str | None) -> int:
    """Log the user out everywhere but in the current session. Returns the number of ended sessions. One transaction."""
    keys = [row.session_key for row, _ in _rows_of(user) if row.session_key != current]
    if keys:
        _end(actor, user, keys)
    return len(keys)


def delete_sessions(user: User) -> None:
    """Delete every session of the user, expired ones too: each names an address and a browser."""
    keys = [
        row.pk for row in Session.objects.iterator() if row.get_decoded().get(SESSION_KEY) == str(user.pk)
    ]
    Session.objects.filter(pk__in=keys).delete()


def _handle_of(row: Session) -> str:
    """A name for the session from which its key cannot be found."""
    return salted_hmac("access.sign_in.sessions", row.session_key).hexdigest()[:24]


def _describe_session(row: Session, noted: dict[str, Any], current: str | None) -> _OpenSession:
    """The session as its owner reads it; older sessions have nothing noted."""
    agent = str(noted.get("agent", ""))
    known = (next((name for mark, name in names if mark in agent), "") for names in (BROWSERS, _SYSTEMS))
    return _OpenSession(
        handle=_handle_of(row),
        since=datetime.fromisoformat(noted["at"]) if "at" in noted else None,
        expires=row.expire_date,
        address=str(noted.get("address", "")),
        browser=" on ".join(filter(None, known)),
        way=WAYS.get(noted.get("by", ""), ""),
        is_this=row.session_key == current,
    )


def _rows_of(user: User) -> list[tuple[Session, dict[str, Any]]]:
    """The user's sessions with what was noted. Django's table has no user: each live session is decoded."""
    mine = []
    for row in Session.objects.filter(expire_date__gt=timezone.now()).iterator():
        data = row.get_decoded()
        # A session from before a new password is logged out, though its row is still there.
        is_current_password = data.get(HASH_SESSION_KEY) == user.get_session_auth_hash()
        if data.get(SESSION_KEY) == str(user.pk) and is_current_password:
            mine.append((row, data.get(NOTED) or {}))
    return mine


def _end(actor: Actor, user: User, keys: list[str]) -> None:
    with transaction.atomic():
        Session.objects.filter(session_key__in=keys).delete()
        payload = {"action": "sessions ended", "count": len(keys)}
        audit.append(actor, Operation.LOGIN, subject=f"user:{user.get_username()}", payload=payload)
