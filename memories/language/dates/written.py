"""Times in texts: written out (25.01.2024, 3 May 2023, Q3 2026), told from now or another date (last week), or as a bound (since May).

Also questions that ask when, and texts that mention any time.
"""

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date

from django.conf import settings
from django.utils import timezone

from memories.language.dates.spans import (
    ONE_DAY,
    DaySpan,
    NamedDate,
    NamedTime,
    day_of,
    month_of,
    months_of,
    valid_date,
    week_of,
)
from memories.language.languages import language_of, tables_of, times_in_english
from memories.language.word_tables import parse_words, read_sections

_STOP_WORDS = parse_words(read_sections("stop_words")["stop words"])
MONTHS = ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"]  # fmt: skip
MONTH_NUMBER = {name: number for number, name in enumerate(MONTHS, start=1)} | {
    name[:3]: number for number, name in enumerate(MONTHS, start=1)
}
MONTH_NUMBER["sept"] = 9
# In other languages, read only next to a day or a year: Julio, Mai and Avril are people as well.
_OTHER_LANGUAGES = (
    "januar februar märz april mai juni juli august september oktober november dezember",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
)
_EVERY_MONTH = {
    name: number for names in _OTHER_LANGUAGES for number, name in enumerate(names.split(), start=1)
} | MONTH_NUMBER
WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_SEASON_MONTH = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # the first of three
NUMBERS = {
    word: number
    for number, words in enumerate(
        ("", "a an one", "two couple", "three few", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    )
    for word in words.split()
}  # fmt: skip
_ORDINALS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}


def _any_of(words: Iterable[str]) -> str:
    """A pattern of any of the words, the longest first."""
    return "(?:" + "|".join(sorted(words, key=len, reverse=True)) + ")"


# Characters that no text means anything with (Unicode's private use area); each stands for one time.
_FIRST_MARK = 0xE000
_MAX_TIMES = 32  # a text that names more is not a question
_PHRASE = f"[{chr(_FIRST_MARK)}-{chr(_FIRST_MARK + _MAX_TIMES - 1)}]"
_ANY = re.compile(_PHRASE)


class _Phrases:
    """A text, the times found in it, and the words that name each."""

    def __init__(self, text: str) -> None:
        self.text = " ".join(_ANY.sub(" ", text).split())
        self._times: list[NamedTime] = []
        self._words: list[str] = []

    def mark(self, pattern: re.Pattern[str], read: Callable[[re.Match[str]], NamedTime | None]) -> None:
        """Replace what the pattern matches by a mark wherever `read` makes a time of it."""

        def replace(match: re.Match[str]) -> str:
            time: NamedTime | None = None
            # No calendar has the year 10000, and no table "ſeptember", which re.I matches.
            with suppress(LookupError, OverflowError, ValueError):
                time = read(match)
            if time is None or len(self._times) >= _MAX_TIMES:
                return match[0]
            self._times.append(time)
            self._words.append(self.restore(match[0]))
            return chr(_FIRST_MARK + len(self._times) - 1)

        self.text = pattern.sub(replace, self.text)

    def time_of(self, mark: str) -> NamedTime:
        """The time that a mark stands for."""
        return self._times[ord(mark) - _FIRST_MARK]

    def day_on(self, weekday: int, today: date) -> NamedTime | None:
        """The first day that the text names besides and that falls on this weekday (0 is Monday): Tuesday, 1 September."""
        for time in self._times:
            first = time.latest(today).first if time.is_day else None  # without a year, the latest such day
            if first is not None and first.weekday() == weekday:
                return time
        return None

    def restore(self, text: str) -> str:
        """A text with the words that its marks stand for."""
        return _ANY.sub(lambda mark: self._words[ord(mark[0]) - _FIRST_MARK], text)

    def found(self) -> list[str]:
        """The marks that are left in the text, each once, in order."""
        return list(dict.fromkeys(_ANY.findall(self.text)))

    def rest(self) -> str:
        """The text without its times."""
        return _ANY.sub(" ", self.text)


Match = re.Match[str]

