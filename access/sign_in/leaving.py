"""A person leaves: what ends, and what somebody else takes over."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput
from access.groups.members import set_member
from access.models import ApiToken, Group, Membership, Role
from access.sign_in.sessions import open_sessions
from access.sign_in.users import PersonChange, change_person, check_may_manage


@dataclass(frozen=True)
class Leaving:
    """What ends when the person is deactivated, and what can be handed over."""

    tokens: int
    sessions: int
    sole_admin_of: tuple[Group, ...]


def what_ends(user: User) -> Leaving:
    """The person's valid tokens and sessions, and the groups that have no other admin."""
    return Leaving(
        tokens=sum(token.is_valid() for token in ApiToken.objects.filter(user=user)),
        sessions=len(open_sessions(user, current=None)),
        sole_admin_of=tuple(groups_only_administered_by(user)),
    )


def groups_only_administered_by(user: User) -> list[Group]:
    """The groups whose only active admin is this person, by slug."""
    administered = Membership.objects.filter(role=Role.ADMIN, user__is_active=True)
    others = administered.exclude(user=user).values("group")
    own = administered.filter(user=user).exclude(group__in=others)
    return list(Group.objects.filter(key__in=own.values("group")).order_by("slug"))


def deactivate(actor: Actor, user: User, *, successor: User | None = None) -> Leaving:
    """Deactivate the person; the successor administers their groups. One transaction.

    Their tokens are revoked, their sessions end. Memories stay under their author's name. Returns what ended.

    Raises:
        NotPermitted: the actor may not manage users.
        InvalidInput: the successor is the person, or deactivated.
        Conflict: the person is deactivated already, or the last active superuser.
    """
    check_may_manage(actor)
    if not user.is_active:
        raise Conflict(f"'{user}' is deactivated already.", field="user")
    if successor is not None and (successor.pk == user.pk or not successor.is_active):
        raise InvalidInput(
            f"'{successor}' cannot take over.", hint="Name somebody else who is active.", field="successor"
        )
    leaving = what_ends(user)
    with transaction.atomic():
        if successor is not None:
            hand_over(actor, user, successor, leaving)
        change_person(actor, user, PersonChange(is_active=False))
    return leaving


def hand_over(actor: Actor, user: User, successor: User, leaving: Leaving) -> None:
    """Make the successor admin of the groups that have no other admin."""
    for group in leaving.sole_admin_of:
        set_member(actor, group, user=successor, role=Role.ADMIN)
    payload = {
        "action": "hand over",
        "to": successor.get_username(),
        "groups": [group.slug for group in leaving.sole_admin_of],
    }
    audit.append(actor, Operation.PERSON, subject=f"user:{user.get_username()}", payload=payload)
