"""Tokens that do not work are counted by address, and too many of them are refused for a while.

A token that works is taken before anything is counted or looked up here, so nobody is kept out by what others behind
the same address send. No token can be guessed (256 bits); what this ends is the noise, the writes and the log.
"""

import logging
from datetime import timedelta

from django.conf import settings
from django.db import DatabaseError

from access.errors import LociError, NotAuthenticated, TooManyAttempts
from access.sign_in.client_address import network_of
from access.sign_in.throttle import ThrottleRule, count_try

logger = logging.getLogger(__name__)
PROGRAMS_PER_ADDRESS = 5  # an office behind one address has some programs whose consent has run out
RESET_AFTER = timedelta(hours=6)  # without a failure, the count begins anew


def token_rule() -> ThrottleRule:
    """Give how many tokens that do not work an address may send."""
    access = settings.LOCI.access
    return ThrottleRule("token", access.token_failures, *_lengths())


def program_rules() -> tuple[ThrottleRule, ThrottleRule]:
    """Give how often a program may fail at OAuth's token address: one program at an address, and all of them there."""
    access = settings.LOCI.access
    return (
        ThrottleRule("oauth", access.oauth_failures, *_lengths()),
        ThrottleRule("oauth-from", access.oauth_failures * PROGRAMS_PER_ADDRESS, *_lengths()),
    )


def registration_rule() -> ThrottleRule:
    """Give how many programs may register themselves from one address, whether that succeeds or not."""
    access = settings.LOCI.access
    return ThrottleRule("register", access.registrations, *_lengths())


def count_failed_token(fault: NotAuthenticated, *, address: str, via: str) -> LociError:
    """Count a token that was sent and did not work; give what is to be answered.

    That is the fault itself, or TooManyAttempts with the same sentence where too many came from the address.
    """
    try:
        wait_s = count_try(token_rule(), network_of(address), via=via)
    except DatabaseError:  # a store that cannot be written to still says why a token is not taken
        logger.warning("A token that does not work could not be counted.", exc_info=True)
        return fault
    if not wait_s:
        return fault
    return TooManyAttempts(
        f"{fault.message} Too many such requests came from this address.",
        wait_s=wait_s,
        hint=f"Try again in {wait_s} seconds. A token that works is taken at once. {fault.hint}".strip(),
    )


def _lengths() -> tuple[timedelta, timedelta, timedelta]:
    access = settings.LOCI.access
    first, longest = timedelta(seconds=access.lock_s), timedelta(seconds=access.longest_lock_s)
    return first, max(first, longest), max(RESET_AFTER, 2 * longest)
