"""Bar charts as numbers for a template. The server draws them as SVG: no script, and readable by screen readers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from math import ceil, log10

from django.utils.translation import gettext

from access.admin.columns import join_list

WIDTH, HEIGHT = 640, 150
LEFT, BOTTOM, TOP = 44, 20, 8  # margins for the scale, the dates and above the tallest bar
_BAR_SHARE = 0.7  # of a column's width
_DATES_SHOWN = 6


@dataclass(frozen=True)
class _BarSegment:
    """A segment of a stacked bar; `tone` is the class of its colour."""

    name: str
    tone: str
    value: int
    y: float
    height: float


@dataclass(frozen=True)
class _Bar:
    """A bar and its link; `description` is its tooltip and its text for screen readers."""

    label: str
    description: str
    link: str
    x: float
    width: float
    parts: tuple[_BarSegment, ...]

    @property
    def values(self) -> tuple[int, ...]:
        """The numbers of its segments, for the table."""
        return tuple(part.value for part in self.parts)


@dataclass(frozen=True)
class _AxisMark:
    """A line of the scale, or a date below a bar."""

    text: str
    at: float


@dataclass(frozen=True)
class Chart:
    """Bars over time. `summary` describes them in a sentence."""

    id: str
    title: str
    summary: str
    link: str
    names: tuple[tuple[str, str], ...]
    bars: tuple[_Bar, ...]
    scale: tuple[_AxisMark, ...]
    dates: tuple[_AxisMark, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    floor: int = HEIGHT - BOTTOM

    @property
    def is_empty(self) -> bool:
        return not any(value for bar in self.bars for value in bar.values)


@dataclass(frozen=True)
class Series:
    """One colour of a chart: its name, its class and its value in each column."""

    name: str
    tone: str
    values: Sequence[int]


@dataclass(frozen=True)
class Column:
    """One column of a chart: its date as text, and the URL of the rows behind it."""

    label: str
    link: str


def draw_chart(
    id_: str, title: str, series: Sequence[Series], columns: Sequence[Column], *, summary: str, link: str
) -> Chart:
    highest = max((sum(values) for values in zip(*(s.values for s in series), strict=True)), default=0)
    top = _round_up(highest)
    column_width = (WIDTH - LEFT) / max(len(columns), 1)
    bars = tuple(_draw_bar(column, at, column_width, series, top) for at, column in enumerate(columns))
    floor = HEIGHT - BOTTOM
    steps = sorted({0, top // 2, top})
    return Chart(
        id=id_,
        title=title,
        summary=summary,
        link=link,
        names=tuple((s.name, s.tone) for s in series),
        bars=bars,
        scale=tuple(_AxisMark(_short_number(n), round(floor - _bar_height(n, top), 1)) for n in steps),
        dates=tuple(
            _AxisMark(bar.label, round(bar.x + bar.width / 2, 1))
            for bar in bars[:: ceil(len(columns) / _DATES_SHOWN)]
        ),
    )


def _draw_bar(column: Column, at: int, column_width: float, series: Sequence[Series], top: int) -> _Bar:
    """The stacked bar of column number `at`; `top` is the value at the upper end of the scale."""
    parts, y = list[_BarSegment](), float(HEIGHT - BOTTOM)
    for each in series:
        height = _bar_height(each.values[at], top)
        y -= height
        parts.append(_BarSegment(each.name, each.tone, each.values[at], round(y, 1), round(height, 1)))
    values = join_list(f"{part.value:,} {part.name}" for part in parts)
    return _Bar(
        column.label,
        gettext("{label}: {text}").format(label=column.label, text=values),
        column.link,
        round(LEFT + column_width * (at + (1 - _BAR_SHARE) / 2), 1),
        round(column_width * _BAR_SHARE, 1),
        tuple(parts),
    )


def _bar_height(value: int, top: int) -> float:
    return (HEIGHT - BOTTOM - TOP) * value / top


def _round_up(value: int) -> int:
    """The next round number for the end of a scale: at least 4, and half of it whole."""
    if value <= 4:
        return 4
    unit: int = 10 ** int(log10(value))
    return next(unit * n for n in (1, 2, 4, 6, 8, 10) if unit * n >= value)


def _short_number(number: int) -> str:
    """A number in few characters: 9,999, 12k, 3M."""
    if number >= 1_000_000:
        return f"{number / 1_000_000:g}M"
    return f"{number / 1_000:g}k" if number >= 10_000 else f"{number:,}"


def last_days(today: date, count: int) -> list[date]:
    """The last `count` days, today included, in order."""
    return [today - timedelta(days=count - 1 - n) for n in range(count)]


def last_weeks(today: date, count: int) -> list[date]:
    """The Mondays of the last `count` weeks, this one included, in order."""
    monday = today - timedelta(days=today.weekday())
    return [monday - timedelta(weeks=count - 1 - n) for n in range(count)]


def sum_by_week(by_day: Mapping[date, int], mondays: Sequence[date]) -> list[int]:
    """Sums of daily counts for the weeks that begin on these Mondays."""
    sums = dict.fromkeys(mondays, 0)
    for day, count in by_day.items():
        monday = day - timedelta(days=day.weekday())
        if monday in sums:
            sums[monday] += count
    return [sums[monday] for monday in mondays]


@dataclass(frozen=True)
class Slice:
    """A part of a bar that shows a whole; `start` and `width` in percent."""

    name: str
    value: int
    start: float
    width: float


def stack_slices(counts: Mapping[str, int], *, whole: int) -> tuple[Slice, ...]:
    """The counts side by side along a bar whose full length is `whole`."""
    slices, start = list[Slice](), 0.0
    for name, value in counts.items():
        width = 100 * value / max(whole, 1)
        slices.append(Slice(name, value, round(start, 2), round(width, 2)))
        start += width
    return tuple(slices)
