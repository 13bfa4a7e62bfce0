"""Words that decide whether two texts state the same fact: negation, opposites, units, and words without meaning."""

import re
from typing import Final

from memories.language.word_tables import parse_mapping, parse_pairs, parse_words, read_sections

_TABLES: Final = read_sections("function_words")

NEGATION: Final = re.compile(
    r"\b(?:not|no|never|none|nothing|nobody|neither|nor|cannot|can't|won't|don't|doesn't|didn't|isn't|aren't"
    r"|wasn't|weren't|shouldn't|mustn't)\b|n't\b",
    re.I,
)
# These deny as well, but other words can replace them: "removed" and "deleted".
SOFT_NEGATION: Final = re.compile(
    r"\b(?:without|hardly|unless|except|stop(?:ped|s)?|disabled?|removed?|deprecated|false)\b", re.I
)
# A sentence may begin with any of these in the place of another.
DETERMINERS: Final = parse_words(_TABLES["determiners"])
# If one text has one word of a pair and the other text the other, they are two facts.
OPPOSITES: Final = parse_pairs(_TABLES["opposites"])
UNITS: Final = parse_words(_TABLES["units"])
STOP: Final = parse_words(_TABLES["stop"])
TENSE: Final = parse_words(_TABLES["tense"])
# Short words that turn a statement around: who, which way, both or either.
TURNING: Final = parse_words(_TABLES["turning"])

# Words that deny in other languages, and parts of words where no space divides them.
DENIALS: Final = parse_words(_TABLES["denials"])
DENYING_PARTS: Final = parse_words(_TABLES["denying parts"])
# Conjunctions and forms of "to be": the parts on either side may change places without changing the fact.
JOINING: Final = parse_words(_TABLES["joining"])
# Words for how much or how often, and for how sure something is: two of them in the same place make two facts.
QUANTITIES: Final = parse_words(_TABLES["quantities"])
MODALS: Final = parse_words(_TABLES["modals"])
# Determiners that may take each other's place.
EACH: Final = parse_words(_TABLES["each"])

_ENDINGS: Final = ("ation", "ition", "ing", "ed", "al", "ly", "er", "e")
_IRREGULAR: Final = parse_mapping(_TABLES["irregular"])
_PLURAL: Final = re.compile(r"(?:ies|es|s)$")
_WORD: Final = re.compile(r"[\w'-]+")


def stem(word: str) -> str:
    """The word without the ending of a plural or of the third person."""
    return _PLURAL.sub("", word) if len(word) > 3 else word


def strip_endings(word: str) -> str:
    """The word without its common endings: "rotated" and "rotation" become one. Only for counting shared words."""
    word = stem(_IRREGULAR.get(word, word))
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def content_words(folded: str) -> list[str]:
    """Words of a folded text that carry content, in order."""
    return [word for word in _WORD.findall(folded) if word not in STOP]


def bearing_words(folded: str) -> list[str]:
    """Stems of the words that carry the meaning, in order: content words, tense and words that turn a statement around."""
    return [
        stem(word) for word in _WORD.findall(folded) if word not in STOP or word in TENSE or word in TURNING
    ]
