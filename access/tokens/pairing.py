"""Pairing a browser extension: it exchanges the code shown to a person for a token of its own."""

import re
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.crypto import salted_hmac

from access.actor import CAPTURE, READ, Actor, Via
from access.errors import InvalidInput, NotAuthenticated, NotPermitted
from access.models import Pairing
from access.tokens import NewToken, actor_for_user, create_token, expiry_after

_LIFETIME: Final = timedelta(minutes=5)
MAX_TRIES: Final = 5
SCOPES: Final = (CAPTURE, READ)
# What browsers send as the Origin of an extension; no web page can have one of these.
EXTENSION: Final = re.compile(r"(?:chrome-extension|moz-extension|safari-web-extension)://[A-Za-z0-9-]{1,80}")
MAX_NAME_CHARS: Final = 80


@dataclass(frozen=True)
class ShownCode:
    """A one-time code and its expiry, as shown to the person."""

    code: str
    expires_at: datetime


def show_code(actor: Actor, user: User) -> ShownCode:
    """Create a six-digit code for this person; an earlier one stops working."""
    if actor.user_id != user.pk or not actor.is_person:
        raise NotPermitted("You may not pair a browser for another person.")
    code = f"{secrets.randbelow(10**6):06d}"
    until = timezone.now() + _LIFETIME
    fresh = {"code_hash": hash_code(code), "tries": 0, "created_at": timezone.now(), "expires_at": until}
    Pairing.objects.update_or_create(user=user, client="", defaults=fresh)
    return ShownCode(code, until)


def pair(code: str, *, origin: str, name: str = "") -> NewToken:
    """Exchange a code, which works once, for a token bound to this extension.

    Raises:
        NotPermitted: the request does not come from a browser extension.
        InvalidInput: the code is not six digits.
        NotAuthenticated: no open code is this one; after five wrong tries all open codes are void.
    """
    if not EXTENSION.fullmatch(origin):
        raise NotPermitted(
            "Only a browser extension can be paired.",
            hint="Enter the code in the extension's settings; its requests have an Origin of their own.",
        )
    code = re.sub(r"\s", "", code)
    if not re.fullmatch(r"[0-9]{6}", code):
        raise InvalidInput("A code has six digits.", hint="My account shows one.", field="code")
    user = _take_code(code)
    if user is None:
        raise NotAuthenticated(
            "The code is wrong or not valid any more.",
            hint=f"A code works for {_LIFETIME.seconds // 60} minutes and {MAX_TRIES} tries: make a new one in My account.",
        )
    label = " ".join(name.split())[:MAX_NAME_CHARS] or "Browser"
    actor = actor_for_user(user, via=Via.REST)
    return create_token(actor, user=user, name=label, scopes=SCOPES, origin=origin, expires_at=expiry_after())


def _take_code(code: str) -> User | None:
    """Use up the open code and return its person; if none matches, count a try against every open code."""
    now = timezone.now()
    with transaction.atomic():
        open_codes = Pairing.objects.select_for_update().filter(
            client="", expires_at__gt=now, tries__lt=MAX_TRIES
        )
        found = open_codes.select_related("user").filter(code_hash=hash_code(code)).first()
        if found is None:
            open_codes.update(tries=F("tries") + 1)
            return None
        found.delete()
    return found.user if found.user.is_active else None


def hash_code(code: str) -> str:
    """The keyed hash under which a code is stored."""
    return salted_hmac("access.tokens.pairing", code, algorithm="sha256").hexdigest()


def delete_old_codes() -> int:
    """Delete expired codes; returns their number."""
    return int(Pairing.objects.filter(expires_at__lt=timezone.now()).delete()[0])
