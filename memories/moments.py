"""Moments as callers write them: ISO 8601 with a time zone, and nothing that the calendar cannot hold."""

from datetime import UTC, datetime

from access.errors import InvalidInput

EXAMPLE = "2026-11-21T09:30:00Z"


def parse_moment(text: str, *, field: str) -> datetime:
    """Give a moment in UTC.

    Raises:
        InvalidInput: the text is no date and time, has no time zone, or lies outside the years 1 to 9999 in UTC.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidInput(
            f"'{text[:40]}' is no date and time.", hint=f"Write it as {EXAMPLE}.", field=field
        ) from None
    if moment.tzinfo is None:
        raise InvalidInput(
            f"{field} has no time zone.", hint="Add 'Z' or an offset such as +02:00.", field=field
        )
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"'{text[:40]}' lies outside the calendar in UTC.", field=field) from None
