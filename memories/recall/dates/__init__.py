"""Time in words: dates in a question, questions that ask when, and texts that mention a time."""

from memories.recall.dates.mentions import asks_when, mentions_time
from memories.recall.dates.months import MONTH_NUMBER
from memories.recall.dates.reading import NO_TIMES, ReadTimes, named_times, read_times
from memories.recall.dates.spans import NamedDate, NamedTime, DaySpan, local_day, moments_of

__all__ = [
    "MONTH_NUMBER",
    "NO_TIMES",
    "NamedDate",
    "NamedTime",
    "ReadTimes",
    "DaySpan",
    "asks_when",
    "local_day",
    "mentions_time",
    "moments_of",
    "named_times",
    "read_times",
]