_NUMBER = rf"(\d{{1,3}}|{_any_of(NUMBERS)})(?: of)?"
_UNIT = r"(hour|minute|day|week|fortnight|month|quarter|year)"
_UNIT_DAYS = {"hour": 0, "minute": 0, "day": 1, "week": 7, "fortnight": 14, "month": 30, "quarter": 91, "year": 365}  # fmt: skip
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
    rf"\b(?:in|over|within|during|for|from) (?:(?:the )?(last|past|previous|next|coming) {_NUMBER}"
    rf"|the (last|past|previous|next|coming)|(past|coming)) {_UNIT}s?\b",
    re.I,
)
_SOME = re.compile(rf"\b(?:the )?(last|past|previous|next|coming) {_NUMBER} {_UNIT}s\b", re.I)
_NAMES = f"{_WEEKDAY[1:-1]}|{'|'.join(MONTHS)}|{'|'.join(_SEASON_MONTH)}"
_PERIOD = r"(week(?:end)?|month|quarter|year)"
_WHICH = re.compile(
    rf"\b(?:(earlier|later) )?(?:this )?(last|past|previous|this|current|next|coming) ({_PERIOD[1:-1]}|fortnight|{_NAMES})\b",
    re.I,
)
_SECOND = re.compile(rf"\bthe {_PERIOD} (before last|after next)\b", re.I)
_WEEKEND = re.compile(r"\b(?:at|on|for|over) the (weekend)\b", re.I)
# After a name that is another word as well: spring is a time in "in spring we …", and none in "in Spring Boot".
_STOPS = rf"(?=[^\w -]| (?:{'|'.join(sorted(_STOP_WORDS - {'of'}))})\b|$)"
_SEASON_ALONE = re.compile(
    rf"\b(?:in|during|since|before|until) (?:the )?({_any_of(_SEASON_MONTH)}){_STOPS}", re.I
)
_ON_DAY = re.compile(
    rf"\b(?:on|for|by|until|since|before|after) the ([0-3]?\d)(?:st|nd|rd|th)(?: (?:of )?(?:this|the) month\b|{_STOPS})",
    re.I,
)
_ON_WEEKDAY = re.compile(
    rf"\b(?:on |for |(?<=since )|(?<=before )|(?<=after )|(?<=until )|(?<=by )){_WEEKDAY}\b(?! (?:and|or) |[ /]\w+(?:ing|noon|night)s\b)",
    re.I,
)
# Next to another date.
_SOME_BESIDE = re.compile(rf"\b{_NUMBER} {_UNIT}s? (before|after) ({_PHRASE})", re.I)
_BESIDE = re.compile(
    rf"\b(?:the |last |on )*(week(?:end)?|day|month|{_WEEKDAY[1:-1]}),? (before|after|of|on) ({_PHRASE})",
    re.I,
)
_BETWEEN = re.compile(
    rf"\b(?:between|from) (?:the )?({_PHRASE}) (?:and|to|until|till|through) (?:the )?({_PHRASE})", re.I
)
_BOUND = re.compile(
    rf"\b(since|after|from|starting|before|prior to|until|till|up to|by|as of)(?: about| around| the)? ({_PHRASE})(?: on(?:wards?)?\b)?",
    re.I,
)
_PAST = re.compile(r"\b(?:did|was|were|had|been)\b", re.I)
_AHEAD = re.compile(
    r"\b(?:is|are|am|will|shall|should|must|can|do|does|plans?|planned|planning|scheduled|due|upcoming|coming|calendar|agenda)\b|['’](?:s|re|ll)\b",
    re.I,
)
_COMING = re.compile(
    r"\b(?:coming up|upcoming|up next|ahead of us|in the (?:near )?future)\b|(?<=\bwhat)(?:['’]s| is| comes) next(?=\W*$)",
    re.I,
)


def _mark_beside(phrases: _Phrases, *, today: date) -> None:
    """Mark what is told from another date: the week before 3 August, two weeks after 1 May.

    The date itself belongs to the span: what happened in the week before is often told on that day.
    """

    def some_beside(m: Match) -> NamedTime | None:
        anchor = phrases.time_of(m[4]).latest(today)
        days = _number(m[1]) * _UNIT_DAYS[m[2].lower()]
        if m[3].lower() == "before":
            return DaySpan(anchor.first - ONE_DAY * days, anchor.first) if anchor.first else None
        return DaySpan(anchor.last, anchor.last + ONE_DAY * days) if anchor.last else None

    def beside(m: Match) -> NamedTime | None:
        anchor = phrases.time_of(m[3]).latest(today)
        if anchor.first is None or anchor.last is None:
            return None
        return _span_beside(m[1].lower(), m[2].lower(), anchor.first, anchor.last)

    phrases.mark(_SOME_BESIDE, some_beside)
    phrases.mark(_BESIDE, beside)


