"""Times told from the asker's now, from another date, or as a bound: last week, two days ago, the week before, since."""

import re
from collections.abc import Callable
from datetime import date

from memories.recall.dates.months import MONTH_NUMBER, MONTHS, NUMBERS, SEASON_MONTH, WEEKDAYS, any_of
from memories.recall.dates.phrases import PHRASE, Phrases
from memories.recall.dates.spans import ONE_DAY, DaySpan, NamedTime, day_of, month_of, months_of, week_of

Match = re.Match[str]

_NUMBER = rf"(\d{{1,3}}|{any_of(NUMBERS)})(?: of)?"
_UNIT = r"(hour|minute|day|week|month|quarter|year)"
UNIT_DAYS = {"hour": 0, "minute": 0, "day": 1, "week": 7, "month": 30, "quarter": 91, "year": 365}
_WEEKDAY = f"({'|'.join(WEEKDAYS)})"
_NEAR_DAY = re.compile(
    r"\b(?:the )?(day before yesterday|day after tomorrow|yesterday|last night|today|tonight|tomorrow"
    r"|this (?:morning|afternoon|evening))\b(?: (?:morning|afternoon|evening|night))?",
    re.I,
)
_NEAR_DAYS = {"day before yesterday": -2, "yesterday": -1, "last night": -1, "tomorrow": 1, "day after tomorrow": 2}  # fmt: skip
_DAY_AGO = re.compile(
    rf"\b(?:on )?(day before yesterday|yesterday|today|this day),? {_NUMBER} (week|year)s? ago\b", re.I
)
_AGO = re.compile(rf"\b(?:a )?(?!few){_NUMBER} {_UNIT}s? ago\b", re.I)  # "a few years ago" names no year
_ROLLING = re.compile(  # "in the last week" are seven days, "last week" and "from last week" are a week
    rf"\b(?:in|over|within|during|for|from) (?:(?:the )?(?:last|past|previous) {_NUMBER}|the (?:last|past|previous)|past) {_UNIT}s?\b",
    re.I,
)
_LAST_SOME = re.compile(rf"\b(?:the )?(?:last|past|previous) {_NUMBER} {_UNIT}s\b", re.I)
_NAMES = f"{_WEEKDAY[1:-1]}|{'|'.join(MONTHS)}|{'|'.join(SEASON_MONTH)}"
_WHICH = re.compile(
    rf"\b(last|past|previous|this|current|next) (week(?:end)?|month|quarter|year|{_NAMES})\b", re.I
)
_ON_WEEKDAY = re.compile(
    rf"\b(?:on |(?<=since )|(?<=before )|(?<=after )|(?<=until )|(?<=by )){_WEEKDAY}\b(?! (?:and|or) |[ /]\w+(?:ing|noon|night)s\b)",
    re.I,
)
# Beside another date.
_SOME_BESIDE = re.compile(rf"\b{_NUMBER} {_UNIT}s? (before|after) ({PHRASE})", re.I)
_BESIDE = re.compile(
    rf"\b(?:the |last |on )*(week(?:end)?|day|month|{_WEEKDAY[1:-1]}),? (before|after|of|on) ({PHRASE})", re.I
)
_BETWEEN = re.compile(
    rf"\b(?:between|from) (?:the )?({PHRASE}) (?:and|to|until|till|through) (?:the )?({PHRASE})", re.I
)
_BOUND = re.compile(
    rf"\b(since|after|from|starting|before|prior to|until|till|up to|by|as of)(?: about| around| the)? ({PHRASE})(?: on(?:wards?)?\b)?",
    re.I,
)
_PAST = re.compile(r"\b(?:did|was|were|had)\b", re.I)


