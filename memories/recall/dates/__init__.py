"""The times that a text names, questions that ask when, and texts that mention a time."""

import re
from dataclasses import dataclass
from datetime import date

from django.conf import settings
from django.utils import timezone

from memories.language.word_tables import parse_words, read_sections
from memories.recall.dates.spans import NamedTime
from memories.recall.dates.written import (
    MONTHS,
    WEEKDAYS,
    Phrases,
    mark_beside,
    mark_bounds,
    mark_relative,
    mark_written,
)

_ASKS_WHEN = re.compile(r"\bwhen\b|\b(?:what|which) (?:date|time|day|month|year)\b", re.I)
_EVERY_WORD = re.compile(r"\w+")
# A set, looked up word by word: one pattern of all of them takes three times as long, over hundreds of texts.
_TIME_WORDS = frozenset(
    ["yesterday", "today", "tonight", "tomorrow", "last", "next", "ago", "recently", "since", "weekend", *MONTHS, *WEEKDAYS]
)  # fmt: skip
_DIGIT = re.compile(r"\d")
_SPAN_OR_YEAR = re.compile(r"\b(?:this (?:week|month|year|morning)|\d{4})\b")
READ_CHARS = 4_000  # of a stored text, searched for a time: every candidate is
MAX_CACHED_TEXTS = 50_000  # about 5 MB
_MENTIONS: dict[int, bool] = {}  # by Python's 64-bit hash of the text, valid in this process


def asks_when(question: str) -> bool:
    """Whether a question asks for a time."""
    return _ASKS_WHEN.search(question) is not None


def mentions_time(text: str) -> bool:
    """Whether a text mentions a time: `yesterday`, `last week`, `on Monday`, `in June`, `2019`.

    A question that asks when checks each of its candidates, and many are the next question's too, so results are cached.
    The cache holds hashes only: a purged text must not stay in it.
    """
    text = text[:READ_CHARS]
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
    if not _TIME_WORDS.isdisjoint(_EVERY_WORD.findall(lowered)):
        return True
    if "this " not in lowered and _DIGIT.search(lowered) is None:  # a quarter of the pattern's time
        return False
    return _SPAN_OR_YEAR.search(lowered) is not None


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
class _ReadTimes:
    """The times that a text names, the words that name them, and whether it asks for nothing else."""

    times: tuple[NamedTime, ...] = ()
    words: str = ""
    is_alone: bool = False


_NO_TIMES = _ReadTimes()


def read_times(text: str, *, today: date | None = None, order: str | None = None) -> _ReadTimes:
    """The times that a text names, written out or told from `today`, in the order in which they are named.

    `today` is the asker's, by default the present one in the current time zone; `order` is the setting retrieval.date_order.
    """
    if _MAY_NAME.search(text) is None:
        return _NO_TIMES
    today = today or timezone.localdate()
    phrases = Phrases(text)
    mark_written(phrases, today=today, order=order or settings.LOCI.retrieval.date_order)
    mark_beside(phrases, today=today)
    mark_relative(phrases, today=today)
    mark_bounds(phrases, today=today)
    if not (found := phrases.found()):
        return _NO_TIMES
    words = {word.lower() for word in _WORDS.findall(phrases.rest())}
    return _ReadTimes(
        tuple(dict.fromkeys(phrases.time_of(mark) for mark in found)),
        phrases.restore(" ".join(found)),
        words <= _EMPTY_WORDS and _YEAR_ALONE.match(text) is None,
    )
