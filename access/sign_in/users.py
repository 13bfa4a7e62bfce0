"""User accounts: created, changed, deactivated and given passwords; every change is logged."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from access import audit
from access.actor import Actor
from access.audit import AuditEvent
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, NotFound, NotPermitted
from access.groups import EVERYONE
from access.groups.members import set_member
from access.models import ApiToken, Group, Pairing, Role, ScopeRule
from access.sign_in.passwords import check_password
from access.sign_in.sessions import end_other_sessions

# Logged fields; passwords and their hashes are never logged.
_AUDITED_FIELDS = ("username", "first_name", "last_name", "email", "is_active", "is_superuser")
# Names that the log gives to Loci itself: access.tokens.operator(), jobs, rooms, watched folders, artifacts, sign-in.
_MACHINE_NAMES: Final = frozenset(("operator", "job", "rooms", "watching", "files", "sign-in"))
_FORMER: Final = re.compile(r"former-person-\d+", re.I)  # whose data was erased


@dataclass(frozen=True)
class PersonChange:
    """New values for a user; None leaves a value unchanged."""

    email: str | None = None
    is_active: bool | None = None
    is_superuser: bool | None = None


def find_person(username: str) -> User:
    """The user with this name.

    Raises:
        NotFound: there is no such user.
    """
    user = User.objects.filter(username=username).first()
    if user is None:
        known = ", ".join(User.objects.order_by("pk").values_list("username", flat=True)[:12])
        hint = f"Existing users: {known}." if known else "'loci person add NAME' creates one."
        raise NotFound(f"There is no user '{username[:80]}'.", hint=hint, field="user")
    return user


def add_person(actor: Actor, username: str, change: PersonChange, *, password: str | None) -> User:
    """Create a user, who joins `everyone`; without a password the user cannot log in until one is set. One transaction.

    Raises:
        NotPermitted: the actor may not manage users.
        InvalidInput: the name, the e-mail address or the password is not allowed.
        Conflict: the name is taken.
    """
    check_may_manage(actor)
    wanted = {name: value for name, value in asdict(change).items() if value is not None}
    user = User(username=username, **wanted)
    if User.objects.filter(username=username).exists():
        raise Conflict(f"There is already a user '{username[:80]}'.", field="user")
    _check_fields(user)
    if password is not None:
        check_password(password, user)
    user.password = make_password(password)  # slow on purpose: outside the transaction
    with transaction.atomic():
        user.save()
        log_person(actor, user, before=None)
        join_everyone(actor, user)
    return user


def find_everyone() -> Group | None:
    """The group that every new user joins, if there is one."""
    return Group.objects.filter(slug=EVERYONE, default_scope=ScopeRule.GLOBAL, archived=False).first()


def join_everyone(actor: Actor, user: User) -> None:
    """Make a new user a contributor of the group that everybody reads, where there is one."""
    everyone = find_everyone()
    if everyone is not None:
        set_member(actor, everyone, user=user, role=Role.CONTRIBUTOR)


def change_person(actor: Actor, user: User, change: PersonChange) -> list[str]:
    """Change a user and log it. Returns the names of the changed fields, empty if nothing differs. One transaction.

    Deactivation revokes the person's tokens and ends their sessions.

    Raises:
        NotPermitted: the actor may not manage users.
        InvalidInput: the e-mail address is not valid.
        Conflict: no active superuser would be left.
    """
    check_may_manage(actor)
    wanted = {name: value for name, value in asdict(change).items() if value is not None}
    with transaction.atomic():
        person = User.objects.select_for_update().get(pk=user.pk)
        before = audited_fields(person)
        changed = [name for name, value in wanted.items() if before[name] != value]
        for name in changed:
            setattr(person, name, wanted[name])
        _check_fields(person, "username")  # it does not change
        if changed:
            person.save(update_fields=changed)
            if not User.objects.filter(is_superuser=True, is_active=True).exists():
                raise Conflict(
                    "No active superuser would be left.",
                    hint="Make another person a superuser first.",
                    field="user",
                )
            log_person(actor, person, before=before)
        if "is_active" in changed and not person.is_active:
            end_access(actor, person)
    user.refresh_from_db()
    return changed


def end_access(actor: Actor, user: User) -> None:
    """Revoke the person's tokens, those behind programs with OAuth too, and end their sessions and codes; in the caller's transaction."""
    Pairing.objects.filter(user=user).delete()
    tokens = ApiToken.objects.filter(user=user, revoked_at=None)
    events = [
        AuditEvent(
            Operation.TOKEN,
            subject=f"token:{token.id}",
            payload={"action": "revoke", "name": token.name, "why": "deactivated"},
        )
        for token in tokens
    ]
    tokens.update(revoked_at=timezone.now())
    audit.append_many(actor, events)
    end_other_sessions(actor, user, current=None)


def set_password(actor: Actor, user: User, password: str) -> None:
    """Set a new password for a user, which ends their sessions. One transaction.

    Raises:
        NotPermitted: the actor may not manage users.
        InvalidInput: the password is too weak.
    """
    check_may_manage(actor)
    check_password(password, user)
    user.password = make_password(password)
    with transaction.atomic():
        user.save(update_fields=["password"])
        log_password(actor, user)


def check_may_manage(actor: Actor) -> None:
    """Raise NotPermitted unless the actor may administer every group."""
    if not actor.is_admin_of_all:
        raise NotPermitted("Only an admin of every group can manage users.", hint="Ask a superuser.")


def _check_fields(user: User, *known: str) -> None:
    """Raise InvalidInput for the first field that is not valid, except the password and those that are `known`."""
    try:
        user.clean_fields(exclude=["password", *known])
    except ValidationError as error:
        field, texts = next(iter(error.message_dict.items()))
        raise InvalidInput(" ".join(texts), field="user" if field == "username" else field) from None


def refuse_machine_name(username: str) -> None:
    """Raise ValidationError for a name that the log gives to Loci itself; every account's name is checked by it."""
    if username.casefold() in _MACHINE_NAMES or _FORMER.fullmatch(username):
        text = gettext("The name '{name}' is reserved for Loci itself. Choose another one.")
        raise ValidationError(text.format(name=username), code="reserved")


def audited_fields(user: User) -> dict[str, Any]:
    """The fields of a user that are logged."""
    return {name: getattr(user, name) for name in _AUDITED_FIELDS}


def log_person(actor: Actor, user: User, *, before: Mapping[str, Any] | None) -> None:
    """Log the differences from `before`, inside the caller's transaction; None means a new user. No difference, no row."""
    after = audited_fields(user)
    if before is None:
        changes = {name: ["", value] for name, value in after.items() if value not in ("", False)}
    else:
        changes = {name: [before[name], value] for name, value in after.items() if before[name] != value}
    if changes:
        log_about(actor, user, {"action": "create" if before is None else "update", "changes": changes})


def log_password(actor: Actor, user: User) -> None:
    """Log a new password, and end the codes that were shown before; inside the caller's transaction."""
    Pairing.objects.filter(user=user).delete()
    log_about(actor, user, {"action": "password", "by_themselves": actor.user_id == user.pk})


def log_about(actor: Actor, user: User, payload: dict[str, Any]) -> None:
    """Append a row about a person to the log, inside the caller's transaction."""
    audit.append(actor, Operation.PERSON, subject=f"user:{user.get_username()}", payload=payload)