def _span_beside(unit: str, side: str, first: date, last: date) -> DaySpan | None:
    """The week, weekend, day, month or weekday before, after or of a span of days, with the days in between."""
    if unit == "week" and side == "of":
        return week_of(first)
    if unit in _UNIT_DAYS and side in ("before", "after"):
        days = ONE_DAY * _UNIT_DAYS[unit]
        return DaySpan(first - days, first) if side == "before" else DaySpan(last, last + days)
    if unit == "weekend":
        sunday = first - ONE_DAY * (first.isoweekday() % 7 or 7)
        return DaySpan(sunday - ONE_DAY, first) if side == "before" else None
    if unit in WEEKDAYS and side in ("before", "on"):
        back = (first.weekday() - WEEKDAYS.index(unit)) % 7
        return DaySpan(first - ONE_DAY * (back or (7 if side == "before" else 0)), first)
    return None


def _mark_relative(phrases: _Phrases, *, today: date) -> None:
    """Mark what is told from now: yesterday, two days ago, in the last three weeks, this month, last Friday."""
    readers: list[tuple[re.Pattern[str], Callable[[Match], NamedTime | None]]] = [
        (_DAY_AGO, lambda m: _day_ago(m, today)),
        (_NEAR_DAY, lambda m: day_of(today + ONE_DAY * _NEAR_DAYS.get(m[1].lower(), 0))),
        (_AGO, lambda m: _span_ago(_number(m[1]), m[2].lower(), today)),
        (_ROLLING, lambda m: _rolling(m[1] or m[3] or m[4], _number(m[2] or _some(m)), m[5].lower(), today)),
        (_SOME, lambda m: _rolling(m[1], _number(m[2]), m[3].lower(), today)),
        (_ON_DAY, lambda m: _on_day(int(m[1]), today, is_ahead=_is_ahead(m))),
        (_SECOND, lambda m: _calendar_span(m[1].lower(), 2 if m[2].lower() == "after next" else -2, today)),
        (_WHICH, lambda m: _part_around(m[1], _which_span(m[2].lower(), m[3].lower(), today), today)),
        (_WEEKEND, lambda m: _calendar_span(m[1].lower(), 0 if _is_ahead(m) else -1, today)),
        (_SEASON_ALONE, lambda m: None if _is_ahead(m) else _last_season(m[1].lower(), today)),
        (_ON_WEEKDAY, lambda m: phrases.day_on(WEEKDAYS.index(m[1].lower()), today) or _on_weekday(m, today)),
    ]
    for pattern, read in readers:
        phrases.mark(pattern, read)
    if not phrases.found():  # "coming up next week" is next week
        phrases.mark(_COMING, lambda _: DaySpan(today + ONE_DAY, None))


def _day_ago(m: Match, today: date) -> DaySpan:
    """The day so many weeks or years before a near one: yesterday three years ago."""
    day, count = today + ONE_DAY * _NEAR_DAYS.get(m[1].lower(), 0), _number(m[2])
    if m[3].lower() == "week":
        return day_of(day - ONE_DAY * 7 * count)
    is_leap_day = (day.month, day.day) == (2, 29)
    return day_of((day - ONE_DAY if is_leap_day else day).replace(year=day.year - count))


def _number(word: str) -> int:
    """The number of a word or of digits."""
    return NUMBERS.get(word.lower()) or int(word)


