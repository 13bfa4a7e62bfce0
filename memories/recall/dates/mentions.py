"""Questions that ask when, and texts that mention a time. English only."""

import re

from memories.recall.dates.months import MONTHS, WEEKDAYS

_ASKS_WHEN = re.compile(r"\bwhen\b|\b(?:what|which) (?:date|time|day|month|year)\b", re.I)
_WORDS = re.compile(r"\w+")
# A set, looked up word by word: one pattern of all of them takes three times as long, over hundreds of texts.
_TIME_WORDS = frozenset(
    [
        "yesterday",
        "today",
        "tonight",
        "tomorrow",
        "last",
        "next",
        "ago",
        "recently",
        "since",
        "weekend",
        *MONTHS,
        *WEEKDAYS,
    ]
)
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
    if not _TIME_WORDS.isdisjoint(_WORDS.findall(lowered)):
        return True
    if "this " not in lowered and _DIGIT.search(lowered) is None:  # a quarter of the pattern's time
        return False
    return _SPAN_OR_YEAR.search(lowered) is not None