def mark_beside(phrases: Phrases, *, today: date) -> None:
    """Mark what is told from another date: the week before 3 August, two weeks after 1 May.

    The date itself belongs to the span: what happened in the week before is often told on that day.
    """

    def some_beside(m: Match) -> NamedTime | None:
        anchor = phrases.time_of(m[4]).latest(today)
        days = number(m[1]) * UNIT_DAYS[m[2].lower()]
        if m[3].lower() == "before":
            return DaySpan(anchor.first - ONE_DAY * days, anchor.first) if anchor.first else None
        return DaySpan(anchor.last, anchor.last + ONE_DAY * days) if anchor.last else None

    def beside(m: Match) -> NamedTime | None:
        anchor = phrases.time_of(m[3]).latest(today)
        if anchor.first is None or anchor.last is None:
            return None
        return span_beside(m[1].lower(), m[2].lower(), anchor.first, anchor.last)

    phrases.mark(_SOME_BESIDE, some_beside)
    phrases.mark(_BESIDE, beside)


def span_beside(unit: str, side: str, first: date, last: date) -> DaySpan | None:
    """The week, weekend, day, month or weekday before, after or of a span of days, with the days in between."""
    if unit == "week" and side == "of":
        return week_of(first)
    if unit in UNIT_DAYS and side in ("before", "after"):
        days = ONE_DAY * UNIT_DAYS[unit]
        return DaySpan(first - days, first) if side == "before" else DaySpan(last, last + days)
    if unit == "weekend":
        sunday = first - ONE_DAY * (first.isoweekday() % 7 or 7)
        return DaySpan(sunday - ONE_DAY, first) if side == "before" else None
    if unit in WEEKDAYS and side in ("before", "on"):
        back = (first.weekday() - WEEKDAYS.index(unit)) % 7
        return DaySpan(first - ONE_DAY * (back or (7 if side == "before" else 0)), first)
    return None


def mark_relative(phrases: Phrases, *, today: date) -> None:
    """Mark what is told from now: yesterday, two days ago, in the last three weeks, this month, last Friday."""
    readers: list[tuple[re.Pattern[str], Callable[[Match], NamedTime | None]]] = [
        (_DAY_AGO, lambda m: day_ago(m, today)),
        (_NEAR_DAY, lambda m: day_of(today + ONE_DAY * _NEAR_DAYS.get(m[1].lower(), 0))),
        (_AGO, lambda m: span_ago(number(m[1]), m[2].lower(), today)),
        (_ROLLING, lambda m: rolling(number(m[1] or "one"), m[2].lower(), today)),
        (_LAST_SOME, lambda m: rolling(number(m[1]), m[2].lower(), today)),
        (_WHICH, lambda m: which_span(m[1].lower(), m[2].lower(), today)),
        (_ON_WEEKDAY, lambda m: phrases.day_on(WEEKDAYS.index(m[1].lower()), today) or on_weekday(m, today)),
    ]
    for pattern, read in readers:
        phrases.mark(pattern, read)


def day_ago(m: Match, today: date) -> DaySpan:
    """The day so many weeks or years before a near one: yesterday three years ago."""
    day, count = today + ONE_DAY * _NEAR_DAYS.get(m[1].lower(), 0), number(m[2])
    if m[3].lower() == "week":
        return day_of(day - ONE_DAY * 7 * count)
    is_leap_day = (day.month, day.day) == (2, 29)
    return day_of((day - ONE_DAY if is_leap_day else day).replace(year=day.year - count))


def number(word: str) -> int:
    """The number of a word or of digits."""
    return NUMBERS.get(word.lower()) or int(word)


