"""Enrolling a client: one function makes the token of a client, and a one-time code stands for it in a line to paste."""

import platform
import secrets
from datetime import timedelta
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from access.actor import Actor, Via
from access.clients import CLIENTS
from access.errors import InvalidInput, NotAuthenticated, NotPermitted
from access.models import ApiToken, Pairing
from access.tokens import (
    NewToken,
    actor_for_user,
    create_token,
    expiry_after,
    hash_secret,
    operator,
    revoke_token,
)
from access.tokens.pairing import ShownCode, hash_code

_CODE_LIFETIME: Final = timedelta(minutes=10)
_CODE_BYTES: Final = 16  # nothing to guess: wrong codes are counted by address, as wrong tokens are


def make_client_token(actor: Actor, *, client: str, user: User, name: str = "", **how: Any) -> NewToken:
    """A token with exactly the scopes that the client needs, for `access.token_days`; `how` as in `create_token`."""
    label = name or f"{client} on {platform.node() or 'this machine'}"[:120]
    return create_token(
        actor, user=user, name=label, scopes=_scopes_of(client), **{"expires_at": expiry_after(), **how}
    )


def _scopes_of(client: str) -> tuple[str, ...]:
    if client not in CLIENTS:
        raise InvalidInput(f"'{client}' is not a client.", hint=f"Use {', '.join(CLIENTS)}.", field="client")
    return CLIENTS[client].scopes


def find_client_token(secret: str, client: str) -> ApiToken | None:
    """The token of a secret that an earlier connection made, if it still works and may what the client needs."""
    token = ApiToken.objects.filter(token_hash=hash_secret(secret)).first() if secret else None
    needed = {*_scopes_of(client)}
    return token if token is not None and token.is_valid() and needed <= {*token.scopes} else None


def revoke_secret(secret: str) -> bool:
    """Revoke the token of a secret; False if it is not one of this store."""
    token = ApiToken.objects.filter(token_hash=hash_secret(secret)).first()
    if token is not None and token.revoked_at is None:
        revoke_token(operator(), token)
    return token is not None


def show_client_code(actor: Actor, user: User, client: str) -> ShownCode:
    """Make a code for a client of this person; an earlier one for it stops working.

    Raises:
        NotPermitted: it is for another person.
        InvalidInput: the client is unknown.
    """
    if actor.user_id != user.pk or not actor.is_person:
        raise NotPermitted("You may not connect a client for another person.")
    _scopes_of(client)
    code, until = secrets.token_hex(_CODE_BYTES), timezone.now() + _CODE_LIFETIME
    fresh = {"code_hash": hash_code(code), "created_at": timezone.now(), "expires_at": until}
    Pairing.objects.update_or_create(user=user, client=client, defaults=fresh)
    return ShownCode(code, until)


def exchange_client_code(code: str, *, machine: str = "") -> NewToken:
    """The token for a code, which works once.

    Raises:
        NotAuthenticated: no open code is this one.
    """
    with transaction.atomic():
        rows = Pairing.objects.select_for_update().exclude(client="").filter(expires_at__gt=timezone.now())
        found = rows.select_related("user").filter(code_hash=hash_code(code)).first()
        if found is None or not found.user.is_active:
            raise NotAuthenticated(
                "The code is wrong, was used already, or is older than ten minutes.",
                hint="My account, Connect your client, shows a new line.",
            )
        found.delete()
        name = f"{found.client} on {' '.join(machine.split())[:80] or 'another machine'}"
        actor = actor_for_user(found.user, via=Via.REST)
        return make_client_token(actor, client=found.client, user=found.user, name=name)
