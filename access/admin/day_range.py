"""Days and moments in the reader's time zone and words, with a filter of lists by them, and an input of forms for moments in UTC."""

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any

from django import forms
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

    def __init__(
        self, field: Any, request: HttpRequest, params: dict[str, Any], *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(field, request, params, *args, **kwargs)
        self._is_reported = False

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any] | None:
        """The rows within the requested days; none if a date is invalid, which a message says."""
        name, given = self.parameter_name, self.used_parameters
        texts = [str(given.get(f"{name}_{end}", "")).strip() for end in ("from", "to")]
        first, last = days = [parse_day(text) for text in texts]
        wrong = [text for text, day in zip(texts, days, strict=True) if text and day is None]
        if wrong:
            message = gettext("“{text}” is not a date. Write it like 2026-11-23.")
            for text in () if self._is_reported else wrong:
                messages.error(request, message.format(text=text[:_MAX_SHOWN_CHARS]))
            self._is_reported = True
            return queryset.none()
        zone = timezone.get_current_timezone()
        if first is not None:
            queryset = queryset.filter(**{f"{name}__gte": start_of(first, zone)})
        if last is not None and last < date.max:
            queryset = queryset.filter(**{f"{name}__lt": start_of(last + timedelta(days=1), zone)})
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


class UtcMoment(forms.DateTimeField):
    """A date and time that is meant in UTC, as its hint says."""

    def to_python(self, value: Any) -> Any:
        with timezone.override(UTC):
            return super().to_python(value)

    def prepare_value(self, value: Any) -> Any:
        with timezone.override(UTC):
            return super().prepare_value(value)
