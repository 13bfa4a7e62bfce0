"""Days and moments in the reader's time zone and words, with a filter of lists by them."""

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from unfold.contrib.filters.admin import RangeDateFilter

_MINUTE, _HOUR, _WEEK = 60, 3600, 7  # seconds, seconds, days
_MAX_SHOWN_CHARS = 40  # of an invalid date


class DayRangeFilter(RangeDateFilter):  # type: ignore[misc]  # unfold has no types
    """Unfold's filter, which ends at the start of the last day, with that day and days that begin at the reader's midnight."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The rows within the requested days; none if a date is invalid, which a message says."""
        name, zone = self.parameter_name, timezone.get_current_timezone()
        for end, lookup in (("from", "gte"), ("to", "lt")):
            text = str(self.used_parameters.get(f"{name}_{end}", "")).strip()
            if not text:
                continue
            if (day := parse_day(text)) is None:
                message = gettext("“{text}” is not a date. Write it like 2026-11-23.")
                messages.error(request, message.format(text=text[:_MAX_SHOWN_CHARS]))
                queryset = queryset.none()
                continue
            if end == "to":
                if day == date.max:
                    continue
                day += timedelta(days=1)
            queryset = queryset.filter(**{f"{name}__{lookup}": start_of(day, zone)})
        return queryset


def parse_day(text: Any) -> date | None:
    """The date in ISO format, or None if the text is not one."""
    try:
        return date.fromisoformat(str(text).strip())
    except ValueError:
        return None


def start_of(day: date, zone: tzinfo) -> datetime:
    """The first moment of a day in this zone, in UTC; the calendar's first if it is before that."""
    try:
        return datetime.combine(day, time.min, tzinfo=zone).astimezone(UTC)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def local_moment(at: datetime) -> datetime:
    """A moment in the reader's time zone; in UTC at the ends of the calendar."""
    try:
        return timezone.localtime(at)
    except OverflowError:
        return at


def ago(at: datetime | None) -> str:
    """A `<time>` with a moment as people say it, "12 min ago", and the exact one on hover; "" for None."""
    if at is None:
        return ""
    local = local_moment(at)
    exact = f"{local:%Y-%m-%d %H:%M:%S %Z}"
    # Every part but the translated words is made of digits and names of zones.
    return SafeString(
        f'<time datetime="{local.isoformat(timespec="seconds")}" title="{exact}">{in_time_words(local, local_moment(timezone.now()))}</time>'
    )


def in_time_words(at: datetime, now: datetime) -> str:
    """How long ago a moment is, "yesterday 14:05" or a date; of one to come, its day. Both in the reader's zone."""
    seconds, days = (now - at).total_seconds(), (now.date() - at.date()).days
    if abs(seconds) < _MINUTE:
        return gettext("just now")
    if 0 < seconds < _HOUR:
        return gettext("{minutes} min ago").format(minutes=int(seconds // _MINUTE))
    if days == 0 and seconds > 0:
        return gettext("{hours} h ago").format(hours=int(seconds // _HOUR))
    if days in (-1, 0, 1):
        named = {-1: gettext("tomorrow {time}"), 0: gettext("today {time}"), 1: gettext("yesterday {time}")}
        return named[days].format(time=f"{at:%H:%M}")
    if 0 < days < _WEEK:
        return gettext("{days} days ago").format(days=days)
    return date_format(at, "MONTH_DAY_FORMAT" if at.year == now.year else "DATE_FORMAT")
