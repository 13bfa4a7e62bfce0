"""Dates written out: 25.01.2024, 2026-W25, 3 May 2023, Q3 2026, summer 2021, the last week of August."""

import re
from collections.abc import Callable
from datetime import date

from memories.recall.dates.months import EVERY_MONTH, MONTH_NUMBER, NUMBERS, ORDINALS, SEASON_MONTH, any_of
from memories.recall.dates.phrases import PHRASE, Phrases
from memories.recall.dates.spans import (
    ONE_DAY,
    DaySpan,
    NamedDate,
    NamedTime,
    month_of,
    months_of,
    valid_date,
    week_of,
)

Match = re.Match[str]
MAX_YEARS_AHEAD = 10  # a later number is no year: Cyberpunk 2077

_ALONE, _END = r"(?<![\w.:/-])", r"(?![\w/:-]|\.\d)"  # no part of a version, an address or a path
_YEAR_FIRST = re.compile(rf"{_ALONE}(\d{{4}})([-/.])(\d\d?)\2(\d\d?)(?:[T ]\d\d:\d\d\S*)?{_END}")
_WEEK_OF_YEAR = re.compile(rf"{_ALONE}(\d{{4}})-?W(\d\d?){_END}", re.I)
_DAY_MONTH = re.compile(rf"{_ALONE}(\d\d?)([-/.])(\d\d?)\2(\d{{4}}){_END}")
_SHORT_YEAR = re.compile(rf"{_ALONE}(\d\d?)/(\d\d?)/(\d\d){_END}")
_YEAR_MONTH = re.compile(rf"{_ALONE}(\d{{4}})-(\d\d){_END}")
_MONTH_YEAR = re.compile(rf"{_ALONE}(\d\d?)/(\d{{4}}){_END}")
_MONTH = rf"({any_of(EVERY_MONTH)})\b\.?"
_DAY = r"(?:the )?([0-3]?\d)(?:st|nd|rd|th|\.)?"
_YEAR = r"(?:,? ?(?:of )?(\d{4}|(?:this|last|next) year)\b)"
_DAY_FIRST = re.compile(rf"\b{_DAY}(?: of)? {_MONTH}{_YEAR}?", re.I)
_MONTH_FIRST = re.compile(rf"\b{_MONTH}(?: {_DAY}(?![\w:.-]))?{_YEAR}?", re.I)
_IN = re.compile(r"\b(?:in|of|during|since|until|till|before|after|early|late|mid)[ -]$", re.I)
_LAST = re.compile(r"\b(?:last|past|previous|this|current|next) $", re.I)  # relative.py knows which
_QUARTER = re.compile(r"\bQ([1-4])[ /-]?(\d{4})?\b", re.I)
_YEAR_QUARTER = re.compile(r"\b(\d{4})[ /-]?Q([1-4])\b", re.I)
_QUARTER_WORDS = re.compile(rf"\b(?:the )?({any_of(ORDINALS)}) quarter(?: (?:of|in))? (\d{{4}})\b", re.I)
_HALF_YEAR = re.compile(r"\bH([12])[ /-]?(\d{4})\b", re.I)
_WEEK = re.compile(
    r"\b(?:KW|CW|(?:calendar |(?<=in )|(?<=of )|(?<=since ))week) ?(\d\d?)\b(?:(?:,| of| in)? ?(\d{4})\b)?",
    re.I,
)
_WEEK_AND_YEAR = re.compile(r"\bweek (\d\d?)(?:,| of| in)? (\d{4})\b", re.I)
_SEASON = re.compile(rf"\b({any_of(SEASON_MONTH)})(?: of|,)? (\d{{4}})\b", re.I)
_BARE_YEAR = re.compile(r"(?<![\w.:/#$€£-])(19\d\d|20\d\d)(?![\w/:%-]|[.,]\d)")
_COUNT = rf"(?:(\d\d?|{any_of(NUMBERS)})(?: of)? )?"
_PART = re.compile(
    rf"\b(?:the )?(last|{any_of(ORDINALS)}) {_COUNT}(days?|weeks?|weekend|half) (?:of|in) ({PHRASE})", re.I
)
_FEW_DAYS = 7  # "the first days of May"


