"""Days and moments in UTC, whatever the reader's time zone is: a filter of lists and an input of forms."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.contrib.filters.admin import RangeDateFilter


class DayRangeFilter(RangeDateFilter):  # type: ignore[misc]  # unfold has no types
    """Unfold's filter with the last day included and days in UTC; the original ends at the start of the last day."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any] | None:
        """The rows within the requested days; invalid dates do not narrow."""
        first, last = (
            parse_day(self.used_parameters.get(f"{self.parameter_name}_{end}")) for end in ("from", "to")
        )
        if first is not None:
            queryset = queryset.filter(**{f"{self.parameter_name}__gte": start_of(first)})
        if last is not None and last < date.max:
            queryset = queryset.filter(**{f"{self.parameter_name}__lt": start_of(last + timedelta(days=1))})
        return queryset


def parse_day(text: Any) -> date | None:
    """The date in ISO format, or None if the text is not one."""
    try:
        return date.fromisoformat(str(text).strip())
    except ValueError:
        return None


def start_of(day: date) -> datetime:
    """The first moment of a day in UTC."""
    return datetime.combine(day, time.min, tzinfo=UTC)


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
