"""Group memberships and roles."""

from typing import TYPE_CHECKING

from django.db import transaction

from access import audit
from access.actor import ADMIN, Actor
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, NotFound, NotPermitted
from access.groups import check_may_be_private, find_group, log_group
from access.models import Group, Membership, Role

if TYPE_CHECKING:
    from django.contrib.auth.models import User


def read_role(pair: str, form: str, *, field: str, where: str = "", example: str = "") -> tuple[str, str]:
    """The name and the role in a text of this form, such as GROUP=ROLE. Raises InvalidInput."""
    name, separator, role = pair.rpartition("=")
    if not separator or role not in Role.values:
        raise InvalidInput(
            f"{where}'{pair[:80]}' is not {form}.",
            hint=f"Roles are {', '.join(Role.values)}{example and ': '}{example or '.'}",
            field=field,
        )
    return name, role


def set_member(actor: Actor, group: Group, *, user: "User", role: str) -> Membership:
    """Add a member or change the role; setting the current role writes nothing. One transaction.

    Raises:
        NotPermitted: the actor is not an admin of the group.
        InvalidInput: the role does not exist.
    """
    _check_administers(actor, group)
    if role not in Role.values:
        raise InvalidInput(
            f"'{role[:40]}' is not a role.", hint=f"Use {', '.join(Role.values)}.", field="role"
        )
    with transaction.atomic():
        member = Membership.objects.select_for_update().filter(group=group, user=user).first()
        before = member.role if member else ""
        if member is not None and before == role:
            return member
        member, _ = Membership.objects.update_or_create(group=group, user=user, defaults={"role": role})
        _log(actor, group, {"action": "set", "user": user.get_username(), "role": role, "before": before})
    return member


def remove_member(actor: Actor, group: Group, *, user: "User") -> None:
    """Remove a user from a group; one transaction.

    Raises:
        NotPermitted: the actor is not an admin of the group.
        NotFound: the user is not a member.
    """
    _check_administers(actor, group)
    with transaction.atomic():
        if not Membership.objects.filter(group=group, user=user).delete()[0]:
            raise NotFound(f"{user.get_username()} is not a member of '{group.slug}'.", field="user")
        _log(actor, group, {"action": "remove", "user": user.get_username()})


def _check_administers(actor: Actor, group: Group) -> None:
    if not actor.may(ADMIN, group.key):
        raise NotPermitted(
            f"You may not change the members of '{group.slug}'.", hint="Ask an admin of the group."
        )


def _log(actor: Actor, group: Group, payload: dict[str, str]) -> None:
    audit.append(actor, Operation.MEMBER, group=group.id, subject=f"group:{group.slug}", payload=payload)


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
        log_group(actor, group, action="update", changes={"private": [not private, private]})
    return group
