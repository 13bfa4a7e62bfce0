"""Suspend a token, so that it stops working at once, and resume it."""

from django.db import transaction
from django.utils import timezone

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from access.errors import Conflict, NotPermitted
from access.groups.guarding import mask_words
from access.models import ApiToken


def suspend_token(actor: Actor, token: ApiToken, *, reason: str = "") -> ApiToken:
    """Refuse every request with the token until a person resumes it.

    Raises:
        NotPermitted: the token belongs to another user and the actor is not an admin.
        Conflict: it is suspended, revoked or expired already.
    """
    check_may_suspend(actor, token, "suspend")
    rows = ApiToken.objects.filter(pk=token.pk, revoked_at=None, suspended_at=None)
    with transaction.atomic():
        if rows.update(suspended_at=timezone.now()) != 1:
            raise Conflict("That token is suspended or revoked already.")
        log_change(actor, token, "suspend", reason)
    token.refresh_from_db()
    return token


def resume_token(actor: Actor, token: ApiToken, *, reason: str = "") -> ApiToken:
    """Let a suspended token work again; only a person may.

    Raises:
        NotPermitted: the actor is a token, or the token belongs to another user and the actor is not an admin.
        Conflict: it is not suspended.
    """
    check_may_suspend(actor, token, "resume")
    if not actor.is_person:
        raise NotPermitted("Only a person may resume a token.", hint="Do it on the token's page.")
    with transaction.atomic():
        if ApiToken.objects.filter(pk=token.pk).exclude(suspended_at=None).update(suspended_at=None) != 1:
            raise Conflict("That token is not suspended.")
        log_change(actor, token, "resume", reason)
    token.refresh_from_db()
    return token


def check_may_suspend(actor: Actor, token: ApiToken, verb: str) -> None:
    """Raise NotPermitted for another user's token, unless the actor is an admin of everything."""
    if actor.user_id != token.user_id and not actor.is_admin_of_all:
        raise NotPermitted(f"You may not {verb} another user's token.")


def log_change(actor: Actor, token: ApiToken, action: str, reason: str) -> None:
    """Append the row of the log, inside the transaction."""
    payload = {"action": action, "name": token.name} | ({"reason": mask_words(reason)} if reason else {})
    audit.append(actor, Operation.TOKEN, subject=f"token:{token.id}", payload=payload)
