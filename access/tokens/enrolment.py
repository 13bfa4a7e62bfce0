"""Enrolling a client: one function makes the token of a client, and a one-time code stands for it in a line to paste."""

import platform
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from access.actor import Actor, Via
from access.clients import find_client
from access.errors import NotAuthenticated
from access.models import ApiToken
from access.tokens import (
    NewToken,
    actor_for_user,
    create_token,
    expiry_after,
    hash_secret,
    operator,
    revoke_token,
)
from access.tokens.pairing import take_code


def make_client_token(actor: Actor, *, client: str, user: User, name: str = "", **how: Any) -> NewToken:
    """A token with exactly the scopes that the client needs, for `access.token_days`; `how` as in `create_token`."""
    label = name or f"{client} on {platform.node() or 'this machine'}"[:120]
    how = {"expires_at": expiry_after(), **how, "scopes": find_client(client).scopes}
    return create_token(actor, user=user, name=label, **how)


def find_client_token(secret: str, client: str) -> ApiToken | None:
    """The token of a secret that an earlier connection made, if it still works and may what the client needs."""
    token = ApiToken.objects.filter(token_hash=hash_secret(secret)).first() if secret else None
    needed = {*find_client(client).scopes}
    return token if token is not None and token.is_valid() and needed <= {*token.scopes} else None


def revoke_secret(secret: str) -> bool:
    """Revoke the token of a secret; False if it is not one of this store."""
    token = ApiToken.objects.filter(token_hash=hash_secret(secret)).first()
    if token is not None and token.revoked_at is None:
        revoke_token(operator(), token)
    return token is not None


def exchange_client_code(code: str, *, machine: str = "") -> NewToken:
    """The token for a code, which works once.

    Raises:
        NotAuthenticated: no open code is this one.
    """
    with transaction.atomic():
        found = take_code(code, is_browsers=False)
        if found is None:
            raise NotAuthenticated(
                "The code is wrong, was used already, or is older than ten minutes.",
                hint="My account, Connect your client, shows a new line.",
            )
        name = f"{found.client} on {' '.join(machine.split())[:80] or 'another machine'}"
        actor = actor_for_user(found.user, via=Via.REST)
        return make_client_token(actor, client=found.client, user=found.user, name=name)
