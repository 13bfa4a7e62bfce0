"""What is done to the people who may log in, in the audit log: made, changed, made inactive, given rights or a password."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from access import audit
from access.actor import Actor

if TYPE_CHECKING:
    from django.contrib.auth.models import User

# What stands in the log; a password and its hash never do.
TOLD = ("username", "first_name", "last_name", "email", "is_active", "is_staff", "is_superuser")


def told_of(user: "User") -> dict[str, Any]:
    """Give what the log may say of a person."""
    return {name: getattr(user, name) for name in TOLD}


def log_person(actor: Actor, user: "User", *, before: Mapping[str, Any] | None) -> None:
    """Append what differs from `before`, inside the caller's transaction; None: the person is new. No difference, no row."""
    after = told_of(user)
    if before is None:
        changes = {name: ["", value] for name, value in after.items() if value not in ("", False)}
    else:
        changes = {name: [before[name], value] for name, value in after.items() if before[name] != value}
    if changes:
        _append(actor, user, {"action": "create" if before is None else "update", "changes": changes})


def log_password(actor: Actor, user: "User") -> None:
    """Append that a person has another password, inside the caller's transaction."""
    _append(actor, user, {"action": "password", "by_themselves": actor.user_id == user.pk})


def _append(actor: Actor, user: "User", payload: dict[str, Any]) -> None:
    audit.append(actor, "person", subject=f"user:{user.get_username()}", payload=payload)
