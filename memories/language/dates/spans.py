"""Days, and spans of days, as a question names them. A day is one of the asker's time zone."""

from calendar import monthrange
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo

from django.utils import timezone

ONE_DAY, ONE_SECOND = timedelta(days=1), timedelta(seconds=1)
FIRST_YEAR, LAST_YEAR = 1, 9999
# A date without a year is looked for in this many years back: older memories are found by their words alone.
_YEARS_BACK = 20


@dataclass(frozen=True)
class DaySpan:
    """Days from `first` to `last`, both included; None leaves that end open.

    `is_loose` marks a day that may as well be another one: "on Friday" is the last Friday, or every Friday.
    """

    first: date | None
    last: date | None
    is_loose: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        if self.first == self.last:
            return str(self.first)
        return f"{self.first or ''}..{self.last or ''}"

    def covers(self, day: date) -> bool:
        """Whether a day lies in the span."""
        return (self.first is None or self.first <= day) and (self.last is None or day <= self.last)

    def spans(self, _: date) -> list["DaySpan"]:
        """The span itself."""
        return [self]

    def latest(self, _: date) -> "DaySpan":
        """The span itself."""
        return self

    @property
    def exact(self) -> "DaySpan | None":
        """The span; of one without a beginning its last day, and None of one without an end."""
        if self.first is None and self.last is not None:
            return day_of(self.last)
        return None if self.last is None else self

    @property
    def is_open(self) -> bool:
        """Whether one end is open."""
        return self.first is None or self.last is None

    @property
    def is_day(self) -> bool:
        """Whether it is one certain day."""
        return self.first is not None and self.first == self.last and not self.is_loose


@dataclass(frozen=True)
class NamedDate:
    """A date as a question names it; parts that it leaves open are None, and without a year it is of every year."""

    year: int | None = None
    month: int | None = None
    day: int | None = None

    def __str__(self) -> str:
        return "-".join(str(part) if part is not None else "*" for part in (self.year, self.month, self.day))

    def covers(self, day: date) -> bool:
        """Whether a day fits in each part that is named."""
        return (
            self.year in (None, day.year) and self.month in (None, day.month) and self.day in (None, day.day)
        )

    def spans(self, today: date) -> list[DaySpan]:
        """The days that are meant, latest first: one span, or without a year one of each year."""
        latest = min(max(today.year, FIRST_YEAR + _YEARS_BACK) + 1, LAST_YEAR)
        years = [self.year] if self.year is not None else range(latest, latest - _YEARS_BACK - 2, -1)
        return [span for year in years if (span := self._within(year)) is not None]

    def latest(self, today: date) -> DaySpan:
        """The span; without a year, the latest that has begun."""
        spans = self.spans(today)
        begun = [span for span in spans if span.first is not None and span.first <= today]
        return begun[0] if self.year is None and begun else spans[0]

    @property
    def exact(self) -> "NamedDate":
        """The date itself."""
        return self

    @property
    def is_open(self) -> bool:
        """A date has two ends."""
        return False

    @property
    def is_day(self) -> bool:
        """Whether it names a day."""
        return self.day is not None

    def _within(self, year: int) -> DaySpan | None:
        if self.month is None:
            return DaySpan(date(year, 1, 1), date(year, 12, 31))
        if self.day is None:
            return month_of(year, self.month)
        try:
            day = date(year, self.month, self.day)
        except ValueError:  # 29 February of another year
            return None
        return DaySpan(day, day)


NamedTime = NamedDate | DaySpan


def valid_date(year: int | None, month: int, day: int | None) -> NamedDate | None:
    """The date, or None if no calendar has it."""
    if not 1 <= month <= 12 or (day is not None and not 1 <= day <= 31):
        return None
    if year is not None and not FIRST_YEAR < year < LAST_YEAR:
        return None
    if day is not None and day > monthrange(year or 2000, month)[1]:
        return None
    return NamedDate(year, month, day)


def overlap(one: DaySpan, other: DaySpan) -> bool:
    """Whether two spans share a day."""
    first, last = (
        max(one.first or date.min, other.first or date.min),
        min(one.last or date.max, other.last or date.max),
    )
    return first <= last


def month_of(year: int, month: int) -> DaySpan:
    """A month; its number may lie outside 1–12 and then counts on from the year."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    return DaySpan(date(year, month, 1), date(year, month, monthrange(year, month)[1]))


def months_of(year: int, month: int, count: int) -> DaySpan:
    """`count` months from a month on."""
    return DaySpan(month_of(year, month).first, month_of(year, month + count - 1).last)


def week_of(day: date) -> DaySpan:
    """The week, Monday to Sunday, of a day."""
    monday = day - ONE_DAY * day.weekday()
    return DaySpan(monday, monday + ONE_DAY * 6)


def day_of(day: date) -> DaySpan:
    """One day."""
    return DaySpan(day, day)


def local_day(moment: datetime) -> date:
    """The asker's day of a moment. The first moment of a day in UTC is how a memory says that day alone, in every zone."""
    moment = moment.astimezone(UTC)
    if moment.hour == moment.minute == moment.second == moment.microsecond == 0:
        return moment.date()
    return moment.astimezone(timezone.get_current_timezone()).date()


def moments_of(span: DaySpan) -> tuple[datetime | None, datetime | None]:
    """The first moment of a span, and the first after it. Where the zone is not UTC it is some hours wider than local_day()."""
    zone = timezone.get_current_timezone()
    first, last = span.first, span.last
    return (
        min(_midnight(first, UTC), _midnight(first, zone)) if first and first > date.min else None,
        max(_midnight(last, UTC) + ONE_SECOND, _midnight(last + ONE_DAY, zone))
        if last and last < date.max
        else None,
    )


def _midnight(day: date, zone: tzinfo) -> datetime:
    """The first moment of a day, in UTC."""
    return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)
