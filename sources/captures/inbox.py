"""The private group of a person that holds captured conversations until they are assigned to a group."""

from dataclasses import replace
from typing import Final

from django.contrib.auth.models import User
from django.db import transaction

from access.actor import CAPTURE, CREATE_GROUP, READ, WRITE, Actor
from access.errors import NotPermitted
from access.groups import as_free_slug, create_group
from access.models import Group
from sources.models import Inbox

TITLE: Final = "My conversations"


def check_may_capture(actor: Actor) -> User:
    """The owner of the browser; raises NotPermitted for a token without an owner or without the scope."""
    user = User.objects.filter(pk=actor.user_id).first() if actor.user_id is not None else None
    if user is None or not actor.may(CAPTURE):
        raise NotPermitted(
            "You may not capture conversations.",
            hint="Pair the browser extension: My account shows a code. Its token has the scope 'capture'.",
        )
    return user


def find_inbox(user: User) -> Group | None:
    """The person's inbox; None before the first capture."""
    found = Inbox.objects.select_related("group").filter(user=user).first()
    return found.group if found is not None else None


def find_or_create_inbox(actor: Actor, user: User) -> Group:
    """The person's inbox, created by the first capture; the person is its only member."""
    found = find_inbox(user)
    if found is not None:
        return found
    # Only the group is made with this right; the capture itself has the rights of the token's owner.
    maker = replace(actor, scopes=actor.scopes | {CREATE_GROUP}, token_key=None)
    with transaction.atomic():
        group = create_group(
            maker, as_free_slug(f"{user.get_username()}-conversations"), title=TITLE, private=True
        )
        Inbox.objects.create(user=user, group=group)
    actor.roles.update(maker.roles)
    return group


def writing_actor(actor: Actor) -> Actor:
    """The token's actor with the rights to write conversations, within the limits of its owner's roles."""
    return replace(actor, scopes=actor.scopes | {READ, WRITE})
