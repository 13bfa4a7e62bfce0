"""Time in words: dates in a question, questions that ask when, and texts that mention a time. English only."""

import re
from dataclasses import dataclass

MONTHS = ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"]  # fmt: skip
MONTH_NUMBER = {name: number for number, name in enumerate(MONTHS, start=1)} | {
    name[:3]: number for number, name in enumerate(MONTHS, start=1)
}
_MONTH = "(" + "|".join(sorted(MONTH_NUMBER, key=len, reverse=True)) + r")\b\.?"
_DAY = r"(?:the )?([0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?:,? ?(\d{4}))?"
_MONTH_FIRST = re.compile(rf"\b{_MONTH}(?: {_DAY}\b)?(?!\d){_YEAR}", re.I)
_DAY_FIRST = re.compile(rf"\b{_DAY}(?: of)? {_MONTH}{_YEAR}", re.I)
_ISO = re.compile(r"\b(\d{4})-(\d\d)(?:-(\d\d))?\b")
_YEAR_ALONE = re.compile(r"\b(19\d\d|20\d\d)\b")
_ASKS_WHEN = re.compile(r"\bwhen\b|\b(?:what|which) (?:date|time|day|month|year)\b", re.I)
_WORDS = re.compile(r"\w+")
# A set, looked up word by word: one pattern of all of them takes three times as long, over hundreds of texts.
_TIME_WORDS = frozenset(
    [
        "yesterday",
        "today",
        "tonight",
        "tomorrow",
        "last",
        "next",
        "ago",
        "recently",
        "since",
        "weekend",
        *MONTHS,
    ]
    + [f"{day}day" for day in ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun")]
)
_DIGIT = re.compile(r"\d")
_SPAN_OR_YEAR = re.compile(r"\b(?:this (?:week|month|year|morning)|\d{4})\b")
MAX_CACHED_TEXTS = 50_000  # about 5 MB
_MENTIONS: dict[int, bool] = {}  # by Python's 64-bit hash of the text, valid in this process


@dataclass(frozen=True)
class NamedDate:
    """A date as a question names it; parts that it leaves open are None."""

    year: int | None = None
    month: int | None = None
    day: int | None = None

    def __str__(self) -> str:
        return "-".join(str(part) if part is not None else "*" for part in (self.year, self.month, self.day))


def named_dates(text: str) -> tuple[NamedDate, ...]:
    """Dates written out in a text: `3 May 2023`, `May 3`, `in May 2023`, `2023-05-03`, `in 2023`."""
    found: list[NamedDate] = []
    rest = text
    for pattern, make in (
        (_ISO, _from_iso),
        (_DAY_FIRST, _from_day_first),
        (_MONTH_FIRST, _from_month_first),
    ):
        for match in pattern.finditer(rest):
            date = make(match)
            if date is not None:
                found.append(date)
        rest = pattern.sub(" ", rest)
    found += [NamedDate(year=int(year)) for year in _YEAR_ALONE.findall(rest)]
    return tuple(dict.fromkeys(found))


def asks_when(question: str) -> bool:
    """Whether a question asks for a time."""
    return _ASKS_WHEN.search(question) is not None


def mentions_time(text: str) -> bool:
    """Whether a text mentions a time: `yesterday`, `last week`, `on Monday`, `in June`, `2019`.

    A question that asks when checks each of its candidates, and many are the next question's too, so results are cached.
    The cache holds hashes only: a purged text must not stay in it.
    """
    text_hash = hash(text)
    known = _MENTIONS.get(text_hash)
    if known is None:
        if len(_MENTIONS) >= MAX_CACHED_TEXTS:
            _MENTIONS.clear()
        known = _MENTIONS[text_hash] = search_time(text)
    return known


def search_time(text: str) -> bool:
    """mentions_time() without its cache."""
    lowered = text.lower()
    if not _TIME_WORDS.isdisjoint(_WORDS.findall(lowered)):
        return True
    if "this " not in lowered and _DIGIT.search(lowered) is None:  # a quarter of the pattern's time
        return False
    return _SPAN_OR_YEAR.search(lowered) is not None


def _from_iso(match: re.Match[str]) -> NamedDate | None:
    year, month, day = match.groups()
    return valid_date(int(year), int(month), int(day) if day else None)


def _from_day_first(match: re.Match[str]) -> NamedDate | None:
    day, month, year = match.groups()
    return valid_date(int(year) if year else None, MONTH_NUMBER[month.lower()], int(day))


def _from_month_first(match: re.Match[str]) -> NamedDate | None:
    month, day, year = match.groups()
    # "may" and "march" are verbs as well: in lower case without a day or year they name no date.
    if month.islower() and not day and not year:
        return None
    return valid_date(int(year) if year else None, MONTH_NUMBER[month.lower()], int(day) if day else None)


def valid_date(year: int | None, month: int, day: int | None) -> NamedDate | None:
    """The date, or None if no calendar has its month or day."""
    if not 1 <= month <= 12 or (day is not None and not 1 <= day <= 31):
        return None
    return NamedDate(year, month, day)
