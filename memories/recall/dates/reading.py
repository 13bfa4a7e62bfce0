"""The time that a question names, and whether it asks for nothing else."""

import re
from dataclasses import dataclass
from datetime import date

from django.conf import settings
from django.utils import timezone

from memories.language.word_tables import parse_words, read_sections
from memories.recall.dates.phrases import Phrases
from memories.recall.dates.relative import mark_beside, mark_bounds, mark_relative
from memories.recall.dates.spans import NamedTime
from memories.recall.dates.written import mark_written

# Without one of these no text names a time: most questions end here.
_MAY_NAME = re.compile(
    r"\d{4}|\d/\d|\bQ[1-4]\b|\b(?:kw|cw|week) ?\d|yesterday|today|tonight|tomorrow|\bago\b"
    r"|\b(?:last|past|previous|this|current|next) \w"
    r"|\bon (?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:since|before|after|until|by) (?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\b|\bim m",
    re.I,
)
_WORDS = re.compile(r"[^\W_]+(?:['’]\w+)?")
# Words of a question that asks for a time and nothing more.
_EMPTY_WORDS = parse_words(read_sections("question_words")["beside a time"])
_YEAR_ALONE = re.compile(r"^\W*\d{4}\W*$")


@dataclass(frozen=True)
class ReadTimes:
    """The times that a text names, the words that name them, and whether it asks for nothing else."""

    times: tuple[NamedTime, ...] = ()
    words: str = ""
    is_alone: bool = False


NO_TIMES = ReadTimes()


def read_times(text: str, *, today: date | None = None, order: str | None = None) -> ReadTimes:
    """The times that a text names, written out or told from `today`, in the order in which they are named.

    `today` is the asker's, by default the present one in the current time zone; `order` is the setting retrieval.date_order.
    """
    if _MAY_NAME.search(text) is None:
        return NO_TIMES
    today = today or timezone.localdate()
    phrases = Phrases(text)
    mark_written(phrases, today=today, order=order or settings.LOCI.retrieval.date_order)
    mark_beside(phrases, today=today)
    mark_relative(phrases, today=today)
    mark_bounds(phrases, today=today)
    return result_of(text, phrases)


def result_of(text: str, phrases: Phrases) -> ReadTimes:
    """The times that are marked."""
    found = phrases.found()
    if not found:
        return NO_TIMES
    words = {word.lower() for word in _WORDS.findall(phrases.rest())}
    return ReadTimes(
        tuple(dict.fromkeys(phrases.time_of(mark) for mark in found)),
        phrases.restore(" ".join(found)),
        words <= _EMPTY_WORDS and _YEAR_ALONE.match(text) is None,
    )
