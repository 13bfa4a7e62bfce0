"""Counting what is tried too often, and how long it is then refused: longer each time, in the database."""

import hashlib
import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from access import audit
from access.actor import ADMIN, Actor, Via
from access.audit.operations import Operation
from access.errors import NotFound, NotPermitted
from access.models import Attempts

if TYPE_CHECKING:
    from django.contrib.auth.models import User

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ThrottleRule:
    """How often something is free, and how long it is refused after that: `first` doubles up to `longest`.

    Whoever has not tried for `forgotten` begins anew.
    """

    kind: str
    free: int
    first: timedelta
    longest: timedelta
    forgotten: timedelta


# A person mistypes a few times; a program that guesses gets about 15 guesses on the first day and one a day after that.
LOGIN_RULE = ThrottleRule("login", 5, timedelta(seconds=30), timedelta(days=1), timedelta(days=2))
# All names from one address together: an office may stand behind one.
ADDRESS_RULE = ThrottleRule("login-from", 30, timedelta(seconds=30), timedelta(hours=1), timedelta(hours=6))
UNKNOWN_USER = "somebody unknown"


def wait_s(rule: ThrottleRule, *key: str) -> int:
    """Give how many seconds this is refused from now on, at least 1; 0 where it is free."""
    until = (
        Attempts.objects.filter(kind=rule.kind, key_hash=_hash(key)).values_list("until", flat=True).first()
    )
    left = (until - timezone.now()).total_seconds() if until else 0
    return max(1, round(left)) if left > 0 else 0


def record_attempt(rule: ThrottleRule, *key: str, address: str = "", user: "User | None" = None) -> Attempts:
    """Count one try; the answer says until when the next one is refused. One transaction."""
    now = timezone.now()
    with transaction.atomic():
        defaults = {"user": user, "address": (address or key[-1])[:64]}
        row, _ = Attempts.objects.select_for_update().get_or_create(
            kind=rule.kind, key_hash=_hash(key), defaults=defaults
        )
        row.count = 1 if now - row.last_at > rule.forgotten else row.count + 1
        beyond = row.count - rule.free
        row.until = now + min(rule.first * 2 ** min(beyond, 20), rule.longest) if beyond >= 0 else None
        row.last_at = now
        row.save(update_fields=["count", "until", "last_at"])
    return row


def count_try(
    rule: ThrottleRule, *key: str, via: str = Via.ADMIN, address: str = "", user: "User | None" = None
) -> int:
    """Count one try and give how many seconds the next one is refused, 0 where it is free. One transaction.

    The audit log gets one row where a lock begins. While it lasts nothing is counted, logged or written.
    """
    if waits := wait_s(rule, *key):
        return waits
    with transaction.atomic():
        if waits := wait_s(rule, *key):  # another one was faster
            return waits
        row = record_attempt(rule, *key, address=address, user=user)
        if row.until is None:
            return 0
        _log_lock(row, via=via)
    return wait_s(rule, *key)


def _log_lock(row: Attempts, *, via: str) -> None:
    """Log that a lock has begun. Only a name that there is: people type passwords into the wrong field."""
    said = row.user.get_username() if row.user else UNKNOWN_USER
    until = row.until.isoformat() if row.until else ""
    payload = {
        "action": "locked",
        "kind": row.kind,
        "address": row.address,
        "failures": row.count,
        "until": until,
    }
    audit.append(Actor(name=said, via=via), Operation.LOGIN, subject=_subject(row), payload=payload)
    logger.warning("%s: %s from %s is refused until %s", row.kind, said, row.address, until)


def clear_attempts(rule: ThrottleRule, *key: str) -> None:
    """Begin anew: what was tried has succeeded."""
    Attempts.objects.filter(kind=rule.kind, key_hash=_hash(key)).delete()


def active_locks(actor: Actor) -> QuerySet[Attempts]:
    """Give what is refused now, the longest first.

    Raises:
        NotPermitted: the actor may not administrate the whole store.
    """
    _check(actor)
    return Attempts.objects.filter(until__gt=timezone.now()).select_related("user").order_by("-until")


def lift_lock(actor: Actor, row: Attempts) -> None:
    """Let somebody try again at once; one transaction.

    Raises:
        NotPermitted: the actor may not administrate the whole store.
        NotFound: it is lifted already.
    """
    _check(actor)
    with transaction.atomic():
        if not Attempts.objects.filter(pk=row.pk).delete()[0]:
            raise NotFound("That is lifted already.", hint="'loci lockout list' shows what is refused now.")
        audit.append(
            actor, Operation.LOGIN, subject=_subject(row), payload={"action": "lift", "kind": row.kind}
        )


def delete_expired() -> int:
    """Delete what would begin anew anyway; give how many."""
    now = timezone.now()
    known = {rule.kind: rule.forgotten for rule in (LOGIN_RULE, ADDRESS_RULE)}
    done = sum(
        Attempts.objects.filter(kind=kind, last_at__lt=now - forgotten).delete()[0]
        for kind, forgotten in known.items()
    )
    # Of the others, the settings say how long a lock lasts: what was not tried for the longest time and is free.
    others = Attempts.objects.exclude(kind__in=known).exclude(until__gt=now)
    return done + others.filter(last_at__lt=now - LOGIN_RULE.forgotten).delete()[0]


def _subject(row: Attempts) -> str:
    return f"user:{row.user.get_username()}" if row.user else f"address:{row.address}"


def _check(actor: Actor) -> None:
    if not (actor.all_groups and actor.may(ADMIN)):
        raise NotPermitted(
            "Only who may administer every group can lift a lock-out.", hint="Ask a superuser."
        )


def _hash(key: tuple[str, ...]) -> str:
    return hashlib.sha256("\0".join(key).encode("utf-8", "backslashreplace")).hexdigest()
