"""The token of a connected client: made once, used again while it is valid, and revoked when the client is disconnected."""

import platform
from typing import TYPE_CHECKING

from access.actor import HOOK, READ, WRITE
from access.models import ApiToken, Group
from access.tokens import create_token, hash_secret, operator, revoke_token

if TYPE_CHECKING:
    from django.contrib.auth.models import User

SCOPES = (READ, WRITE, HOOK)


def valid_token(secret: str) -> ApiToken | None:
    """The token of a secret that an earlier connection made, if it still works."""
    token = ApiToken.objects.filter(token_hash=hash_secret(secret)).first() if secret else None
    return token if token is not None and token.is_valid() and HOOK in token.scopes else None


def make_client_token(client: str, *, user: "User", groups: list[Group], default: Group | None) -> str:
    name = f"{client} on {platform.node() or 'this machine'}"[:120]
    made = create_token(operator(), user=user, name=name, scopes=SCOPES, groups=groups, default_group=default)
    return made.secret


def revoke_client_token(secret: str) -> bool:
    """Revoke the token of a secret; False if it is not one of this store, or revoked already."""
    token = valid_token(secret)
    if token is not None:
        revoke_token(operator(), token)
    return token is not None
