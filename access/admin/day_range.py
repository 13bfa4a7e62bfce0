"""Days and moments in the reader's time zone, with a filter of lists by them, and an input of forms for moments in UTC."""

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext
from unfold.contrib.filters.admin import RangeDateFilter

UTC_DAYS = "UTC"  # the value of a filter's `…_zone`
_MAX_SHOWN_CHARS = 40  # of an invalid date


class DayRangeFilter(RangeDateFilter):  # type: ignore[misc]  # unfold has no types
    """Unfold's filter with the last day included and days that begin at the reader's midnight.

    The original ends at the start of the last day. `…_zone=UTC` makes them days of UTC, for links from counts of such days.
    """

    def __init__(
        self, field: Any, request: HttpRequest, params: dict[str, Any], *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(field, request, params, *args, **kwargs)
        if UTC_DAYS in params.pop(f"{self.parameter_name}_zone", []):
            self.used_parameters[f"{self.parameter_name}_zone"] = UTC_DAYS
        self._is_reported = False

    def expected_parameters(self) -> list[str | None]:
        return [*super().expected_parameters(), f"{self.parameter_name}_zone"]

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
        zone = UTC if f"{name}_zone" in given else timezone.get_current_timezone()
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


class UtcMoment(forms.DateTimeField):
    """A date and time that is meant in UTC, as its hint says."""

    def to_python(self, value: Any) -> Any:
        with timezone.override(UTC):
            return super().to_python(value)

    def prepare_value(self, value: Any) -> Any:
        with timezone.override(UTC):
            return super().prepare_value(value)
