"""Timestamps from callers: ISO 8601, UTC unless a zone is named, within the calendar."""

from datetime import UTC, datetime, timedelta, tzinfo

from django.utils import timezone

from access.errors import InvalidInput

EXAMPLE = "2026-11-21T09:30:00Z"
FORMS = "Use ISO 8601: 2026-05-03, 2026-05-03T14:30Z or 2026-05-03T14:30+02:00; without a zone it is UTC."
CLOCK_SKEW = timedelta(minutes=1)  # a caller's clock may be this far ahead of ours


def parse_moment(text: str, *, field: str, zone: tzinfo = UTC) -> datetime:
    """The timestamp in UTC. Without a time zone it is read in `zone`; a date alone is its first moment.

    Every interface and every import parses timestamps here.

    Raises:
        InvalidInput: not a timestamp, or outside the years 1 to 9999 in UTC.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
    except ValueError:
        raise InvalidInput(f"'{text[:40]}' in {field} is not a date.", hint=FORMS, field=field) from None
    except OverflowError:
        why = f"'{text[:40]}' in {field} is outside the calendar in UTC."
        raise InvalidInput(why, hint=FORMS, field=field) from None


def check_moments(
    *,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
    after: datetime | None = None,
    before: datetime | None = None,
) -> None:
    """Raise InvalidInput if a timestamp has no zone or `known_at` is in the future.

    `as_of` may be in the future: an end or a beginning may be known already.
    """
    moments = {"as_of": as_of, "known_at": known_at, "after": after, "before": before}
    for name, moment in moments.items():
        if moment is not None and moment.tzinfo is None:
            raise InvalidInput(
                f"{name} has no time zone.", hint="Add 'Z' or an offset such as +02:00.", field=name
            )
    if known_at is not None and known_at > timezone.now() + CLOCK_SKEW:
        raise InvalidInput(
            f"known_at is in the future ({known_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC); future knowledge cannot be queried.",
            hint="Leave known_at out for what is known now; as_of may be in the future.",
            field="known_at",
        )
