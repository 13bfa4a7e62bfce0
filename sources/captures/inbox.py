"""The private group of a person that holds captured conversations until they are assigned to a group."""

from dataclasses import replace
from typing import Final

from django.contrib.auth.models import User
from django.db import transaction

from access.actor import CAPTURE, CREATE_GROUP, READ, WRITE, Actor
from access.errors import NotPermitted
from access.groups import as_free_slug, create_group
from access.models import Group, Membership
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


def _find_inbox(user: User) -> Group | None:
    """The person's inbox; None before the first capture."""
    found = Inbox.objects.select_related("group").filter(user=user).first()
    return found.group if found is not None else None


def find_or_create_inbox(actor: Actor, user: User) -> Group:
    """The person's inbox, made by the first capture; no other person is a member."""
    return _find_inbox(user) or make_inbox(actor, user)


def make_inbox(actor: Actor, user: User) -> Group:
    """The person's new inbox, or the one that another request has made meanwhile."""
    # Only the group is made with this right; the capture itself has the rights of the token's owner.
    maker = replace(actor, scopes=actor.scopes | {CREATE_GROUP}, token_key=None)
    with transaction.atomic():
        User.objects.select_for_update().get(pk=user.pk)  # two first captures at once make one
        if (found := _find_inbox(user)) is not None:
            members = Membership.objects.filter(user=user, group=found)
            actor.roles.update(members.values_list("group", "role"))
            return found
        group = create_group(
            maker, as_free_slug(f"{user.get_username()}-conversations"), title=TITLE, private=True
        )
        Inbox.objects.create(user=user, group=group)
    actor.roles.update(maker.roles)
    return group


def writing_actor(actor: Actor) -> Actor:
    """The token's actor with the rights to write conversations, within the limits of its owner's roles."""
    return replace(actor, scopes=actor.scopes | {READ, WRITE})
