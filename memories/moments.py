"""Moments as callers write them: ISO 8601, in UTC where no zone is named, and nothing that the calendar cannot hold."""

from datetime import UTC, datetime

from access.errors import InvalidInput

EXAMPLE = "2026-11-21T09:30:00Z"
FORMS = "Use ISO 8601: 2026-05-03, 2026-05-03T14:30Z or 2026-05-03T14:30+02:00; no zone means UTC."


def parse_moment(text: str, *, field: str) -> datetime:
    """Give a moment in UTC. Without a time zone it is UTC; a date alone is its first moment.

    Every face and every import reads what people and agents write with this one function.

    Raises:
        InvalidInput: the text is no such date, or lies outside the years 1 to 9999 in UTC.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except ValueError:
        raise InvalidInput(f"'{text[:40]}' in {field} is no date.", hint=FORMS, field=field) from None
    except OverflowError:
        why = f"'{text[:40]}' in {field} lies outside the calendar in UTC."
        raise InvalidInput(why, hint=FORMS, field=field) from None
