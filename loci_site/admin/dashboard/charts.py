"""Bar charts as numbers for a template: the server draws them as SVG, so they need no script and can be read aloud."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from math import ceil, log10

WIDTH, HEIGHT = 640, 150
LEFT, BOTTOM, TOP = 44, 20, 8  # room for the scale, the dates and the tallest bar's end
BAR_SHARE = 0.7  # of the room that each bar has
DATES_SHOWN = 6


@dataclass(frozen=True)
class BarSegment:
    """A piece of a stacked bar; `tone` is its colour's class."""

    name: str
    tone: str
    value: int
    y: float
    height: float


@dataclass(frozen=True)
class Bar:
    """A bar with where it leads; `says` is read aloud and shown when pointed at."""

    label: str
    says: str
    link: str
    x: float
    width: float
    parts: tuple[BarSegment, ...]

    @property
    def values(self) -> tuple[int, ...]:
        """The numbers of its parts, for the table."""
        return tuple(part.value for part in self.parts)


@dataclass(frozen=True)
class AxisMark:
    """A line of the scale, or a date below a bar."""

    text: str
    at: float


@dataclass(frozen=True)
class Chart:
    """Bars over time. `summary` says in a sentence what they show."""

    id: str
    title: str
    summary: str
    link: str
    names: tuple[tuple[str, str], ...]
    bars: tuple[Bar, ...]
    scale: tuple[AxisMark, ...]
    dates: tuple[AxisMark, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    floor: int = HEIGHT - BOTTOM

    @property
    def is_empty(self) -> bool:
        """True where there is nothing to be drawn."""
        return not any(value for bar in self.bars for value in bar.values)


@dataclass(frozen=True)
class Series:
    """One colour of a chart: its name, its class and its number for each column."""

    name: str
    tone: str
    values: Sequence[int]


@dataclass(frozen=True)
class Column:
    """One place of a chart: its date as it is written, and the list behind it."""

    label: str
    link: str


def draw(
    id_: str, title: str, series: Sequence[Series], columns: Sequence[Column], *, summary: str, link: str
) -> Chart:
    """Give a chart with the series of each column on top of each other."""
    most = _round_up(
        max((sum(values) for values in zip(*(s.values for s in series), strict=True)), default=0)
    )
    room = (WIDTH - LEFT) / max(len(columns), 1)
    bars = tuple(_bar(column, at, room, series, most) for at, column in enumerate(columns))
    every = ceil(len(columns) / DATES_SHOWN)
    floor = HEIGHT - BOTTOM
    return Chart(
        id=id_,
        title=title,
        summary=summary,
        link=link,
        names=tuple((s.name, s.tone) for s in series),
        bars=bars,
        scale=tuple(AxisMark(_short(n), round(floor - _high(n, most), 1)) for n in _steps(most)),
        dates=tuple(AxisMark(bar.label, round(bar.x + bar.width / 2, 1)) for bar in bars[::every]),
    )


def _bar(column: Column, at: int, room: float, series: Sequence[Series], most: int) -> Bar:
    parts, top = list[BarSegment](), float(HEIGHT - BOTTOM)
    for each in series:
        height = _high(each.values[at], most)
        top -= height
        parts.append(BarSegment(each.name, each.tone, each.values[at], round(top, 1), round(height, 1)))
    said = ", ".join(f"{part.value:,} {part.name}" for part in parts)
    return Bar(
        column.label,
        f"{column.label}: {said}",
        column.link,
        round(LEFT + room * (at + (1 - BAR_SHARE) / 2), 1),
        round(room * BAR_SHARE, 1),
        tuple(parts),
    )


def _high(value: int, most: int) -> float:
    return (HEIGHT - BOTTOM - TOP) * value / most


def _round_up(most: int) -> int:
    """Give the next number that a scale can end at: whose half is whole, 4 at least."""
    if most <= 4:
        return 4
    unit: int = 10 ** int(log10(most))
    return next(unit * n for n in (1, 2, 4, 6, 8, 10) if unit * n >= most)


def _steps(most: int) -> list[int]:
    return sorted({0, most // 2, most})


def _short(number: int) -> str:
    if number >= 1_000_000:
        return f"{number / 1_000_000:g}M"
    return f"{number / 1_000:g}k" if number >= 10_000 else f"{number:,}"


def last_days(today: date, count: int) -> list[date]:
    """Give so many days up to today."""
    return [today - timedelta(days=count - 1 - n) for n in range(count)]


def last_weeks(today: date, count: int) -> list[date]:
    """Give the Mondays of so many weeks up to this one."""
    monday = today - timedelta(days=today.weekday())
    return [monday - timedelta(weeks=count - 1 - n) for n in range(count)]


def in_weeks(by_day: Mapping[date, int], mondays: Sequence[date]) -> list[int]:
    """Sum days' counts into the weeks that begin on these Mondays."""
    found = dict.fromkeys(mondays, 0)
    for day, count in by_day.items():
        monday = day - timedelta(days=day.weekday())
        if monday in found:
            found[monday] += count
    return [found[monday] for monday in mondays]


@dataclass(frozen=True)
class Slice:
    """A part of a bar that shows a whole: where it begins and how wide it is, of 100."""

    name: str
    value: int
    start: float
    width: float


def slices(counts: Mapping[str, int], *, whole: int) -> tuple[Slice, ...]:
    """Lay counts side by side along a bar whose full length is `whole`."""
    found, start = list[Slice](), 0.0
    for name, value in counts.items():
        width = 100 * value / max(whole, 1)
        found.append(Slice(name, value, round(start, 2), round(width, 2)))
        start += width
    return tuple(found)
