"""Numbers with their measure, dates, times and days in a text, so that 60 s and 1 min are the same."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_MONTHS: Final = [
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
_DAYS: Final = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_DAY_SHORT: Final = {
    "mon": 0,
    "tue": 1,
    "tues": 1,
    "wed": 2,
    "thu": 3,
    "thurs": 3,
    "fri": 4,
    "sat": 5,
    "sun": 6,
}
_NUMBERS: Final = {
    word: float(number)
    for number, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
        ]
    )
} | {"twenty": 20.0, "thirty": 30.0, "forty": 40.0, "fifty": 50.0, "sixty": 60.0, "hundred": 100.0}
# measure → unit → factor to the measure's own unit
_MEASURES: Final[dict[str, dict[str, float]]] = {
    "duration": {
        "ms": 0.001, "millisecond": 0.001, "s": 1, "sec": 1, "second": 1, "min": 60, "minute": 60, "h": 3600,
        "hour": 3600, "hr": 3600, "day": 86_400, "week": 604_800, "month": 2_629_800, "year": 31_557_600,
    },
    "size": {
        "b": 1, "byte": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 2**10, "mib": 2**20, "gib": 2**30,
    },
    "length": {"mm": 0.001, "cm": 0.01, "m": 1, "km": 1000, "inch": 0.0254, "ft": 0.3048, "mile": 1609.34},
    "weight": {"g": 0.001, "kg": 1, "lb": 0.4536},
    "frequency": {"hz": 1, "khz": 1e3, "mhz": 1e6, "ghz": 1e9},
    "share": {"%": 1, "percent": 1},
}  # fmt: skip
_UNITS: Final = {
    unit: (measure, factor) for measure, units in _MEASURES.items() for unit, factor in units.items()
}
_MONEY: Final = {
    "$": "usd", "usd": "usd", "dollar": "usd", "€": "eur", "eur": "eur", "euro": "eur", "£": "gbp", "gbp": "gbp",
    "pound": "gbp", "chf": "chf", "franc": "chf", "¥": "jpy", "yen": "jpy", "₹": "inr",
}  # fmt: skip
_ZONES: Final = frozenset(["utc", "gmt", "cet", "cest", "est", "edt", "pst", "pdt", "ist", "jst"])
_NUMBER: Final = re.compile(r"([$€£¥₹])?(\d[\d,]*(?:\.\d+)?)([a-z%€$£]{0,4})", re.I)
_VERSION: Final = re.compile(r"v?\d+(?:\.\d+){2,}[\w.-]*|v\d+(?:\.\d+)*", re.I)
_ISO: Final = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_TIME: Final = re.compile(r"(\d{1,2}):(\d{2})(?::\d{2})?(am|pm)?|(\d{1,2})(am|pm)", re.I)
_HINT: Final = re.compile(r"\d")
_NAMED: Final = frozenset(
    [
        *_MONTHS,
        *(name[:3] for name in _MONTHS),
        *_DAYS,
        *(f"{name}s" for name in _DAYS),
        *_DAY_SHORT,
        *_NUMBERS,
    ]
)
_DAY: Final = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?", re.I)


@dataclass(frozen=True)
class Quantity:
    """Something measured or dated: its kind, its parts (None where the text leaves one out), how many words it takes."""

    kind: str
    parts: tuple[float | str | None, ...]
    words: int

    @property
    def norm(self) -> str:
        """The same for two texts that say the same."""
        return f"{self.kind}:{'/'.join('' if part is None else str(part) for part in self.parts)}"


def differ(left: Quantity, right: Quantity) -> bool:
    """Say whether two quantities of one kind rule each other out; a part that one of them leaves out may be any."""
    if left.kind != right.kind:
        return False
    return any(
        a != b for a, b in zip(left.parts, right.parts, strict=True) if a is not None and b is not None
    )


def read_quantity(raws: Sequence[str]) -> Quantity | None:
    """Give the quantity that the words begin with; None where they begin with none."""
    low = [raw.strip(".,;:").casefold() for raw in raws]
    if not low or not low[0] or not (_HINT.search(low[0]) or low[0] in _NAMED):
        return None
    for reader in (_date, _time, _version, _day_name, _amount):
        found = reader(low)
        if found is not None:
            return found
    return None


def _month(word: str) -> int | None:
    if len(word) < 3:
        return None
    return next((n for n, name in enumerate(_MONTHS, start=1) if name == word or name[:3] == word), None)


def _date(low: list[str]) -> Quantity | None:
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
    has_year = year.isdigit() and len(year) == 4
    return Quantity("date", (float(year) if has_year else None, month, day), words + has_year)


def _time(low: list[str]) -> Quantity | None:
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


def _version(low: list[str]) -> Quantity | None:
    return Quantity("version", (low[0].lstrip("v"),), 1) if _VERSION.fullmatch(low[0]) else None


def _day_name(low: list[str]) -> Quantity | None:
    word = low[0].rstrip("s") if low[0] not in _DAY_SHORT else low[0]
    if word in _DAYS:
        return Quantity("weekday", (_DAYS.index(word),), 1)
    return Quantity("weekday", (_DAY_SHORT[low[0]],), 1) if low[0] in _DAY_SHORT else None


def _amount(low: list[str]) -> Quantity | None:
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
    return {"k": 1e3, "m": 1e6}.get(glued, 1)


def _with_unit(value: float, following: list[str], words: int) -> Quantity:
    """Give the amount with the unit that follows, where one does; `words` is how many the number itself took."""
    unit = following[0] if following else ""
    if unit in _MONEY or unit.rstrip("s") in _MONEY:
        return Quantity("money", (value, _MONEY.get(unit) or _MONEY[unit.rstrip("s")]), words + 1)
    known = _unit(unit)
    if known is None:
        return Quantity("number", (value,), max(words, 1))
    return Quantity(known[0], (round(value * known[1], 9),), words + 1)


def _unit(word: str) -> tuple[str, float] | None:
    if word in _UNITS or len(word) < 3:
        return _UNITS.get(word)
    return _UNITS.get(word.removesuffix("es")) or _UNITS.get(word.removesuffix("s"))