def span_ago(count: int, unit: str, today: date) -> DaySpan | None:
    """So many units ago: the day, or the seven days around it, the month, the quarter or the year."""
    if unit == "day":
        return day_of(today - ONE_DAY * count)
    if unit == "week":
        middle = today - ONE_DAY * 7 * count
        return DaySpan(middle - ONE_DAY * 3, middle + ONE_DAY * 3)
    if unit in ("hour", "minute"):
        return (
            DaySpan(today - ONE_DAY * -(-count // 24), today)
            if unit == "hour" and count > 1
            else day_of(today)
        )
    return calendar_span(unit, -count, today)


def rolling(count: int, unit: str, today: date) -> DaySpan | None:
    """The days up to today that so many units reach back."""
    if unit in ("hour", "minute"):
        return span_ago(count, unit, today)
    if unit in ("day", "week"):
        return DaySpan(today - ONE_DAY * count * UNIT_DAYS[unit], today)
    months = count * {"month": 1, "quarter": 3, "year": 12}[unit]
    month = month_of(today.year, today.month - months)
    if month.first is None or month.last is None:
        return None
    return DaySpan(month.first.replace(day=min(today.day, month.last.day)), today)


def calendar_span(unit: str, steps: int, today: date) -> DaySpan | None:
    """The week, weekend, month, quarter or year of today, or so many steps from it."""
    if unit == "week":
        return week_of(today + ONE_DAY * 7 * steps)
    if unit == "month":
        return month_of(today.year, today.month + steps)
    if unit == "quarter":
        return months_of(today.year, (today.month - 1) // 3 * 3 + 1 + 3 * steps, 3)
    if unit == "year":
        return months_of(today.year + steps, 1, 12)
    monday = today + ONE_DAY * (7 * steps - today.weekday())
    return DaySpan(monday + ONE_DAY * 5, monday + ONE_DAY * 6)


def which_span(which: str, name: str, today: date) -> DaySpan | None:
    """The last, this or the next week, weekend, month, quarter, year, weekday, month by name, or season."""
    steps = {"this": 0, "current": 0, "next": 1}.get(which, -1)
    if name in ("week", "weekend", "month", "quarter", "year"):
        return calendar_span(name, steps, today)
    if name in WEEKDAYS:
        monday = today - ONE_DAY * today.weekday()
        day = monday + ONE_DAY * (WEEKDAYS.index(name) + (7 if steps > 0 else 0))
        return day_of(day - ONE_DAY * 7 if steps < 0 and day >= today else day)
    month, count = (MONTH_NUMBER[name], 1) if name in MONTH_NUMBER else (SEASON_MONTH[name], 3)
    this = months_of(today.year, month, count)
    if this.first is None or this.last is None:
        return None
    if steps == 0:
        # In January, "this winter" began last year.
        return this if this.first <= today or count == 1 or month != 12 else months_of(today.year - 1, 12, 3)
    if steps < 0:
        return this if this.last < today else months_of(today.year - 1, month, count)
    return this if this.first > today else months_of(today.year + 1, month, count)


def on_weekday(m: Match, today: date) -> DaySpan:
    """The last such day, or with "by" and "until" the next; loose unless the question is about the past."""
    is_past = _PAST.search(m.string) is not None
    wanted = WEEKDAYS.index(m[1].lower())
    before = m.string[: m.start()].lower()
    if before.endswith(("by ", "until ")) and not is_past:
        return DaySpan(day := today + ONE_DAY * ((wanted - today.weekday()) % 7), day, is_loose=True)
    day = today - ONE_DAY * ((today.weekday() - wanted) % 7)
    return DaySpan(day, day, is_loose=not is_past)


def mark_bounds(phrases: Phrases, *, today: date) -> None:
    """Mark spans between two dates, and dates that are a bound: since, after, before, until, by, as of."""

    def between(m: Match) -> NamedTime | None:
        last = phrases.time_of(m[2]).latest(today)
        first = phrases.time_of(m[1]).latest(last.last or today)
        return DaySpan(first.first, last.last) if not (first.is_open or last.is_open) else None

    def bound(m: Match) -> NamedTime | None:
        word, span = m[1].lower(), phrases.time_of(m[2]).latest(today)
        if word in ("since", "from", "starting"):
            is_bound = word == "since" or m[0].lower().endswith(("on", "onward", "onwards"))
            return DaySpan(span.first, None) if span.first and is_bound else None
        if word == "after":
            return DaySpan(span.last + ONE_DAY, None) if span.last else None
        if word in ("before", "prior to"):
            return DaySpan(None, span.first - ONE_DAY) if span.first else None
        return DaySpan(None, span.last) if span.last else None

    phrases.mark(_BETWEEN, between)
    phrases.mark(_BOUND, bound)
