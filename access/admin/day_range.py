"""Lists narrowed to some days: from the first moment of one to the last of another, in UTC."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.contrib.filters.admin import RangeDateFilter


class DayRangeFilter(RangeDateFilter):  # type: ignore[misc]  # unfold has no types
    """Unfold's filter with whole days: its own ends where the last day begins, and knows no time zone."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any] | None:
        """Narrow to the days asked for; what is no date does not narrow."""
        first, last = (
            _day(self.used_parameters.get(f"{self.parameter_name}_{end}")) for end in ("from", "to")
        )
        if first is not None:
            queryset = queryset.filter(**{f"{self.parameter_name}__gte": _begin(first)})
        if last is not None and last < date.max:
            queryset = queryset.filter(**{f"{self.parameter_name}__lt": _begin(last + timedelta(days=1))})
        return queryset


def _day(text: Any) -> date | None:
    try:
        return date.fromisoformat(str(text).strip())
    except ValueError:
        return None


def _begin(day: date) -> datetime:
    return datetime.combine(day, time.min, tzinfo=UTC)
