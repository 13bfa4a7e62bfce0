"""Group memberships and roles."""

from typing import TYPE_CHECKING

from django.db import transaction

from access import audit
from access.actor import ADMIN, Actor
from access.audit.operations import Operation
from access.errors import InvalidInput, NotFound, NotPermitted
from access.models import Group, Membership, Role

if TYPE_CHECKING:
    from django.contrib.auth.models import User


def set_member(actor: Actor, group: Group, *, user: "User", role: str) -> Membership:
    """Add a member or change the role; setting the current role writes nothing. One transaction.

    Raises:
        NotPermitted: the actor is not an admin of the group.
        InvalidInput: the role does not exist.
    """
    check_administers(actor, group)
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
    check_administers(actor, group)
    with transaction.atomic():
        if not Membership.objects.filter(group=group, user=user).delete()[0]:
            raise NotFound(f"{user.get_username()} is not a member of '{group.slug}'.", field="user")
        _log(actor, group, {"action": "remove", "user": user.get_username()})


def check_administers(actor: Actor, group: Group) -> None:
    """Raise NotPermitted unless the actor is an admin of the group."""
    if not actor.may(ADMIN, group.key):
        raise NotPermitted(
            f"You may not change the members of '{group.slug}'.", hint="Ask an admin of the group."
        )


def _log(actor: Actor, group: Group, payload: dict[str, str]) -> None:
    audit.append(actor, Operation.MEMBER, group=group.id, subject=f"group:{group.slug}", payload=payload)
