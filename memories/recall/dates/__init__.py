"""Time in words: dates in a question, questions that ask when, and texts that mention a time."""

from memories.recall.dates.mentions import asks_when, mentions_time
from memories.recall.dates.months import MONTH_NUMBER, WEEKDAYS
from memories.recall.dates.reading import NO_TIMES, ReadTimes, read_times
from memories.recall.dates.spans import DaySpan, NamedDate, NamedTime, local_day, moments_of

__all__ = [
    "MONTH_NUMBER",
    "NO_TIMES",
    "WEEKDAYS",
    "DaySpan",
    "NamedDate",
    "NamedTime",
    "ReadTimes",
    "asks_when",
    "local_day",
    "mentions_time",
    "moments_of",
    "read_times",
]
