"""Making a group private, or open again, after it was made."""

from django.db import transaction

from access import audit
from access.actor import ADMIN, Actor
from access.audit.operations import Operation
from access.errors import Conflict
from access.groups import find_group
from access.models import Group


def set_private(actor: Actor, slug: str, *, private: bool) -> Group:
    """Make a group private or open; where it is so already, nothing is written. One transaction.

    Raises:
        GroupNotFound, NotPermitted: the actor is no admin of such a group.
        Conflict: it is to become private and has global memories: nothing in a private group is global.
    """
    found = find_group(actor, slug, right=ADMIN)
    with transaction.atomic():
        group = Group.objects.select_for_update().get(pk=found.pk)
        if group.private == private:
            return group
        count = _global_memories(group) if private else 0
        if count:
            raise Conflict(
                f"'{group.slug}' has {count} global {'memory' if count == 1 else 'memories'}, which every group would go on seeing.",
                hint="Store them anew with the scope 'group' and purge the global ones first. Those that are"
                " forgotten, superseded or retracted count too: they can be read, and some can come back.",
                field="private",
            )
        group.private = private
        group.save(update_fields=["private", "updated_at"])
        payload = {"action": "update", "changes": {"private": [not private, private]}}
        audit.append(actor, Operation.GROUP, group=group.id, subject=f"group:{group.slug}", payload=payload)
    return group


def _global_memories(group: Group) -> int:
    # By way of the relation: this room may not know the memories' table. Of any state: lists and inspection show
    # what is no longer live as well.
    return group.memories.filter(scope="global").count()
