"""Consents of people to programs, and the Actor of a program with an OAuth token."""

import secrets
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone
from oauth2_provider.models import AccessToken, Application, Grant, RefreshToken, clear_expired

from access import audit
from access.actor import Actor, Via
from access.audit.operations import Operation
from access.errors import NotAuthenticated
from access.limits.turns import remember_person
from access.models import ApiToken, Group
from access.tokens import actor_for_token, create_token, hash_secret, record_use
from loci_site.oauth.models import Connection

if TYPE_CHECKING:
    from django.contrib.auth.models import User

_MAX_NAME = 100
_UNUSED_AFTER = timedelta(days=1)  # programs request access within minutes of their registration


@dataclass(frozen=True)
class GrantedAccess:
    """What a person allows a program; `groups` None: every group that the person may enter, including future ones."""

    scopes: frozenset[str]
    groups: tuple[Group, ...] | None = None


def name_of(application: Application) -> str:
    """The self-declared, unverified name of a program, cleaned for display."""
    printable = "".join(c if c.isprintable() else " " for c in application.name)
    return " ".join(printable.split())[:_MAX_NAME] or "a program without a name"


def connect(actor: Actor, user: "User", application: Application, allowed: GrantedAccess) -> Connection:
    """Store the person's consent to the program; it replaces an earlier one. One transaction.

    Raises:
        InvalidInput, NotPermitted: as create_token() does; people cannot allow more than they may do.
    """
    with transaction.atomic():
        before = Connection.objects.filter(application=application, user=user).first()
        made = create_token(
            actor, user=user, name=name_of(application), scopes=allowed.scopes, groups=allowed.groups or ()
        )
        # Replace the secret by an unknown one: the program uses OAuth tokens.
        ApiToken.objects.filter(pk=made.token.pk).update(
            token_hash=hash_secret(secrets.token_urlsafe(32)), hint="OAuth"
        )
        if before is None:
            return Connection.objects.create(application=application, user=user, token=made.token)
        if not before.token.is_valid():
            # What was given under a consent that ended stays ended under the next one.
            for given in (Grant, RefreshToken, AccessToken):
                given.objects.filter(application=application, user=user).delete()
        if ApiToken.objects.filter(pk=before.token.pk, revoked_at=None).update(revoked_at=timezone.now()):
            payload = {"action": "revoke", "name": before.token.name, "why": "allowed again"}
            audit.append(actor, Operation.TOKEN, subject=f"token:{before.token.id}", payload=payload)
        before.token = made.token
        before.save(update_fields=["token"])
    return before


def live_connection(user: "User | None", application: Application) -> Connection | None:
    """The person's consent to the program; None if there is none, it was withdrawn, or the person may not log in."""
    if user is None or not user.is_active:
        return None
    found = Connection.objects.select_related("token").filter(user=user, application=application).first()
    return found if found is not None and found.token.is_valid() else None


def actor_for_access_token(secret: str, *, audience: str, via: str = Via.MCP) -> Actor:
    """The Actor of a program: the scopes of its token, limited to what the person allowed and may do now.

    Raises:
        NotAuthenticated: the token is unknown, has expired or is not for `audience`, or the consent was withdrawn.
    """
    token = (
        AccessToken.objects.select_related("application", "user")
        .filter(token_checksum=hash_secret(secret))
        .first()
    )
    if token is None or token.application is None or token.is_expired():
        raise NotAuthenticated("The token is unknown or has expired.", hint="Request a new one.")
    # An exact match: the toolkit would accept a token without an audience, or for a prefix of this address.
    if token.resource != [audience]:
        raise NotAuthenticated("The token is not for this server.", hint=f"Request one for {audience}.")
    found = live_connection(token.user, token.application)
    if found is None:
        raise NotAuthenticated("The person has withdrawn the access.", hint="Ask the person again.")
    # The user's row is read again with the connection's token, so rights that were just taken away are gone.
    allowed = ApiToken.objects.select_related("user__written", "default_group").get(pk=found.token_id)
    record_use(allowed)
    actor = actor_for_token(allowed, via=via, client=name_of(token.application))
    remember_person(secret, allowed.user_id)
    return replace(actor, scopes=actor.scopes & frozenset(token.scope.split()))


def delete_expired() -> int:
    """Delete expired codes and tokens, and self-registered programs without any consent. Returns the number of rows deleted with those."""
    clear_expired()
    old = timezone.now() - _UNUSED_AFTER
    unused = Application.objects.filter(registration_source="dcr", created__lt=old, connections=None)
    return int(unused.delete()[0])


_METADATA = "/.well-known/oauth-protected-resource/mcp"
DEFAULT_SCOPES = "read write"  # what a program requests by default; the person may allow less


def origin_of(request: HttpRequest) -> str:
    """The address that programs see, without a path: the public URL, else the request's validated host."""
    public = str(settings.LOCI.server.public_url).rstrip("/")
    return public or f"{request.scheme}://{request.get_host()}"


def audience_of(request: HttpRequest) -> str:
    return f"{origin_of(request)}/mcp"


def challenge_of(request: HttpRequest) -> str:
    """The part of WWW-Authenticate that leads a program to the consent page; empty if OAuth is off."""
    if not settings.LOCI.access.oauth:
        return ""
    return f', resource_metadata="{origin_of(request)}{_METADATA}", scope="{DEFAULT_SCOPES}"'
