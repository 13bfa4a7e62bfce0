"""Quantities in a text: numbers with units, dates, times and days, normalised so that 60 s equals 1 min."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memories.language.word_tables import parse_mapping, parse_words, read_sections

_TABLES: Final = read_sections("quantities")
_MONTHS: Final = _TABLES["months"][0].split()
_DAYS: Final = _TABLES["days"][0].split()
_DAY_SHORT: Final = {word: int(day) for word, day in parse_mapping(_TABLES["day abbreviations"]).items()}
_NUMBERS: Final = {word: float(number) for word, number in parse_mapping(_TABLES["numbers"]).items()}
# unit → measure and factor to the measure's base unit
_UNITS: Final = {
    unit: (measure, float(factor))
    for measure in ("duration", "size", "length", "weight", "frequency", "share")
    for unit, factor in parse_mapping(_TABLES[measure]).items()
}
_RATES: Final = {word: float(period) for word, period in parse_mapping(_TABLES["rates"]).items()}
_EVERY: Final = {tuple(words.split()): float(n) for words, n in parse_mapping(_TABLES["every"]).items()}
_MONEY: Final = parse_mapping(_TABLES["money"])
_ZONES: Final = parse_words(_TABLES["zones"])
_NUMBER: Final = re.compile(r"([$€£¥₹])?(\d[\d,]*(?:\.\d+)?)([a-z%€$£]{0,4})", re.I)
_VERSION: Final = re.compile(r"v?\d+(?:\.\d+){2,}[\w.-]*|v\d+(?:\.\d+)*", re.I)
_ISO: Final = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_TIME: Final = re.compile(r"(\d{1,2}):(\d{2})(?::\d{2})?(am|pm)?|(\d{1,2})(am|pm)", re.I)
_DIGIT: Final = re.compile(r"\d")
# Words without a digit that may begin a quantity.
_NAMED: Final = frozenset(
    [
        *_MONTHS,
        *(name[:3] for name in _MONTHS),
        *_DAYS,
        *(f"{name}s" for name in _DAYS),
        *_DAY_SHORT,
        *_NUMBERS,
        *_RATES,
        *(words[0] for words in _EVERY),
    ]
)
_RATE_TOLERANCE: Final = 0.1
_DAY: Final = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?", re.I)


@dataclass(frozen=True)
class Quantity:
    """A measure or a date: its kind, its parts (None for one that the text omits) and its number of words."""

    kind: str
    parts: tuple[float | str | None, ...]
    words: int

    @property
    def norm(self) -> str:
        """Equal for equal quantities, however they are written."""
        return f"{self.kind}:{'/'.join('' if part is None else str(part) for part in self.parts)}"


def differ(left: Quantity, right: Quantity) -> bool:
    """True if two quantities of one kind exclude each other; an omitted part matches any.

    Two periods count as one within RATE_TOLERANCE: "monthly" is "every 30 days".
    """
    if left.kind != right.kind:
        return False
    if left.kind == "rate":
        short, long_ = sorted(float(each.parts[0] or 0) for each in (left, right))
        return long_ > short * (1 + _RATE_TOLERANCE)
    return any(
        a != b for a, b in zip(left.parts, right.parts, strict=True) if a is not None and b is not None
    )


def read_quantity(raws: Sequence[str]) -> Quantity | None:
    """The quantity that the words begin with, if any."""
    low = [raw.strip(".,;:").casefold() for raw in raws]
    if not low or not low[0] or not (_DIGIT.search(low[0]) or low[0] in _NAMED):
        return None
    for reader in (_read_rate, _read_date, _read_time, _read_version, _read_weekday, _read_amount):
        found = reader(low)
        if found is not None:
            return found
    return None


def _month(word: str) -> int | None:
    if len(word) < 3:
        return None
    return next((n for n, name in enumerate(_MONTHS, start=1) if name == word or name[:3] == word), None)


def _read_date(low: list[str]) -> Quantity | None:
    """A date in ISO form or with its month in words; also a month alone."""
    iso = _ISO.fullmatch(low[0])
    if iso:
        return Quantity("date", (float(iso[1]), float(iso[2]), float(iso[3])), 1)
    rest = [*low[1:], "", "", ""]
    day, month = _DAY.fullmatch(low[0]), _month(low[0])
    if day and rest[0] == "of" and _month(rest[1]):
        return _dated(float(day[1]), _month(rest[1]), rest[2], 3)
    if day and _month(rest[0]):
        return _dated(float(day[1]), _month(rest[0]), rest[1], 2)
    if month and (second := _DAY.fullmatch(rest[0])):
        return _dated(float(second[1]), month, rest[1], 2)
    if month and low[0] != "may":
        return _dated(None, month, rest[0], 1)
    return None


def _dated(day: float | None, month: int | None, year: str, words: int) -> Quantity:
    """A date of so many words, and of one more if `year` is a year."""
    has_year = year.isdigit() and len(year) == 4
    return Quantity("date", (float(year) if has_year else None, month, day), words + has_year)


def _read_rate(low: list[str]) -> Quantity | None:
    """How often: weekly, every month, every 5 minutes, twice a day; the articles are gone by then."""
    if low[0] in _RATES:
        return Quantity("rate", (_RATES[low[0]],), 1)
    if low[0] in ("every", "each") and len(low) > 1 and (day := _read_weekday(low[1:])) is not None:
        return Quantity("weekday", day.parts, 2)
    for length in (2, 1):
        share = _EVERY.get(tuple(low[:length]))
        if share is None or len(low) <= length:
            continue
        period = _read_amount(low[length:])
        if period is not None and period.kind == "duration":
            return Quantity("rate", (round(share * float(period.parts[0] or 0), 3),), length + period.words)
        unit = _unit(low[length])
        if unit is not None and unit[0] == "duration" and len(low[length]) > 2:
            return Quantity("rate", (round(share * unit[1], 3),), length + 1)
    return None


def _read_time(low: list[str]) -> Quantity | None:
    """A time of day on the 24-hour clock, with its zone if one follows."""
    found = _TIME.fullmatch(low[0])
    rest = [*low[1:], ""]
    half = rest[0] if rest[0] in ("am", "pm") else ""
    if not found:
        if not (low[0].isdigit() and half):
            return None
        return Quantity("time", (int(low[0]) % 12 + 12 * (half == "pm"), 0, None), 2)
    hour, minute = int(found[1] or found[4]), int(found[2] or 0)
    half = half or (found[3] or found[5] or "").casefold()
    if half:
        hour = hour % 12 + 12 * (half == "pm")
    words = 1 + (rest[0] in ("am", "pm"))
    zone = low[words] if len(low) > words and low[words] in _ZONES else None
    return Quantity("time", (hour, minute, zone), words + (zone is not None))


def _read_version(low: list[str]) -> Quantity | None:
    return Quantity("version", (low[0].lstrip("v"),), 1) if _VERSION.fullmatch(low[0]) else None


def _read_weekday(low: list[str]) -> Quantity | None:
    """A day of the week; Monday is 0."""
    word = low[0].rstrip("s") if low[0] not in _DAY_SHORT else low[0]
    if word in _DAYS:
        return Quantity("weekday", (_DAYS.index(word),), 1)
    return Quantity("weekday", (_DAY_SHORT[low[0]],), 1) if low[0] in _DAY_SHORT else None


def _read_amount(low: list[str]) -> Quantity | None:
    """A number with its unit or currency, if it has one."""
    found = _NUMBER.fullmatch(low[0])
    if found is None:
        value = _NUMBERS.get(low[0])
        return None if value is None else _with_unit(value, low[1:2], 1)
    try:
        value = float(found[2].replace(",", ""))
    except ValueError:
        return None
    sign, glued = found[1], found[3]
    if sign:
        return Quantity("money", (value * _thousands(glued), _MONEY[sign]), 1)
    if glued and _unit(glued) is None and glued not in _MONEY:
        factor = _thousands(glued)
        return None if factor == 1 else _with_unit(value * factor, low[1:2], 1)
    return _with_unit(value, [glued], 0) if glued else _with_unit(value, low[1:2], 1)


def _thousands(glued: str) -> float:
    """Factor of a suffix such as k; 1 for any other text."""
    return {"k": 1e3, "m": 1e6}.get(glued, 1)


def _with_unit(value: float, following: list[str], words: int) -> Quantity:
    """The amount with its unit, if one follows; the number itself has `words` words."""
    unit = following[0] if following else ""
    if unit in _MONEY or unit.rstrip("s") in _MONEY:
        return Quantity("money", (value, _MONEY.get(unit) or _MONEY[unit.rstrip("s")]), words + 1)
    known = _unit(unit)
    if known is None:
        return Quantity("number", (value,), max(words, 1))
    return Quantity(known[0], (round(value * known[1], 9),), words + 1)


def _unit(word: str) -> tuple[str, float] | None:
    """Measure and factor of a unit in the singular or plural."""
    if word in _UNITS or len(word) < 3:
        return _UNITS.get(word)
    return _UNITS.get(word.removesuffix("es")) or _UNITS.get(word.removesuffix("s"))
