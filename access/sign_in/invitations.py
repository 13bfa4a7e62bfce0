"""Invitations: a person with groups and roles, let in by a one-time link or a made-up password."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from access.actor import Actor
from access.connect import base_url
from access.errors import Conflict, InvalidInput, LociError
from access.groups import find_group
from access.groups.members import read_role, set_member
from access.models import ApiToken, Group, Membership, Role
from access.sign_in.passwords import generated_password
from access.sign_in.sessions import open_sessions
from access.sign_in.users import PersonChange, add_person, change_person, check_may_manage, log_about

_MAX_INVITED = 500
COLUMNS = ("person", "groups")


@dataclass(frozen=True)
class Invitation:
    """Whom to let in: a name or an e-mail address, and roles by group."""

    person: str
    roles: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Invited:
    """A new person with the one-time link or the password, which are shown only this once."""

    user: User
    link: str = ""
    password: str = ""


def invite(actor: Actor, invitation: Invitation, *, by_link: bool = True) -> Invited:
    """Create the person with the roles. One transaction.

    Raises:
        NotPermitted: the actor may not manage users.
        InvalidInput: the name, the e-mail address, a group or a role is not allowed.
        Conflict: there is such a person already.
    """
    check_may_manage(actor)
    name, email = name_and_email(invitation.person)
    if email and User.objects.filter(email__iexact=email).exists():
        raise Conflict(f"There is already a person with the address {email}.", field="person")
    password = "" if by_link else generated_password()
    groups = [(find_group(actor, slug), role) for slug, role in invitation.roles.items()]
    with transaction.atomic():
        user = add_person(actor, name, PersonChange(email=email), password=password or None)
        for group, role in groups:
            set_member(actor, group, user=user, role=role)
        log_about(actor, user, {"action": "invite", "by_link": by_link})
    return Invited(user, link=invitation_link(user) if by_link else "", password=password)


def invite_many(actor: Actor, invitations: Sequence[Invitation]) -> list[Invited]:
    """Create all the people, each with a link, or none. One transaction.

    Raises:
        InvalidInput: names the line of the first person who cannot be invited.
    """
    check_may_manage(actor)
    made = []
    with transaction.atomic():
        for number, invitation in enumerate(invitations, start=1):
            try:
                made.append(invite(actor, invitation))
            except LociError as error:
                message = f"Person {number} ({invitation.person[:80]}): {error.message}"
                raise InvalidInput(message, hint=error.hint or "No one was invited.", field="csv") from None
    return made


def renew_link(actor: Actor, user: User) -> str:
    """A new one-time link for a person who lost theirs or forgot the password; an unused invitation stops working.

    Raises:
        NotPermitted: the actor may not manage users.
        Conflict: the person is deactivated.
    """
    check_may_manage(actor)
    if not user.is_active:
        raise Conflict(f"'{user}' is deactivated.", hint="Activate the person first.", field="user")
    with transaction.atomic():
        if not user.has_usable_password():
            user.set_unusable_password()  # another random one: it is part of what the old link proves
            user.save(update_fields=["password"])
        log_about(actor, user, {"action": "link"})
    return invitation_link(user)


def invitation_link(user: User) -> str:
    """The address where the person chooses a password; it works once, and for PASSWORD_RESET_TIMEOUT."""
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    path = reverse("people:invited", args=[uid, default_token_generator.make_token(user)])
    return f"{base_url()}{path}"


def name_and_email(person: str) -> tuple[str, str]:
    """The login name and the address: of "ann@example.org" the name is "ann", or all of it where "ann" is taken."""
    text = person.strip()
    if not text:
        raise InvalidInput("A person needs a name or an e-mail address.", field="person")
    if "@" not in text:
        return text, ""
    try:
        validate_email(text)
    except ValidationError:
        raise InvalidInput(f"'{text[:80]}' is not an e-mail address.", field="person") from None
    local = text.partition("@")[0].casefold()
    is_taken = User.objects.filter(username=local).exists()
    return (text.casefold() if is_taken else local), text


def read_invitations(text: str) -> list[Invitation]:
    """The people of a CSV with the columns person and groups; groups are "ledger=curator garden=viewer".

    Raises:
        InvalidInput: names the line and what is wrong with it.
    """
    rows = csv.DictReader(io.StringIO(text.strip()), skipinitialspace=True)
    names = [name.strip().casefold() for name in rows.fieldnames or []]
    rows.fieldnames = names
    if "person" not in names or set(names) - set(COLUMNS):
        raise InvalidInput(
            f"The first line must name the columns: {','.join(COLUMNS)}.",
            hint="groups may be left out.",
            field="csv",
        )
    found = [_read_row(row, rows.line_num) for row in rows]
    if not 0 < len(found) <= _MAX_INVITED:
        raise InvalidInput(f"There are {len(found)} people; 1 to {_MAX_INVITED} are allowed.", field="csv")
    return found


def _read_row(row: dict[Any, Any], line: int) -> Invitation:
    """The invitation of one line of the CSV."""
    if None in row or None in row.values():
        raise InvalidInput(f"Line {line} does not have as many fields as the first line.", field="csv")
    roles = {}
    for pair in re.split(r"[\s;]+", row.get("groups", "").strip()):
        if pair:
            slug, role = read_role(pair, "GROUP=ROLE", field="csv", where=f"Line {line}: ")
            roles[slug] = role
    return Invitation(row["person"], roles)


@dataclass(frozen=True)
class _Leaving:
    """What ends when the person is deactivated, and what can be handed over."""

    tokens: int
    sessions: int
    sole_admin_of: tuple[Group, ...]


def what_ends(user: User) -> _Leaving:
    """The person's valid tokens and sessions, and the groups that have no other admin."""
    administered = Membership.objects.filter(role=Role.ADMIN, user__is_active=True)
    others = administered.exclude(user=user).values("group")
    own = administered.filter(user=user).exclude(group__in=others)
    return _Leaving(
        tokens=sum(token.is_valid() for token in ApiToken.objects.filter(user=user)),
        sessions=len(open_sessions(user, current=None)),
        sole_admin_of=tuple(Group.objects.filter(key__in=own.values("group")).order_by("slug")),
    )


def deactivate(actor: Actor, user: User, *, successor: User | None = None) -> _Leaving:
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
            f"'{successor}' cannot take over.", hint="Name another active person.", field="successor"
        )
    leaving = what_ends(user)
    with transaction.atomic():
        if successor is not None:
            for group in leaving.sole_admin_of:
                set_member(actor, group, user=successor, role=Role.ADMIN)
            slugs = [group.slug for group in leaving.sole_admin_of]
            log_about(actor, user, {"action": "hand over", "to": successor.get_username(), "groups": slugs})
        change_person(actor, user, PersonChange(is_active=False))
    return leaving
