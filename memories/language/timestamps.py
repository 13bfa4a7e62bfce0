"""Moments as callers write them: ISO 8601, in UTC where no zone is named, and nothing that the calendar cannot hold."""

from datetime import UTC, datetime, timedelta

from django.utils import timezone

from access.errors import InvalidInput

EXAMPLE = "2026-11-21T09:30:00Z"
FORMS = "Use ISO 8601: 2026-05-03, 2026-05-03T14:30Z or 2026-05-03T14:30+02:00; no zone means UTC."
CLOCK_SKEW = timedelta(minutes=1)  # by which a caller's clock may be ahead of ours


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


def check_moments(
    *,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
    after: datetime | None = None,
    before: datetime | None = None,
) -> None:
    """Raise InvalidInput where a question names a moment without a zone, or asks what will be known.

    `as_of` may lie in the future: an end or a beginning may be known already.
    """
    asked = {"as_of": as_of, "known_at": known_at, "after": after, "before": before}
    for name, moment in asked.items():
        if moment is not None and moment.tzinfo is None:
            raise InvalidInput(
                f"{name} has no time zone.", hint="Add 'Z' or an offset such as +02:00.", field=name
            )
    if known_at is not None and known_at > timezone.now() + CLOCK_SKEW:
        raise InvalidInput(
            f"known_at lies in the future ({known_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC): what will be known is not known yet.",
            hint="Leave known_at out for what is known now; as_of may lie in the future.",
            field="known_at",
        )
