"""The people who may log in: made, changed, switched off and given passwords; all of it is in the audit log."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction

from access import audit
from access.actor import ADMIN, Actor
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, NotFound, NotPermitted
from access.sign_in.passwords import check_password

# What stands in the log; a password and its hash never do.
AUDITED_FIELDS = ("username", "first_name", "last_name", "email", "is_active", "is_staff", "is_superuser")


@dataclass(frozen=True)
class PersonChange:
    """What is to be so of a person; None leaves it as it is."""

    email: str | None = None
    is_active: bool | None = None
    is_staff: bool | None = None
    is_superuser: bool | None = None


def find_person(username: str) -> User:
    """Give who has this name.

    Raises:
        NotFound: nobody has.
    """
    user = User.objects.filter(username=username).first()
    if user is None:
        known = ", ".join(User.objects.order_by("pk").values_list("username", flat=True)[:12])
        hint = f"There are: {known}." if known else "'loci person add NAME' makes one."
        raise NotFound(f"There is no user '{username[:80]}'.", hint=hint, field="user")
    return user


def add_person(actor: Actor, username: str, change: PersonChange, *, password: str | None) -> User:
    """Make a person; without a password they cannot log in until they are given one. One transaction.

    Raises:
        NotPermitted: the actor does not look after people.
        InvalidInput: the name, the address or the password is not allowed.
        Conflict: there is somebody of that name.
    """
    _check(actor)
    wanted = {name: value for name, value in asdict(change).items() if value is not None}
    user = User(username=username, **wanted)
    if User.objects.filter(username=username).exists():
        raise Conflict(f"There is a user '{username[:80]}' already.", field="user")
    _check_fields(user)
    if password is not None:
        check_password(password, user)
    user.password = make_password(password)  # slow on purpose: outside the transaction
    with transaction.atomic():
        user.save()
        log_person(actor, user, before=None)
    return user


def change_person(actor: Actor, user: User, change: PersonChange) -> list[str]:
    """Change a person and log it; give the names of what differs, none where it is so already. One transaction.

    Raises:
        NotPermitted: the actor does not look after people.
        InvalidInput: the address is none.
        Conflict: nobody would be left who may do everything.
    """
    _check(actor)
    wanted = {name: value for name, value in asdict(change).items() if value is not None}
    with transaction.atomic():
        person = User.objects.select_for_update().get(pk=user.pk)
        before = audited_fields(person)
        changed = [name for name, value in wanted.items() if before[name] != value]
        for name in changed:
            setattr(person, name, wanted[name])
        _check_fields(person)
        if changed:
            person.save(update_fields=changed)
            _check_somebody_is_left()
            log_person(actor, person, before=before)
    user.refresh_from_db()
    return changed


def set_password(actor: Actor, user: User, password: str) -> None:
    """Give a person another password; their logins end. One transaction.

    Raises:
        NotPermitted: the actor does not look after people.
        InvalidInput: the password is too weak.
    """
    _check(actor)
    check_password(password, user)
    user.password = make_password(password)
    with transaction.atomic():
        user.save(update_fields=["password"])
        log_password(actor, user)


def _check(actor: Actor) -> None:
    if not (actor.all_groups and actor.may(ADMIN)):
        raise NotPermitted("Only who may administer every group looks after people.", hint="Ask a superuser.")


def _check_fields(user: User) -> None:
    try:
        user.clean_fields(exclude=["password"])
    except ValidationError as wrong:
        field, said = next(iter(wrong.message_dict.items()))
        raise InvalidInput(" ".join(said), field="user" if field == "username" else field) from None


def _check_somebody_is_left() -> None:
    if not User.objects.filter(is_superuser=True, is_active=True).exists():
        raise Conflict(
            "Nobody would be left who may do everything.",
            hint="Make somebody else a superuser first.",
            field="user",
        )


def audited_fields(user: User) -> dict[str, Any]:
    """Give what the log may say of a person."""
    return {name: getattr(user, name) for name in AUDITED_FIELDS}


def log_person(actor: Actor, user: User, *, before: Mapping[str, Any] | None) -> None:
    """Append what differs from `before`, inside the caller's transaction; None: the person is new. No difference, no row."""
    after = audited_fields(user)
    if before is None:
        changes = {name: ["", value] for name, value in after.items() if value not in ("", False)}
    else:
        changes = {name: [before[name], value] for name, value in after.items() if before[name] != value}
    if changes:
        _append(actor, user, {"action": "create" if before is None else "update", "changes": changes})


def log_password(actor: Actor, user: User) -> None:
    """Append that a person has another password, inside the caller's transaction."""
    _append(actor, user, {"action": "password", "by_themselves": actor.user_id == user.pk})


def _append(actor: Actor, user: User, payload: dict[str, Any]) -> None:
    audit.append(actor, Operation.PERSON, subject=f"user:{user.get_username()}", payload=payload)
