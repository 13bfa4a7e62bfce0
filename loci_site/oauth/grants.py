"""What people have allowed programs, and the Actor of a program that comes with an OAuth token."""

import secrets
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import timezone
from oauth2_provider.models import AccessToken, Application, clear_expired

from access import audit
from access.actor import Actor, Via
from access.audit.operations import Operation
from access.errors import NotAuthenticated
from access.models import ApiToken, Group
from access.tokens import actor_for_token, create_token, hash_secret, record_use
from loci_site.oauth.models import Connection

if TYPE_CHECKING:
    from django.contrib.auth.models import User

MAX_NAME = 100
UNUSED = timedelta(days=1)  # a program that registers asks for access within minutes


@dataclass(frozen=True)
class GrantedAccess:
    """What a person lets a program do; `groups` None: every group that the person may enter, later ones too."""

    scopes: frozenset[str]
    groups: tuple[Group, ...] | None = None


def name_of(application: Application) -> str:
    """Give the name that a program gave itself, made fit to be shown; it proves nothing."""
    shown = "".join(c if c.isprintable() else " " for c in application.name)
    return " ".join(shown.split())[:MAX_NAME] or "a program without a name"


def connect(actor: Actor, user: "User", application: Application, allowed: GrantedAccess) -> Connection:
    """Keep what the person allows the program; it replaces what was allowed before. One transaction.

    Raises:
        InvalidInput, NotPermitted: as create_token() does; nobody allows more than they may.
    """
    with transaction.atomic():
        before = Connection.objects.filter(application=application, user=user).first()
        made = create_token(
            actor, user=user, name=name_of(application), scopes=allowed.scopes, groups=allowed.groups or ()
        )
        # Nobody knows this secret, and nobody shall: the program comes with OAuth tokens.
        ApiToken.objects.filter(pk=made.token.pk).update(
            token_hash=hash_secret(secrets.token_urlsafe(32)), hint="OAuth"
        )
        if before is None:
            return Connection.objects.create(application=application, user=user, token=made.token)
        _end(actor, before.token)
        before.token = made.token
        before.save(update_fields=["token"])
    return before


def _end(actor: Actor, token: ApiToken) -> None:
    if ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
        payload = {"action": "revoke", "name": token.name, "why": "allowed anew"}
        audit.append(actor, Operation.TOKEN, subject=f"token:{token.id}", payload=payload)


def live_connection(user: "User | None", application: Application) -> Connection | None:
    """Give the consent of a person who may still log in to a program, None where there is none or it was taken back."""
    if user is None or not user.is_active:
        return None
    found = Connection.objects.select_related("token").filter(user=user, application=application).first()
    return found if found is not None and found.token.is_valid() else None


def actor_for_access_token(secret: str, *, audience: str, via: str = Via.MCP) -> Actor:
    """Give the Actor of a program: what its token says, cut to what the person allowed and may do now.

    Raises:
        NotAuthenticated: the token is unknown, has expired or is not for `audience`, or the consent is no more.
    """
    token = (
        AccessToken.objects.select_related("application", "user")
        .filter(token_checksum=hash_secret(secret))
        .first()
    )
    if token is None or token.application is None or token.is_expired():
        raise NotAuthenticated("The token is not known or has expired.", hint="Ask for a new one.")
    # Exactly: the toolkit would take a token without an audience, and one for an address that ours begins with.
    if token.resource != [audience]:
        raise NotAuthenticated("The token is not for this server.", hint=f"Ask for one for {audience}.")
    found = live_connection(token.user, token.application)
    if found is None:
        raise NotAuthenticated("What was allowed is taken back.", hint="Ask the person anew.")
    return _actor(found, scopes=frozenset(token.scope.split()), application=token.application, via=via)


def _actor(found: Connection, *, scopes: frozenset[str], application: Application, via: str) -> Actor:
    # The user's row comes with the connection's token, asked anew: rights taken away a moment ago are gone.
    token = ApiToken.objects.select_related("user", "default_group").get(pk=found.token_id)
    record_use(token)
    actor = actor_for_token(token, via=via, client=name_of(application))
    return replace(actor, scopes=actor.scopes & scopes)


def clean_up() -> int:
    """Delete expired codes and tokens, and programs that registered themselves and that nobody ever allowed anything."""
    clear_expired()
    old = timezone.now() - UNUSED
    unused = Application.objects.filter(registration_source="dcr", created__lt=old, connections=None)
    return int(unused.delete()[0])
