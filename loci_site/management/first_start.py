"""Set-up of a new installation: tables, first admin, the group for everybody and first token."""

from dataclasses import dataclass

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import transaction

from access import audit
from access.actor import CREATE_GROUP, READ, WRITE
from access.audit.operations import Operation
from access.groups import create_everyone
from access.models import Group, Membership, Role
from access.sign_in.passwords import generated_password
from access.tokens import create_token, operator
from maintenance.squashed_migrations import pending_migrations
from memories.search.base import search_index

_ADMIN_NAME = "admin"
_TOKEN_NAME = "first"  # noqa: S105 - a name, not a secret
# What an agent needs. 'loci token create NAME --admin' makes the operator's token.
_TOKEN_SCOPES = (READ, WRITE, CREATE_GROUP)


@dataclass(frozen=True)
class FirstAccess:
    """The first admin and the first token, with the only copy of their secrets."""

    username: str
    password: str
    token: str


def migrate_if_needed() -> int:
    """Run pending migrations and restore missing triggers. Returns the number of migrations.

    If nothing is pending, this takes a few milliseconds; `migrate` itself takes half a second.
    """
    pending = pending_migrations()
    if pending or search_index().missing_objects():
        call_command("migrate", verbosity=0, interactive=False)
    return len(pending)


def create_first_access() -> FirstAccess | None:
    """Create the first superuser, the group `everyone` and a token for an agent; None if a user exists. One transaction."""
    users = get_user_model().objects
    if users.exists():
        return None
    password = generated_password()
    with transaction.atomic():
        user = users.create_superuser(_ADMIN_NAME, password=password)
        audit.append(
            operator(),
            Operation.MEMBER,
            subject=f"user:{_ADMIN_NAME}",
            payload={"action": "create", "superuser": True},
        )
        if not Group.objects.exists():
            everyone = create_everyone(operator())
            Membership.objects.create(user=user, group=everyone, role=Role.ADMIN)
        made = create_token(operator(), user=user, name=_TOKEN_NAME, scopes=_TOKEN_SCOPES)
    return FirstAccess(_ADMIN_NAME, password, made.secret)