def _span_ago(count: int, unit: str, today: date) -> DaySpan | None:
    """So many units ago: the day, or the seven days around it, the month, the quarter or the year."""
    if unit == "day":
        return day_of(today - ONE_DAY * count)
    if unit in ("week", "fortnight"):
        middle = today - ONE_DAY * _UNIT_DAYS[unit] * count
        return DaySpan(middle - ONE_DAY * 3, middle + ONE_DAY * 3)
    if unit in ("hour", "minute"):
        days = -(-count // 24) if unit == "hour" and count > 1 else 0
        return DaySpan(today - ONE_DAY * days, today)
    return _calendar_span(unit, -count, today)


def _rolling(which: str, count: int, unit: str, today: date) -> DaySpan | None:
    """The days up to today that so many units reach back, or from today that they reach ahead."""
    sign = 1 if which.lower() in ("next", "coming") else -1
    if unit in ("hour", "minute"):
        return _span_ago(count, unit, today) if sign < 0 else None
    if unit in ("day", "week", "fortnight"):
        end = today + ONE_DAY * sign * count * _UNIT_DAYS[unit]
    else:
        months = count * {"month": 1, "quarter": 3, "year": 12}[unit]
        month = month_of(today.year, today.month + sign * months)
        if month.first is None or month.last is None:
            return None
        end = month.first.replace(day=min(today.day, month.last.day))
    return DaySpan(min(end, today), max(end, today))


def _some(m: Match) -> str:
    """How many "the last weeks" are, and "the last week"."""
    return "few" if m[0].lower().endswith("s") else "one"


def _part_around(part: str | None, span: DaySpan | None, today: date) -> DaySpan | None:
    """The span, or its part up to today (earlier this month) or from today on (later this month)."""
    if part is None or span is None:
        return span
    return DaySpan(span.first, today) if part.lower() == "earlier" else DaySpan(today, span.last)


def _is_ahead(m: Match) -> bool:
    """Whether the text around speaks of what is to come: what is planned for Friday?"""
    return _PAST.search(m.string) is None and _AHEAD.search(m.string) is not None


def _on_day(day: int, today: date, *, is_ahead: bool) -> DaySpan | None:
    """The last day of this number, or the next one."""
    steps = range(0, 3) if is_ahead else range(0, -3, -1)
    months = [
        first for step in steps if (first := month_of(today.year, today.month + step).first) is not None
    ]
    days = (named for month in months if (named := valid_date(month.year, month.month, day)) is not None)
    spans = (named.latest(today) for named in days)
    return next(
        (span for span in spans if span.first and (span.first >= today if is_ahead else span.first <= today)),
        None,
    )


def _calendar_span(unit: str, steps: int, today: date) -> DaySpan | None:
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


def _which_span(which: str, name: str, today: date) -> DaySpan | None:
    """The last, this or the next week, weekend, month, quarter, year, weekday, month by name, or season."""
    steps = {"this": 0, "the": 0, "current": 0, "next": 1, "coming": 1}.get(which, -1)
    if name == "fortnight":
        return _rolling(which, 1, name, today)
    if name in ("week", "weekend", "month", "quarter", "year"):
        return _calendar_span(name, steps, today)
    if name in WEEKDAYS and which == "coming":
        return day_of(today + ONE_DAY * ((WEEKDAYS.index(name) - today.weekday() - 1) % 7 + 1))
    if name in WEEKDAYS:
        monday = today - ONE_DAY * today.weekday()
        day = monday + ONE_DAY * (WEEKDAYS.index(name) + (7 if steps > 0 else 0))
        return day_of(day - ONE_DAY * 7 if steps < 0 and day >= today else day)
    month, count = (MONTH_NUMBER[name], 1) if name in MONTH_NUMBER else (_SEASON_MONTH[name], 3)
    this = months_of(today.year, month, count)
    if this.first is None or this.last is None:
        return None
    if steps == 0:
        # In January, "this winter" began last year.
        return this if this.first <= today or count == 1 or month != 12 else months_of(today.year - 1, 12, 3)
    if steps < 0:
        return this if this.last < today else months_of(today.year - 1, month, count)
    return this if this.first > today else months_of(today.year + 1, month, count)


def _last_season(season: str, today: date) -> DaySpan | None:
    """The last season of this name that has begun: how a tree is pruned in winter is asked of every one."""
    this = _which_span("this", season, today)
    return this if this and this.first and this.first <= today else _which_span("last", season, today)


def _on_weekday(m: Match, today: date) -> DaySpan:
    """The last such day, or the next of what is to come or has a bound; loose unless the text says which."""
    is_past, is_ahead = _PAST.search(m.string) is not None, _is_ahead(m)
    wanted = WEEKDAYS.index(m[1].lower())
    if is_ahead or (m.string[: m.start()].lower().endswith(("by ", "until ")) and not is_past):
        return DaySpan(day := today + ONE_DAY * ((wanted - today.weekday()) % 7), day, is_loose=not is_ahead)
    day = today - ONE_DAY * ((today.weekday() - wanted) % 7)
    return DaySpan(day, day, is_loose=not is_past)


def _mark_bounds(phrases: _Phrases, *, today: date) -> None:
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


_MAX_YEARS_AHEAD = 10  # a later number is not a year: Cyberpunk 2077

_ALONE, _END = r"(?<![\w.:/-])", r"(?![\w/:-]|\.\d)"  # no part of a version, an address or a path
_YEAR_FIRST = re.compile(rf"{_ALONE}(\d{{4}})([-/.])(\d\d?)\2(\d\d?)(?:[T ]\d\d:\d\d\S*)?{_END}")
_WEEK_OF_YEAR = re.compile(rf"{_ALONE}(\d{{4}})-?W(\d\d?){_END}", re.I)
_DAY_MONTH = re.compile(rf"{_ALONE}(\d\d?)([-/.])(\d\d?)\2(\d{{4}}){_END}")
_SHORT_YEAR = re.compile(rf"{_ALONE}(\d\d?)/(\d\d?)/(\d\d){_END}")
_YEAR_MONTH = re.compile(rf"{_ALONE}(\d{{4}})-(\d\d){_END}")
_MONTH_YEAR = re.compile(rf"{_ALONE}(\d\d?)/(\d{{4}}){_END}")
_MONTH = rf"({_any_of(_EVERY_MONTH)})\b\.?"
_DAY = r"(?:the )?([0-3]?\d)(?:st|nd|rd|th|\.)?"
_YEAR = r"(?:,? ?(?:of |in )?(\d{4}|(?:this|last|next|the) year)\b)"
_DAY_FIRST = re.compile(rf"\b{_DAY}(?: of)? {_MONTH}{_YEAR}?", re.I)
_MONTH_FIRST = re.compile(rf"\b{_MONTH}(?: {_DAY}(?![\w:.-]))?{_YEAR}?", re.I)
_IN = re.compile(r"\b(?:in|of|during|since|until|till|before|after|early|late|mid)[ -]$", re.I)
_BEFORE_CHARS = 12  # that _IN and _LAST read
_LAST = re.compile(r"\b(?:last|past|previous|this|current|next) $", re.I)  # _WHICH knows which
_QUARTER = re.compile(rf"\bQ([1-4])(?:[/-]?{_YEAR})?\b", re.I)
_YEAR_QUARTER = re.compile(r"\b(\d{4})[ /-]?Q([1-4])\b", re.I)
_QUARTER_WORDS = re.compile(rf"\b(?:the )?({_any_of(_ORDINALS)}) quarter(?:{_YEAR}|{_STOPS})", re.I)
_HALF_YEAR = re.compile(rf"\bH([12])[/-]?{_YEAR}", re.I)
_WEEK = re.compile(
    r"\b(?:KW|CW|(?:calendar |(?<=in )|(?<=of )|(?<=since ))week) ?(\d\d?)\b(?:(?:,| of| in)? ?(\d{4})\b)?",
    re.I,
)
_WEEK_AND_YEAR = re.compile(r"\bweek (\d\d?)(?:,| of| in)? (\d{4})\b", re.I)
_SEASON = re.compile(rf"\b({_any_of(_SEASON_MONTH)}){_YEAR}", re.I)
# "Last year in summer" is read as "summer last year".
_YEAR_BEFORE = re.compile(
    rf"\b((?:this|last|next) year)(?:['’]s)?,? (?:in )?(?:the )?(Q[1-4]|{_any_of(_SEASON_MONTH)}|{_any_of(MONTHS)}"
    rf"|{_any_of(_ORDINALS)} (?:quarter|half))\b",
    re.I,
)
_BARE_YEAR = re.compile(r"(?<![\w.:/#$€£-])(19\d\d|20\d\d)(?![\w/:%-]|[.,]\d)")
_COUNT = rf"(?:(\d\d?|{_any_of(NUMBERS)})(?: of)? )?"
_PART = re.compile(
    rf"\b(?:the )?(?:(last|{_any_of(_ORDINALS)}) {_COUNT}(days?|weeks?|weekend|half)|(beginning|start|middle|end))"
    rf" (?:of|in) (?:({_PHRASE})|(the|this|last|past|previous|next) (week|month|quarter|year)\b)",
    re.I,
)
_FEW_DAYS = 7  # "the first days of May"


def _mark_written(phrases: _Phrases, *, today: date, order: str) -> None:
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
        (_WEEK_OF_YEAR, lambda m: _iso_week(int(m[1]), int(m[2]))),
        (_DAY_MONTH, dotted),
        (_SHORT_YEAR, short_year),
        (_YEAR_MONTH, lambda m: valid_date(int(m[1]), int(m[2]), None)),
        (_MONTH_YEAR, lambda m: valid_date(int(m[2]), int(m[1]), None)),
        (_QUARTER_WORDS, lambda m: _quarter(_ORDINALS[m[1].lower()], m[2], today)),
        (_YEAR_QUARTER, lambda m: _quarter(int(m[2]), m[1], today)),
        (_QUARTER, lambda m: _quarter(int(m[1]), m[2], today)),
        (_HALF_YEAR, lambda m: months_of(_year_of(m[2], today) or today.year, 6 * int(m[1]) - 5, 6)),
        (_WEEK_AND_YEAR, lambda m: _iso_week(int(m[2]), int(m[1]))),
        (_WEEK, lambda m: _iso_week(int(m[2]), int(m[1])) if m[2] else _latest_week(int(m[1]), today)),
        (_DAY_FIRST, lambda m: valid_date(_year_of(m[3], today), _EVERY_MONTH[m[2].lower()], int(m[1]))),
        (_MONTH_FIRST, lambda m: _month_first(m, today)),
        (_SEASON, lambda m: months_of(_year_of(m[2], today) or today.year, _SEASON_MONTH[m[1].lower()], 3)),
        (
            _BARE_YEAR,
            lambda m: NamedDate(year=int(m[1])) if int(m[1]) <= today.year + _MAX_YEARS_AHEAD else None,
        ),
        (_PART, lambda m: _part_of(m, phrases, today)),
    ]
    for pattern, read in readers:
        phrases.mark(pattern, read)


