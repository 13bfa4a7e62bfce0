"""Switching a group between private and open."""

from django.db import transaction

from access import audit
from access.actor import ADMIN, Actor
from access.audit.operations import Operation
from access.errors import Conflict
from access.groups import check_may_be_private, find_group
from access.models import Group


def set_private(actor: Actor, slug: str, *, private: bool) -> Group:
    """Make a group private or open; if it already is, nothing is written. One transaction.

    Raises:
        GroupNotFound, NotPermitted: the group does not exist or the actor is not its admin.
        InvalidInput: everybody reads the group.
        Conflict: the group has global memories, which a private group must not have.
    """
    found = find_group(actor, slug, right=ADMIN)
    check_may_be_private(found.slug, private=private)
    with transaction.atomic():
        group = Group.objects.select_for_update().get(pk=found.pk)
        if group.private == private:
            return group
        # Counted through the reverse relation: this package must not import the memories' table. Any state counts:
        # lists and inspection also show memories that are no longer live.
        count = group.memories.filter(scope="global").count() if private else 0
        if count:
            raise Conflict(
                f"'{group.slug}' has {count} global {'memory' if count == 1 else 'memories'}, which would stay visible in every group.",
                hint="Store them again with the scope 'group' and purge the global ones first. Forgotten, superseded"
                " and retracted ones count too: they stay readable, and some can be restored.",
                field="private",
            )
        group.private = private
        group.save(update_fields=["private", "updated_at"])
        payload = {"action": "update", "changes": {"private": [not private, private]}}
        audit.append(actor, Operation.GROUP, group=group.id, subject=f"group:{group.slug}", payload=payload)
    return group
