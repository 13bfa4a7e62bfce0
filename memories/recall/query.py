"""Understanding a question: its words, its vector, the dates and the names it speaks of."""

import re
from dataclasses import dataclass

from memories.embedding import Encoder
from memories.index.base import Vector
from memories.index.terms import STOP_WORDS, Match, match_for

MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_MONTH_NUMBER = {name: number for number, name in enumerate(MONTHS, start=1)} | {
    name[:3]: number for number, name in enumerate(MONTHS, start=1)
}
_MONTH = "(" + "|".join(sorted(_MONTH_NUMBER, key=len, reverse=True)) + r")\b\.?"
_DAY = r"(?:the )?([0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?:,? ?(\d{4}))?"
_MONTH_FIRST = re.compile(rf"\b{_MONTH}(?: {_DAY}\b)?(?!\d){_YEAR}", re.I)
_DAY_FIRST = re.compile(rf"\b{_DAY}(?: of)? {_MONTH}{_YEAR}", re.I)
_ISO = re.compile(r"\b(\d{4})-(\d\d)(?:-(\d\d))?\b")
_YEAR_ALONE = re.compile(r"\b(19\d\d|20\d\d)\b")
_NAME = re.compile(r"\b[A-Z][\w'-]*\b")


@dataclass(frozen=True)
class NamedDate:
    """A date as a question names it; what it leaves open is None."""

    year: int | None = None
    month: int | None = None
    day: int | None = None


@dataclass(frozen=True)
class Question:
    """A question, understood. `vector` is None without a model, `match` where there is no word to look for."""

    text: str
    match: Match | None
    vector: Vector | None
    dates: tuple[NamedDate, ...] = ()
    names: frozenset[str] = frozenset()


def understand(text: str, *, encoder: Encoder | None) -> Question:
    """Give the question with its words, vector, dates and names (lower case)."""
    return Question(
        text=text,
        match=match_for(text),
        vector=encoder.encode_query(text) if encoder else None,
        dates=named_dates(text),
        names=names_in(text),
    )


def named_dates(text: str) -> tuple[NamedDate, ...]:
    """Find dates written out: `3 May 2023`, `May 3`, `in May 2023`, `2023-05-03`, `in 2023`."""
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


def names_in(text: str) -> frozenset[str]:
    """Find the words with a capital that are no question words or months, in lower case."""
    words = (word.lower().removesuffix("'s") for word in _NAME.findall(text))
    return frozenset(w for w in words if w not in STOP_WORDS and w not in _MONTH_NUMBER)


def _from_iso(match: re.Match[str]) -> NamedDate | None:
    year, month, day = match.groups()
    return _valid(int(year), int(month), int(day) if day else None)


def _from_day_first(match: re.Match[str]) -> NamedDate | None:
    day, month, year = match.groups()
    return _valid(int(year) if year else None, _MONTH_NUMBER[month.lower()], int(day))


def _from_month_first(match: re.Match[str]) -> NamedDate | None:
    month, day, year = match.groups()
    # "may" and "march" are verbs as well: in lower case without a day or year they say nothing of time.
    if month.islower() and not day and not year:
        return None
    return _valid(int(year) if year else None, _MONTH_NUMBER[month.lower()], int(day) if day else None)


def _valid(year: int | None, month: int, day: int | None) -> NamedDate | None:
    if not 1 <= month <= 12 or (day is not None and not 1 <= day <= 31):
        return None
    return NamedDate(year, month, day)