def mark_written(phrases: Phrases, *, today: date, order: str) -> None:
    """Mark the dates written out in the text. `order` says what 4/3/2026 is: "dmy" 4 March, "mdy" 3 April."""

    def numeric(first: str, second: str, year: str) -> NamedDate | None:
        a, b = int(first), int(second)
        day_first = valid_date(int(year), b, a)
        month_first = valid_date(int(year), a, b)
        return (month_first or day_first) if order == "mdy" else (day_first or month_first)

    def dotted(m: Match) -> NamedTime | None:
        return valid_date(int(m[4]), int(m[3]), int(m[1])) if m[2] == "." else numeric(m[1], m[3], m[4])

    def short_year(m: Match) -> NamedTime | None:
        year = 2000 + int(m[3])
        return numeric(m[1], m[2], str(year)) if year <= today.year + 1 else None

    readers: list[tuple[re.Pattern[str], Callable[[Match], NamedTime | None]]] = [
        (_YEAR_FIRST, lambda m: valid_date(int(m[1]), int(m[3]), int(m[4]))),
        (_WEEK_OF_YEAR, lambda m: iso_week(int(m[1]), int(m[2]))),
        (_DAY_MONTH, dotted),
        (_SHORT_YEAR, short_year),
        (_YEAR_MONTH, lambda m: valid_date(int(m[1]), int(m[2]), None)),
        (_MONTH_YEAR, lambda m: valid_date(int(m[2]), int(m[1]), None)),
        (_QUARTER_WORDS, lambda m: quarter(ORDINALS[m[1].lower()], int(m[2]))),
        (_YEAR_QUARTER, lambda m: quarter(int(m[2]), int(m[1]))),
        (_QUARTER, lambda m: quarter(int(m[1]), int(m[2])) if m[2] else latest_quarter(int(m[1]), today)),
        (_HALF_YEAR, lambda m: months_of(int(m[2]), 6 * int(m[1]) - 5, 6)),
        (_WEEK_AND_YEAR, lambda m: iso_week(int(m[2]), int(m[1]))),
        (_WEEK, lambda m: iso_week(int(m[2]), int(m[1])) if m[2] else latest_week(int(m[1]), today)),
        (_DAY_FIRST, lambda m: valid_date(year_of(m[3], today), EVERY_MONTH[m[2].lower()], int(m[1]))),
        (_MONTH_FIRST, lambda m: month_first(m, today)),
        (_SEASON, lambda m: months_of(int(m[2]), SEASON_MONTH[m[1].lower()], 3)),
        (
            _BARE_YEAR,
            lambda m: NamedDate(year=int(m[1])) if int(m[1]) <= today.year + MAX_YEARS_AHEAD else None,
        ),
        (_PART, lambda m: part_of(m, phrases, today)),
    ]
    for pattern, read in readers:
        phrases.mark(pattern, read)


def year_of(words: str | None, today: date) -> int | None:
    """The year in digits, or this, the last or the next one; None if none is named."""
    if not words:
        return None
    steps = {"this": 0, "last": -1, "next": 1}.get(words.split()[0].lower())
    return int(words) if steps is None else today.year + steps


def month_first(m: Match, today: date) -> NamedDate | None:
    """A month, with a day, a year, both or neither."""
    name, day, year = m[1].lower(), m[2], m[3]
    if not day and not (year and year.isdigit()):
        # "may" and "march" are verbs as well, and names of months are words or names in other languages.
        before = m.string[: m.start()]
        if name not in MONTH_NUMBER and not before.lower().endswith("im "):
            return None
        if _LAST.search(before) or (m[1].islower() and not _IN.search(before)):
            return None
    return valid_date(year_of(year, today), EVERY_MONTH[name], int(day) if day else None)


def part_of(m: Match, phrases: Phrases, today: date) -> DaySpan | None:
    """The first or last days, weeks, weekend or half of a span."""
    whole = phrases.time_of(m[4]).latest(today)
    if whole.first is None or whole.last is None:
        return None
    unit, which = m[3].lower().rstrip("s"), m[1].lower()
    uncounted = _FEW_DAYS if m[3].lower() == "days" else 1
    count = (NUMBERS.get(m[2].lower()) or int(m[2])) if m[2] else uncounted
    if unit == "half":
        middle = month_middle(whole)
        return (
            DaySpan(whole.first, middle)
            if which in ("first", "1st")
            else DaySpan(middle + ONE_DAY, whole.last)
        )
    if unit == "weekend":
        return weekend_of(whole, which)
    days = ONE_DAY * (count * (7 if unit == "week" else 1))
    if which == "last":
        return DaySpan(whole.last - days + ONE_DAY, whole.last)
    first = whole.first + days * (ORDINALS[which] - 1)
    return DaySpan(first, first + days - ONE_DAY)


def weekend_of(whole: DaySpan, which: str) -> DaySpan | None:
    """A weekend of a span, counted by its Sundays."""
    if whole.first is None or whole.last is None:
        return None
    if which == "last":
        sunday = whole.last - ONE_DAY * ((whole.last.weekday() + 1) % 7)
    else:
        sunday = whole.first + ONE_DAY * ((6 - whole.first.weekday()) + 7 * (ORDINALS[which] - 1))
    return DaySpan(sunday - ONE_DAY, sunday)


def month_middle(whole: DaySpan) -> date:
    """The last day of a span's first half: the 15th of a month, the end of June of a year."""
    first, last = whole.first or date.min, whole.last or date.max
    if (last - first).days > 31:
        middle = month_of(first.year, first.month + ((last - first).days // 30) // 2 - 1).last
        return middle or first
    return first + ONE_DAY * ((last - first).days // 2)


def quarter(number: int, year: int) -> DaySpan:
    """A quarter of a year."""
    return months_of(year, 3 * number - 2, 3)


def latest_quarter(number: int, today: date) -> DaySpan:
    """The last quarter of this number that has begun."""
    return quarter(number, today.year if 3 * number - 2 <= today.month else today.year - 1)


def iso_week(year: int, number: int) -> DaySpan | None:
    """A week of ISO 8601; None if the year has none of this number."""
    try:
        return week_of(date.fromisocalendar(year, number, 1))
    except ValueError:
        return None


def latest_week(number: int, today: date) -> DaySpan | None:
    """The last week of this number that has begun."""
    year, week, _ = today.isocalendar()
    return iso_week(year if number <= week else year - 1, number)
