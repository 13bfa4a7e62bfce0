"""The limits on failed logins, tokens and programs, and the locks that follow: counted, logged, listed and lifted.

A valid token is accepted before anything is counted or looked up here, so one client locks out no others behind the same
address. Tokens cannot be guessed (256 bits); their limit only stops the load, the writes and the log rows.
"""

import logging
from datetime import timedelta
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from access import audit
from access.actor import Actor, Via
from access.additions import additions
from access.audit.operations import Operation
from access.errors import LociError, NotAuthenticated, NotFound, NotPermitted, TooManyAttempts
from access.limits.throttle import KEPT, Limit, delete_expired, record_attempt, wait_s
from access.models import Attempts
from access.sign_in.client_address import network_of

# Failed requests to the OAuth token endpoints from one address before it has to wait: RFC 9700, 4.13 and RFC 6749, 10.10
# ask to slow down guessing. RFC 7591, 5 asks for a limit on open registration.
OAUTH_FAILURES = 10
REGISTRATIONS = 10
# Doubling from 30 s to an hour allows 7 more attempts in the first hour (OWASP ASVS 4.0, 2.2.1: at most 100).
FIRST_LOCK, LONGEST_LOCK = timedelta(seconds=30), timedelta(hours=1)


if TYPE_CHECKING:
    from django.contrib.auth.models import User

logger = logging.getLogger(__name__)
_RESET_AFTER = timedelta(hours=6)  # without a failure, the count restarts
# A person mistypes a few times; a guessing program gets about 15 attempts on the first day and one per day after that.
LOGIN = Limit("login", 5, timedelta(seconds=30), timedelta(days=1), KEPT)
# All names from one address together: a whole office may share one.
LOGIN_FROM = Limit("login-from", 30, timedelta(seconds=30), timedelta(hours=1), _RESET_AFTER)
_PROGRAMS_PER_ADDRESS = 5  # an office behind one address has several programs whose consent has expired
_UNKNOWN_USER = "unknown person"  # the actor in the log


def token_limit() -> Limit:
    """The limit on invalid tokens from one address."""
    return _limit("token", settings.LOCI.access.token_failures)


def program_limits() -> tuple[Limit, Limit]:
    """The limits on failures at OAuth's token endpoint: of one program at an address, and of all programs there."""
    return _limit("oauth", OAUTH_FAILURES), _limit("oauth-from", OAUTH_FAILURES * _PROGRAMS_PER_ADDRESS)


def registration_limit() -> Limit:
    """The limit on client registrations from one address, successful or not."""
    return _limit("register", REGISTRATIONS)


def _limit(kind: str, at_once: int) -> Limit:
    return Limit(kind, at_once, FIRST_LOCK, LONGEST_LOCK, max(_RESET_AFTER, 2 * LONGEST_LOCK))


def count_try(
    limit: Limit, *key: str, via: str = Via.APP, address: str = "", user: "User | None" = None
) -> int:
    """Count one attempt. Returns the seconds until the next one is allowed, 0 for now. One transaction.

    The start of a lock is logged with one row. During a lock nothing is counted, logged or written.
    """
    if waits := wait_s(limit, *key):
        return waits
    with transaction.atomic():
        if waits := wait_s(limit, *key):  # a concurrent attempt was faster
            return waits
        row = record_attempt(limit, *key, address=address, user=user)
        if row.until is None:
            return 0
        # Only existing names are logged: people type passwords into the wrong field.
        name = row.user.get_username() if row.user else _UNKNOWN_USER
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
    return wait_s(limit, *key)


def count_failed_token(error: NotAuthenticated, *, address: str, via: str) -> LociError:
    """Count an invalid token. Returns the error to respond with.

    That is `error` itself, or TooManyAttempts with the same message after too many from this address.
    """
    try:
        wait_s = count_try(token_limit(), network_of(address), via=via)
    except DatabaseError:  # a read-only store still reports why a token is refused
        logger.warning("An invalid token could not be counted.", exc_info=True)
        return error
    if not wait_s:
        return error
    return TooManyAttempts(
        f"{error.message} Too many such requests came from this address.",
        wait_s=wait_s,
        hint=f"Try again in {wait_s} seconds. A valid token is accepted at once. {error.hint}".strip(),
    )


def active_locks(actor: Actor) -> QuerySet[Attempts]:
    """The locks in force, longest first.

    Raises:
        NotPermitted: the actor may not administer every group.
    """
    _check_may_lift(actor)
    return Attempts.objects.filter(until__gt=timezone.now()).select_related("user").order_by("-until")


def lift_lock(actor: Actor, row: Attempts) -> None:
    """Remove a lock, so that the next attempt is allowed at once; one transaction.

    Raises:
        NotPermitted: the actor may not administer every group.
        NotFound: the lock is gone already.
    """
    _check_may_lift(actor)
    with transaction.atomic():
        if not Attempts.objects.filter(pk=row.pk).delete()[0]:
            raise NotFound(
                "This lock is lifted already.", hint="'loci person unlock' shows the locks in force."
            )
        audit.append(
            actor, Operation.LOGIN, subject=_subject(row), payload={"action": "lift", "kind": row.kind}
        )


def _subject(row: Attempts) -> str:
    return f"user:{row.user.get_username()}" if row.user else f"address:{row.address}"


def _check_may_lift(actor: Actor) -> None:
    if not actor.is_admin_of_all:
        raise NotPermitted("Only an admin of every group can lift a lock-out.", hint="Ask a superuser.")


def tidy_access(actor: Actor) -> str | None:
    """Delete expired attempts and run the apps' "cleanups". Returns a summary, or None if nothing was deleted."""
    count = delete_expired() + sum(cleanup() for cleanup in additions("cleanups"))
    return f"{count} rows deleted" if count else None
