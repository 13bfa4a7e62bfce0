"""Days and moments in the reader's time zone, with a filter of lists by them, and an input of forms for moments in UTC."""

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.contrib.filters.admin import RangeDateFilter

UTC_DAYS = "UTC"  # the value of a filter's `…_zone`


class DayRangeFilter(RangeDateFilter):  # type: ignore[misc]  # unfold has no types
    """Unfold's filter with the last day included and days that begin at the reader's midnight.

    The original ends at the start of the last day. `…_zone=UTC` makes them days of UTC, for links from counts of such days.
    """

    def __init__(
        self, field: Any, request: HttpRequest, params: dict[str, Any], *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(field, request, params, *args, **kwargs)
        zones = params.pop(f"{self.parameter_name}_zone", [])
        if UTC_DAYS in zones:
            self.used_parameters[f"{self.parameter_name}_zone"] = UTC_DAYS

    def expected_parameters(self) -> list[str | None]:
        """The parameters of the address."""
        return [*super().expected_parameters(), f"{self.parameter_name}_zone"]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any] | None:
        """The rows within the requested days; invalid dates do not narrow."""
        first, last = (
            parse_day(self.used_parameters.get(f"{self.parameter_name}_{end}")) for end in ("from", "to")
        )
        is_utc = f"{self.parameter_name}_zone" in self.used_parameters
        zone = UTC if is_utc else timezone.get_current_timezone()
        if first is not None:
            queryset = queryset.filter(**{f"{self.parameter_name}__gte": start_of(first, zone)})
        if last is not None and last < date.max:
            queryset = queryset.filter(
                **{f"{self.parameter_name}__lt": start_of(last + timedelta(days=1), zone)}
            )
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
        """The moment."""
        with timezone.override(UTC):
            return super().to_python(value)

    def prepare_value(self, value: Any) -> Any:
        """The moment as the input shows it."""
        with timezone.override(UTC):
            return super().prepare_value(value)
