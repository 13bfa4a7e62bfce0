"""The days that a stored text names: read when it is stored, since each question that names a day asks for them."""

from datetime import date, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Final

from django.conf import settings

from memories.language.dates import spans, written
from memories.language.dates.spans import local_day
from memories.language.dates.written import READ_CHARS, read_times

# Other rules read other days: whatever was read by them is read anew.
_RULES: Final = blake2b(
    b"".join(Path(str(module.__file__)).read_bytes() for module in (spans, written)), digest_size=4
).hexdigest()


def day_reader() -> str:
    """What reads days, with the order of numbers in dates: the beginning of each column that it wrote."""
    return f"{_RULES}-{settings.LOCI.retrieval.date_order}"


def keep_days(text: str, moment: datetime) -> str:
    """The column of a text of this moment: what read it, its day, and the days that it names from there."""
    day = local_day(moment)
    return " ".join(map(str, [day_reader(), day, *_read_days(text, day)]))


def named_days(text: str, day: date, kept: str | None) -> list[date]:
    """The days that a text of this day names; from its column if the same rules wrote it for the same day."""
    found = (kept or "").split(" ")
    if found[:2] == [day_reader(), str(day)]:
        return [date.fromisoformat(each) for each in found[2:]]
    return _read_days(text, day)


def _read_days(text: str, day: date) -> list[date]:
    times = read_times(text[:READ_CHARS], today=day).times
    return [first for time in times if time.is_day and (first := time.latest(day).first) is not None]
