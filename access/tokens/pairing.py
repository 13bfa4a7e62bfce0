"""One-time codes for clients and browsers, and pairing: a browser's extension exchanges one for a token of its own."""

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
from access.clients import find_client
from access.errors import InvalidInput, NotAuthenticated, NotPermitted
from access.models import Pairing
from access.tokens import NewToken, actor_for_user, create_token, expiry_after

_LIFETIME: Final = timedelta(minutes=5)
_CLIENT_LIFETIME: Final = timedelta(minutes=10)
_CLIENT_BYTES: Final = 8  # nothing to guess: wrong codes are counted by address, as wrong tokens are
MAX_TRIES: Final = 5
SCOPES: Final = (CAPTURE, READ)
# What browsers send as the Origin of an extension; no web page can have one of these.
EXTENSION: Final = re.compile(r"(?:chrome-extension|moz-extension|safari-web-extension)://[A-Za-z0-9-]{1,80}")
MAX_NAME_CHARS: Final = 80


@dataclass(frozen=True)
class _ShownCode:
    """A one-time code and its expiry, as shown to the person."""

    code: str
    expires_at: datetime


def show_code(actor: Actor, user: User, client: str = "") -> _ShownCode:
    """Create a code for a client of this person, or for a browser; an earlier one for it stops working.

    Raises:
        NotPermitted: it is for another person.
        InvalidInput: the client is unknown.
    """
    if actor.user_id != user.pk or not actor.is_person:
        raise NotPermitted("You may not connect a client or a browser for another person.")
    code, lifetime = f"{secrets.randbelow(10**6):06d}", _LIFETIME
    if client and find_client(client):
        code, lifetime = secrets.token_hex(_CLIENT_BYTES), _CLIENT_LIFETIME
    until = timezone.now() + lifetime
    fresh = {"code_hash": _hash_code(code), "tries": 0, "created_at": timezone.now(), "expires_at": until}
    Pairing.objects.update_or_create(user=user, client=client, defaults=fresh)
    return _ShownCode(code, until)


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
    found = take_code(code, is_browsers=True)
    if found is None:
        raise NotAuthenticated(
            "The code is wrong or not valid any more.",
            hint=f"A code works for {_LIFETIME.seconds // 60} minutes and {MAX_TRIES} tries: make a new one in My account.",
        )
    label = " ".join(name.split())[:MAX_NAME_CHARS] or "Browser"
    actor = actor_for_user(found.user, via=Via.REST)
    return create_token(
        actor, user=found.user, name=label, scopes=SCOPES, origin=origin, expires_at=expiry_after()
    )


def take_code(code: str, *, is_browsers: bool) -> Pairing | None:
    """Use up the open code of this kind; None if none matches, which counts as a try against every open one of a browser."""
    with transaction.atomic():
        rows = Pairing.objects.select_for_update().filter(expires_at__gt=timezone.now(), tries__lt=MAX_TRIES)
        open_codes = rows.filter(client="") if is_browsers else rows.exclude(client="")
        found = open_codes.select_related("user").filter(code_hash=_hash_code(code)).first()
        if found is not None:
            found.delete()
        elif is_browsers:
            open_codes.update(tries=F("tries") + 1)
    return found if found is not None and found.user.is_active else None


def _hash_code(code: str) -> str:
    """The keyed hash under which a code is stored."""
    sent = code.encode(errors="replace")  # JSON may hold half of a pair of UTF-16
    return salted_hmac("access.tokens.pairing", sent, algorithm="sha256").hexdigest()


def delete_old_codes() -> int:
    """Delete expired codes; returns their number."""
    return int(Pairing.objects.filter(expires_at__lt=timezone.now()).delete()[0])
