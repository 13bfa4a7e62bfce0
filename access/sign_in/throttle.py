"""Throttling of repeated attempts, counted in the database; each further attempt doubles the lock."""

import hashlib
import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from access import audit
from access.actor import Actor, Via
from access.audit.operations import Operation
from access.errors import NotFound, NotPermitted
from access.models import Attempts

if TYPE_CHECKING:
    from django.contrib.auth.models import User

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ThrottleRule:
    """The number of `free` attempts and the lock after that: `first`, doubled each time up to `longest`.

    After `forgotten` without an attempt the count restarts.
    """

    kind: str
    free: int
    first: timedelta
    longest: timedelta
    forgotten: timedelta


# A person mistypes a few times; a guessing program gets about 15 attempts on the first day and one per day after that.
LOGIN_RULE = ThrottleRule("login", 5, timedelta(seconds=30), timedelta(days=1), timedelta(days=2))
# All names from one address together: a whole office may share one.
ADDRESS_RULE = ThrottleRule("login-from", 30, timedelta(seconds=30), timedelta(hours=1), timedelta(hours=6))
UNKNOWN_USER = "somebody unknown"  # the actor in the log


def wait_s(rule: ThrottleRule, *key: str) -> int:
    """Seconds until the next attempt is allowed, at least 1; 0 if it is allowed now."""
    until = (
        Attempts.objects.filter(kind=rule.kind, key_hash=hash_key(key))
        .values_list("until", flat=True)
        .first()
    )
    left = (until - timezone.now()).total_seconds() if until else 0
    return max(1, round(left)) if left > 0 else 0


def record_attempt(rule: ThrottleRule, *key: str, address: str = "", user: "User | None" = None) -> Attempts:
    """Count one attempt; the row holds the end of the lock, if there is one. One transaction."""
    now = timezone.now()
    with transaction.atomic():
        defaults = {"user": user, "address": (address or key[-1])[:64]}
        row, _ = Attempts.objects.select_for_update().get_or_create(
            kind=rule.kind, key_hash=hash_key(key), defaults=defaults
        )
        row.count = 1 if now - row.last_at > rule.forgotten else row.count + 1
        excess = row.count - rule.free
        row.until = now + min(rule.first * 2 ** min(excess, 20), rule.longest) if excess >= 0 else None
        row.last_at = now
        row.save(update_fields=["count", "until", "last_at"])
    return row


def count_try(
    rule: ThrottleRule, *key: str, via: str = Via.APP, address: str = "", user: "User | None" = None
) -> int:
    """Count one attempt. Returns the seconds until the next one is allowed, 0 for now. One transaction.

    The start of a lock is logged with one row. During a lock nothing is counted, logged or written.
    """
    if waits := wait_s(rule, *key):
        return waits
    with transaction.atomic():
        if waits := wait_s(rule, *key):  # a concurrent attempt was faster
            return waits
        row = record_attempt(rule, *key, address=address, user=user)
        if row.until is None:
            return 0
        log_lock(row, via=via)
    return wait_s(rule, *key)


def log_lock(row: Attempts, *, via: str) -> None:
    """Log the start of a lock. Only existing names are logged: people type passwords into the wrong field."""
    name = row.user.get_username() if row.user else UNKNOWN_USER
    until = row.until.isoformat() if row.until else ""
    payload = {
        "action": "locked",
        "kind": row.kind,
        "address": row.address,
        "failures": row.count,
        "until": until,
    }
    audit.append(Actor(name=name, via=via), Operation.LOGIN, subject=_subject(row), payload=payload)
    logger.warning("%s: %s from %s is refused until %s", row.kind, name, row.address, until)


def clear_attempts(rule: ThrottleRule, *key: str) -> None:
    """Reset the count after a success."""
    Attempts.objects.filter(kind=rule.kind, key_hash=hash_key(key)).delete()


def active_locks(actor: Actor) -> QuerySet[Attempts]:
    """The locks in force, longest first.

    Raises:
        NotPermitted: the actor may not administer every group.
    """
    check_may_lift(actor)
    return Attempts.objects.filter(until__gt=timezone.now()).select_related("user").order_by("-until")


def lift_lock(actor: Actor, row: Attempts) -> None:
    """Remove a lock, so that the next attempt is allowed at once; one transaction.

    Raises:
        NotPermitted: the actor may not administer every group.
        NotFound: the lock is gone already.
    """
    check_may_lift(actor)
    with transaction.atomic():
        if not Attempts.objects.filter(pk=row.pk).delete()[0]:
            raise NotFound(
                "This lock is lifted already.", hint="'loci person unlock' shows the locks in force."
            )
        audit.append(
            actor, Operation.LOGIN, subject=_subject(row), payload={"action": "lift", "kind": row.kind}
        )


def delete_expired() -> int:
    """Delete attempts whose count would restart anyway. Returns the number of rows."""
    now = timezone.now()
    known = {rule.kind: rule.forgotten for rule in (LOGIN_RULE, ADDRESS_RULE)}
    count = sum(
        Attempts.objects.filter(kind=kind, last_at__lt=now - forgotten).delete()[0]
        for kind, forgotten in known.items()
    )
    # The locks of other kinds depend on the settings: delete rows that are free and older than the longest period.
    others = Attempts.objects.exclude(kind__in=known).exclude(until__gt=now)
    return count + others.filter(last_at__lt=now - LOGIN_RULE.forgotten).delete()[0]


def _subject(row: Attempts) -> str:
    return f"user:{row.user.get_username()}" if row.user else f"address:{row.address}"


def check_may_lift(actor: Actor) -> None:
    """Raise NotPermitted unless the actor may administer every group."""
    if not actor.is_admin_of_all:
        raise NotPermitted("Only an admin of every group can lift a lock-out.", hint="Ask a superuser.")


def hash_key(key: tuple[str, ...]) -> str:
    """SHA-256 (hex) of the parts of a key."""
    return hashlib.sha256("\0".join(key).encode("utf-8", "backslashreplace")).hexdigest()
