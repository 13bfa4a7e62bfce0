"""Throttling of invalid tokens per address.

A valid token is accepted before anything is counted or looked up here, so nobody is locked out by others behind the same
address. Tokens cannot be guessed (256 bits); the limit only stops the load, the writes and the log rows.
"""

import logging
from datetime import timedelta

from django.conf import settings
from django.db import DatabaseError

from access.errors import LociError, NotAuthenticated, TooManyAttempts
from access.sign_in.client_address import network_of
from access.sign_in.throttle import ThrottleRule, count_try

# Failed requests to the OAuth token endpoints from one address before it has to wait: RFC 9700, 4.13 and RFC 6749, 10.10
# ask to slow down guessing. RFC 7591, 5 asks for a limit on open registration.
OAUTH_FAILURES = 10
REGISTRATIONS = 10
# Doubling from 30 s to an hour allows 7 more attempts in the first hour (OWASP ASVS 4.0, 2.2.1: at most 100).
FIRST_LOCK, LONGEST_LOCK = timedelta(seconds=30), timedelta(hours=1)
logger = logging.getLogger(__name__)
PROGRAMS_PER_ADDRESS = 5  # an office behind one address has several programs whose consent has expired
RESET_AFTER = timedelta(hours=6)  # without a failure, the count restarts


def token_rule() -> ThrottleRule:
    """The limit on invalid tokens from one address."""
    access = settings.LOCI.access
    return ThrottleRule("token", access.token_failures, *lock_times())


def program_rules() -> tuple[ThrottleRule, ThrottleRule]:
    """The limits on failures at OAuth's token endpoint: of one program at an address, and of all programs there."""
    return (
        ThrottleRule("oauth", OAUTH_FAILURES, *lock_times()),
        ThrottleRule("oauth-from", OAUTH_FAILURES * PROGRAMS_PER_ADDRESS, *lock_times()),
    )


def registration_rule() -> ThrottleRule:
    """The limit on client registrations from one address, successful or not."""
    return ThrottleRule("register", REGISTRATIONS, *lock_times())


def count_failed_token(error: NotAuthenticated, *, address: str, via: str) -> LociError:
    """Count an invalid token. Returns the error to respond with.

    That is `error` itself, or TooManyAttempts with the same message after too many from this address.
    """
    try:
        wait_s = count_try(token_rule(), network_of(address), via=via)
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


def lock_times() -> tuple[timedelta, timedelta, timedelta]:
    """The first lock, the longest lock and the time after which the count restarts."""
    return FIRST_LOCK, LONGEST_LOCK, max(RESET_AFTER, 2 * LONGEST_LOCK)
