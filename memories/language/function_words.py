"""Words that decide whether two texts say the same: negation, opposites, units, and those that bear no meaning."""

import re
from typing import Final


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


NEGATION: Final = re.compile(
    r"\b(?:not|no|never|none|nothing|nobody|neither|nor|cannot|can't|won't|don't|doesn't|didn't|isn't|aren't"
    r"|wasn't|weren't|shouldn't|mustn't)\b|n't\b",
    re.I,
)
# These deny as well, but other words can stand for them: "removed" and "deleted".
SOFT_NEGATION: Final = re.compile(
    r"\b(?:without|hardly|unless|except|stop(?:ped|s)?|disabled?|removed?|deprecated|false)\b", re.I
)
# With these a sentence may begin in the place of another of them.
DETERMINERS: Final = _set(
    "all any both each every his her most my no our some that the their these this those your"
)
# Where one text has the one word and the other text the other, they are two facts.
OPPOSITES: Final = (
    ("before", "after"), ("above", "below"), ("increase", "decrease"), ("increased", "decreased"),
    ("enable", "disable"), ("enabled", "disabled"), ("allow", "deny"), ("allowed", "denied"),
    ("open", "closed"), ("start", "stop"), ("always", "never"), ("true", "false"), ("on", "off"),
    ("minimum", "maximum"), ("min", "max"), ("first", "last"), ("left", "right"), ("up", "down"),
    ("more", "less"), ("internal", "external"), ("public", "private"), ("primary", "secondary"),
    ("staging", "production"), ("dev", "prod"), ("read", "write"), ("client", "server"), ("in", "out"),
    ("likes", "dislikes"), ("loves", "hates"), ("accept", "reject"), ("accepted", "rejected"),
    ("monday", "tuesday"), ("morning", "evening"), ("am", "pm"), ("north", "south"), ("east", "west"),
    ("with", "without"),
)  # fmt: skip
UNITS: Final = _set(
    "ms s sec second seconds minute minutes min hour hours h day days week weeks month months year years"
    " b kb mb gb tb kib mib gib bytes byte bit bits hz khz mhz ghz"
    " mm cm m km inch inches ft feet mile miles g kg lb lbs"
    " usd eur gbp chf dollar dollars euro euros pound pounds yen % percent celsius fahrenheit"
    " utc cet cest est edt pst pdt gmt ist jst px em rem pt"
)
STOP: Final = _set(
    "a an the of to in on at by for with and or is are was were be been being it its this that these those as from"
    " we our us i my me you your he she they them their has have had do does did will would can could should"
    " just also very really so then than there here which who whom"
)
TENSE: Final = _set("was were had did will would could should may might must")
# Short words that turn a statement around: who, which way, both or either.
TURNING: Final = _set("to from by for with and or can than i my me you your he she they them their who whom")

_ENDINGS: Final = ("ation", "ition", "ing", "ed", "al", "ly", "er", "e")
_IRREGULAR: Final = {
    "led": "lead", "sent": "send", "wrote": "write", "written": "write", "kept": "keep", "held": "hold",
    "taken": "take", "taught": "teach", "paid": "pay", "met": "meet", "made": "make",
}  # fmt: skip
_PLURAL: Final = re.compile(r"(?:ies|es|s)$")
_WORD: Final = re.compile(r"[\w'-]+")


def stem(word: str) -> str:
    """Give a word without the ending of a plural or of the third person."""
    return _PLURAL.sub("", word) if len(word) > 3 else word


def root(word: str) -> str:
    """Give a word without its common endings, so that "rotated" and "rotation" are one; only to count shared words."""
    word = stem(_IRREGULAR.get(word, word))
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def content_words(folded: str) -> list[str]:
    """Give the words of a folded text that say something, in order."""
    return [word for word in _WORD.findall(folded) if word not in STOP]


def bearing_words(folded: str) -> list[str]:
    """Give the words that bear the meaning, in order: content words by their stems, tense, and what turns it around."""
    return [
        stem(word) for word in _WORD.findall(folded) if word not in STOP or word in TENSE or word in TURNING
    ]