def _year_of(words: str | None, today: date) -> int | None:
    """The year in digits, or this, the last or the next one; None if none is named."""
    if not words:
        return None
    steps = {"this": 0, "the": 0, "last": -1, "next": 1}.get(words.split()[0].lower())
    return int(words) if steps is None else today.year + steps


def _month_first(m: Match, today: date) -> NamedDate | None:
    """A month, with a day, a year, both or neither."""
    name, day, year = m[1].lower(), m[2], m[3]
    if not day and not (year and year.isdigit()):
        # "may" and "march" are verbs as well, and names of months are words or names in other languages.
        before = m.string[max(0, m.start() - _BEFORE_CHARS) : m.start()]
        if name not in MONTH_NUMBER and not before.lower().endswith("im "):
            return None
        if _LAST.search(before) or (m[1].islower() and not _IN.search(before)):
            return None
    return valid_date(_year_of(year, today), _EVERY_MONTH[name], int(day) if day else None)


def _part_of(m: Match, phrases: _Phrases, today: date) -> DaySpan | None:
    """The first or last days, weeks, weekend or half of a span, or the third of it that is its beginning, middle or end."""
    named = phrases.time_of(m[5]) if m[5] else None
    if m[4] and isinstance(named, NamedDate) and named.year is None:
        return None  # February of every year; its end would be that of one
    whole = named.latest(today) if named else _which_span(m[6].lower(), m[7].lower(), today)
    if whole is None or whole.first is None or whole.last is None:
        return None
    if m[4]:
        third = ONE_DAY * (((whole.last - whole.first).days + 1) // 3)
        middle = DaySpan(whole.first + third, whole.last - third)
        ends = {"middle": middle, "end": DaySpan(whole.last - third + ONE_DAY, whole.last)}
        return ends.get(m[4].lower(), DaySpan(whole.first, whole.first + third - ONE_DAY))
    unit, which = m[3].lower().rstrip("s"), m[1].lower()
    uncounted = _FEW_DAYS if m[3].lower() == "days" else 1
    count = _number(m[2]) if m[2] else uncounted
    if unit == "half":
        middle_day = _month_middle(whole)
        return (
            DaySpan(whole.first, middle_day)
            if which in ("first", "1st")
            else DaySpan(middle_day + ONE_DAY, whole.last)
        )
    if unit == "weekend":
        return _weekend_of(whole, which)
    days = ONE_DAY * (count * (7 if unit == "week" else 1))
    if which == "last":
        return DaySpan(whole.last - days + ONE_DAY, whole.last)
    first = whole.first + days * (_ORDINALS[which] - 1)
    return DaySpan(first, first + days - ONE_DAY)


def _weekend_of(whole: DaySpan, which: str) -> DaySpan | None:
    """A weekend of a span, counted by its Sundays."""
    if whole.first is None or whole.last is None:
        return None
    if which == "last":
        sunday = whole.last - ONE_DAY * ((whole.last.weekday() + 1) % 7)
    else:
        sunday = whole.first + ONE_DAY * ((6 - whole.first.weekday()) + 7 * (_ORDINALS[which] - 1))
    return DaySpan(sunday - ONE_DAY, sunday)


def _month_middle(whole: DaySpan) -> date:
    """The last day of a span's first half: the 15th of a month, the end of June of a year."""
    first, last = whole.first or date.min, whole.last or date.max
    if (last - first).days > 31:
        middle = month_of(first.year, first.month + ((last - first).days // 30) // 2 - 1).last
        return middle or first
    return first + ONE_DAY * ((last - first).days // 2)


def _quarter(number: int, year: str | None, today: date) -> DaySpan:
    """A quarter of a year; without one, the last of this number that has begun."""
    latest = today.year if 3 * number - 2 <= today.month else today.year - 1
    return months_of(_year_of(year, today) or latest, 3 * number - 2, 3)


def _iso_week(year: int, number: int) -> DaySpan:
    return week_of(date.fromisocalendar(year, number, 1))


def _latest_week(number: int, today: date) -> DaySpan:
    """The last week of this number that has begun."""
    year, week, _ = today.isocalendar()
    return _iso_week(year if number <= week else year - 1, number)


READ_CHARS = 4_000  # of a stored text, searched for a time: every candidate is

# Without one of these no text names a time: most questions end here.
_MAY_NAME = re.compile(
    r"\d{4}|\d/\d|\bQ[1-4]\b|\b(?:kw|cw|week) ?\d|yesterday|today|tonight|tomorrow|\bago\b|coming|next|ahead of us|the weekend"
    r"|\b(?:last|past|previous|this|current) \w|quarter|the year|(?:of|in) the (?:week|month)|in the (?:near )?future|the \d|before last"
    r"|\b(?:on|for|since|before|after|until|by) (?:mon|tues|wednes|thurs|fri|satur|sun)day|spring|summer|autumn|\bfall|winter"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\b|\bim m",
    re.I,
)
_WORDS = re.compile(r"[^\W_]+(?:['’]\w+)?")
# Words of a question that asks for a time and nothing more.
_QUESTION_WORDS = read_sections("question_words")
_EMPTY_WORDS, _WRONG_WORDS = (parse_words(_QUESTION_WORDS[name]) for name in ("next to a time", "went wrong"))
_YEAR_ALONE = re.compile(r"^\W*\d{4}\W*$")


@dataclass(frozen=True)
class _ReadTimes:
    """The times that a text names, the words that name them, and whether it asks for nothing else, or what went wrong then."""

    times: tuple[NamedTime, ...] = ()
    words: str = ""
    is_alone: bool = False
    asks_wrong: bool = False


def read_times(text: str, *, today: date | None = None, order: str | None = None) -> _ReadTimes:
    """The times that a text names, written out or told from `today`, in the order in which they are named.

    `today` is the asker's, by default the present one in the current time zone; `order` is the setting retrieval.date_order.
    """
    tables, foreign = tables_of(language_of(text)), list[str]()
    if tables is not None:
        text, foreign = times_in_english(text, tables)
    if _MAY_NAME.search(text) is None:
        return _ReadTimes()
    today = today or timezone.localdate()
    phrases = _Phrases(_YEAR_BEFORE.sub(r"\2 \1", text))
    _mark_written(phrases, today=today, order=order or settings.LOCI.retrieval.date_order)
    _mark_beside(phrases, today=today)
    _mark_relative(phrases, today=today)
    _mark_bounds(phrases, today=today)
    if not (found := phrases.found()):
        return _ReadTimes()
    rest = phrases.rest() if tables is None else tables.empty.sub(" ", phrases.rest())
    words = {word.lower() for word in _WORDS.findall(rest)}
    return _ReadTimes(
        tuple(dict.fromkeys(phrases.time_of(mark) for mark in found)),
        " ".join([phrases.restore(" ".join(found)), *foreign]),
        words <= _EMPTY_WORDS and _YEAR_ALONE.match(text) is None,
        asks_wrong=words <= _EMPTY_WORDS | _WRONG_WORDS and not words <= _EMPTY_WORDS,
    )
